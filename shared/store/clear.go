package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Expired returns up to limit jobs that became final before a time.
func (s *Store) Expired(ctx context.Context, n int, before time.Time, limit int) ([]*job.Job, error) {
	sh := shard(n)
	uids, err := s.rdb.ZRangeByScore(ctx, sh.final(), &redis.ZRangeBy{Min: "-inf", Max: "(" + millis(before), Count: int64(limit)}).Result()
	if err != nil {
		return nil, fmt.Errorf("list expired jobs: %w", err)
	}
	return s.existing(ctx, sh, uids)
}

// Orphans returns up to limit jobs of collections that were deleted. Deleted
// collections that have none left are forgotten.
func (s *Store) Orphans(ctx context.Context, n, limit int) ([]*job.Job, error) {
	sh := shard(n)
	gone, err := s.rdb.SRandMemberN(ctx, sh.gone(), int64(limit)).Result()
	if err != nil {
		return nil, fmt.Errorf("list deleted collections: %w", err)
	}
	var list []*job.Job
	for _, collection := range gone {
		if len(list) == limit {
			break
		}
		members, err := s.rdb.ZRange(ctx, sh.jobs(collection), 0, int64(limit-len(list))-1).Result()
		if err != nil {
			return nil, fmt.Errorf("list orphaned jobs: %w", err)
		}
		if len(members) == 0 { // and there will never be more
			if err := s.rdb.SRem(ctx, sh.gone(), collection).Err(); err != nil {
				return nil, fmt.Errorf("forget deleted collection: %w", err)
			}
		}
		jobs, err := s.existing(ctx, sh, uidsOf(members))
		if err != nil {
			return nil, err
		}
		list = append(list, jobs...)
	}
	return list, nil
}

func (s *Store) existing(ctx context.Context, sh shard, uids []string) ([]*job.Job, error) {
	jobs, err := s.jobs(ctx, sh, uids)
	if err != nil {
		return nil, err
	}
	var list []*job.Job
	for _, j := range jobs {
		if j != nil {
			list = append(list, j)
		}
	}
	return list, nil
}

// Clear removes a job of a shard, whatever became of its collection. It fails
// with [job.ErrChanged] if it is not what stands there any more.
func (s *Store) Clear(ctx context.Context, n int, j *job.Job) error {
	return s.deleteJob(ctx, "clear job", shard(n), j)
}
