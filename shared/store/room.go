package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// mostCollections is how many collections a subscription may have (Azure
// documentation: Scheduler limits).
const mostCollections = 200_000

// room fails with [job.ConflictError] if a subscription has as many collections
// as it may. It counts over all shards before the write, so creates at the same
// moment can go over the limit by their number.
func (s *Store) room(ctx context.Context, subscription string) error {
	sub := strings.ToLower(subscription)
	counts := make([]*redis.IntCmd, s.shards)
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for n := range s.shards {
			counts[n] = p.ZLexCount(ctx, shard(n).collections(), "["+sub+"\x00", "("+sub+"\x01")
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("count collections: %w", err)
	}
	total := int64(0)
	for _, c := range counts {
		total += c.Val()
	}
	if total >= mostCollections {
		return job.Conflict("A subscription may have %d job collections, and this one has them.", mostCollections)
	}
	return nil
}
