package store

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Ready returns nil if every shard is open for writes, or [job.ErrNotReady] if
// one has yet to be brought up to date by its planner.
func (s *Store) Ready(ctx context.Context) error {
	ready := make([]*redis.StringCmd, s.shards)
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for n := range s.shards {
			ready[n] = p.HGet(ctx, shard(n).state(), "ready")
		}
		return nil
	})
	if err != nil && !missing(err) {
		return fmt.Errorf("look at shards: %w", err)
	}
	closed := 0
	for _, r := range ready {
		if r.Val() != "1" {
			closed++
		}
	}
	if closed > 0 {
		return fmt.Errorf("%d of %d shards wait for a planner: %w", closed, s.shards, job.ErrNotReady)
	}
	return nil
}
