package store

import (
	"context"
	"fmt"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Reset takes away all that a shard holds but its lease and progress. A shard
// that is to be rebuilt may hold what an interrupted rebuild left, which would
// be counted twice. It fails with [job.ErrChanged] if the shard is ready.
//
// What leads to other keys goes after them, so that a reset that is interrupted
// can be done again.
func (s *Store) Reset(ctx context.Context, l job.Lease) error {
	sh := shard(l.Shard)
	err := s.pages(ctx, sh.runs(), func(tags []string) error { return s.drop(ctx, l, keys(sh.run, tags)) })
	if err != nil {
		return err
	}
	err = s.pages(ctx, sh.collections(), func(members []string) error {
		for _, m := range members {
			key := sh.collection(splitKey(m))
			uid, err := s.rdb.HGet(ctx, key, "uid").Result()
			if err != nil && !missing(err) {
				return fmt.Errorf("reset shard: %w", err)
			}
			if err := s.dropJobs(ctx, l, uid); err != nil {
				return err
			}
			if err := s.drop(ctx, l, []string{key}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	gone, err := s.rdb.SMembers(ctx, sh.gone()).Result()
	if err != nil {
		return fmt.Errorf("reset shard: %w", err)
	}
	for _, uid := range gone {
		if err := s.dropJobs(ctx, l, uid); err != nil {
			return err
		}
	}
	return s.drop(ctx, l, []string{sh.runs(), sh.due(), sh.final(), sh.dead(), sh.asked(), sh.collections(), sh.gone()})
}

// dropJobs takes the jobs of a collection away.
func (s *Store) dropJobs(ctx context.Context, l job.Lease, collection string) error {
	sh := shard(l.Shard)
	err := s.pages(ctx, sh.jobs(collection), func(members []string) error {
		return s.drop(ctx, l, keys(sh.job, uidsOf(members)))
	})
	if err != nil {
		return err
	}
	return s.drop(ctx, l, []string{sh.jobs(collection)})
}

// drop deletes keys of a shard that is not ready.
func (s *Store) drop(ctx context.Context, l job.Lease, keys []string) error {
	sh := shard(l.Shard)
	return s.run(ctx, "reset shard", resetScript, append([]string{sh.lease(), sh.state()}, keys...), l.Epoch)
}

// pages visits the members of a sorted set that nobody changes.
func (s *Store) pages(ctx context.Context, key string, visit func([]string) error) error {
	for start := int64(0); ; start += page {
		members, err := s.rdb.ZRange(ctx, key, start, start+page-1).Result()
		if err != nil {
			return fmt.Errorf("read %s: %w", key, err)
		}
		if len(members) == 0 {
			return nil
		}
		if err := visit(members); err != nil {
			return err
		}
	}
}

// keys returns the key of each name.
func keys(key func(string) string, names []string) []string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = key(n)
	}
	return list
}
