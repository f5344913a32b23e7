package store

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Reset takes away all that a shard holds but its lease and progress. A shard
// that is to be rebuilt may hold what an interrupted rebuild left, which would
// be counted twice. It fails with [job.ErrChanged] if the shard is ready.
func (s *Store) Reset(ctx context.Context, l job.Lease) error {
	sh := shard(l.Shard)
	// What leads to others goes last, so that a reset that is interrupted can
	// be done again.
	uids := make([]string, 0, page)
	drop := func(keys ...string) error {
		return s.run(ctx, "reset shard", resetScript, append([]string{sh.lease(), sh.state()}, keys...), l.Epoch)
	}
	if err := s.pages(ctx, sh.runs(), func(tags []string) error { return drop(keys(sh.run, tags)...) }); err != nil {
		return err
	}
	jobs := func(collection string) error {
		err := s.pages(ctx, sh.jobs(collection), func(members []string) error {
			uids = uids[:0]
			for _, m := range members {
				_, uid := splitMember(m)
				uids = append(uids, uid)
			}
			return drop(keys(sh.job, uids)...)
		})
		if err != nil {
			return err
		}
		return drop(sh.jobs(collection))
	}
	err := s.pages(ctx, sh.collections(), func(members []string) error {
		for _, key := range members {
			name := sh.collection(splitKey(key))
			uid, err := s.rdb.HGet(ctx, name, "uid").Result()
			if err != nil && !missing(err) {
				return fmt.Errorf("reset shard: %w", err)
			}
			if err := jobs(uid); err != nil {
				return err
			}
			if err := drop(name); err != nil {
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
		if err := jobs(uid); err != nil {
			return err
		}
	}
	return drop(sh.runs(), sh.due(), sh.final(), sh.collections(), sh.gone())
}

// pages visits the members of a sorted set in which all have the same score or
// nobody cares for the order.
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

func keys(of func(string) string, names []string) []string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = of(n)
	}
	return list
}

var _ = redis.Nil
