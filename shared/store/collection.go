package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func (s *Store) shardOf(r job.CollectionRef) shard { return shard(r.Shard(s.shards)) }

// Collection returns a collection. It fails with [job.ErrNotFound], or with
// [job.ErrNotReady] if its shard's state has yet to be rebuilt.
func (s *Store) Collection(ctx context.Context, ref job.CollectionRef) (*job.Collection, error) {
	c, err := s.collection(ctx, ref)
	if err != nil {
		return nil, err
	}
	count, err := s.rdb.ZCard(ctx, s.shardOf(ref).jobs(c.UID)).Result()
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	c.Jobs = int(count)
	return c, nil
}

// collection is Collection without the number of jobs.
func (s *Store) collection(ctx context.Context, ref job.CollectionRef) (*job.Collection, error) {
	sh := s.shardOf(ref)
	var ready *redis.StringCmd
	var hash *redis.SliceCmd
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		ready = p.HGet(ctx, sh.state(), "ready")
		hash = p.HMGet(ctx, sh.collection(ref), "def", "writes")
		return nil
	})
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("read collection: %w", err)
	}
	if ready.Val() != "1" {
		return nil, fmt.Errorf("read collection: %w", job.ErrNotReady)
	}
	c, err := collectionOf(hash.Val())
	if err != nil {
		return nil, fmt.Errorf("read collection: %w", err)
	}
	if c == nil {
		return nil, fmt.Errorf("read collection: %w", job.ErrNotFound)
	}
	return c, nil
}

// collectionOf makes a collection of its hash's def and writes; nil if it does
// not exist.
func collectionOf(fields []any) (*job.Collection, error) {
	if len(fields) != 2 || fields[0] == nil {
		return nil, nil //nolint:nilnil // absence is no error to those who ask for many
	}
	c := new(job.Collection)
	if err := json.Unmarshal([]byte(text(fields[0])), c); err != nil {
		return nil, fmt.Errorf("decode collection: %w", err)
	}
	c.Writes = number(fields[1])
	return c, nil
}

// Collections returns up to limit collections of a subscription, or of one of
// its resource groups, whose key is greater than after, in order of their keys.
// Their number of jobs is not set. If there are fewer than limit, there are no
// more.
func (s *Store) Collections(ctx context.Context, subscription, group, after string, limit int) ([]*job.Collection, error) {
	prefix := strings.ToLower(subscription) + "\x00"
	if group != "" {
		prefix += strings.ToLower(group) + "\x00"
	}
	from := "[" + prefix
	if after >= prefix {
		from = "(" + after
	}
	to := "(" + prefix[:len(prefix)-1] + "\x01"
	var list []*job.Collection
	for {
		n := limit - len(list)
		refs, err := s.refs(ctx, from, to, n)
		if err != nil {
			return nil, err
		}
		some, err := s.collections(ctx, refs)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
		if len(refs) < n || len(list) == limit {
			return list, nil
		}
		from = "(" + refs[len(refs)-1].Key() // some were deleted meanwhile
	}
}

// refs returns the names of the first n collections of all shards in a range of
// keys, in their order.
func (s *Store) refs(ctx context.Context, from, to string, n int) ([]job.CollectionRef, error) {
	ready := make([]*redis.StringCmd, s.shards)
	keys := make([]*redis.StringSliceCmd, s.shards)
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range s.shards {
			ready[i] = p.HGet(ctx, shard(i).state(), "ready")
			keys[i] = p.ZRangeByLex(ctx, shard(i).collections(), &redis.ZRangeBy{Min: from, Max: to, Count: int64(n)})
		}
		return nil
	})
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("list collections: %w", err)
	}
	var all []string
	for i := range s.shards {
		if ready[i].Val() != "1" {
			return nil, fmt.Errorf("list collections: %w", job.ErrNotReady)
		}
		all = append(all, keys[i].Val()...)
	}
	slices.Sort(all)
	refs := make([]job.CollectionRef, min(n, len(all)))
	for i := range refs {
		refs[i] = splitKey(all[i])
	}
	return refs, nil
}

// collections reads many, leaving out those that do not exist.
func (s *Store) collections(ctx context.Context, refs []job.CollectionRef) ([]*job.Collection, error) {
	hashes := make([]*redis.SliceCmd, len(refs))
	if len(refs) == 0 {
		return nil, nil
	}
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, ref := range refs {
			hashes[i] = p.HMGet(ctx, s.shardOf(ref).collection(ref), "def", "writes")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read collections: %w", err)
	}
	list := make([]*job.Collection, 0, len(refs))
	for _, h := range hashes {
		c, err := collectionOf(h.Val())
		if err != nil {
			return nil, err
		}
		if c != nil {
			list = append(list, c)
		}
	}
	return list, nil
}

func splitKey(key string) job.CollectionRef {
	sub, rest, _ := strings.Cut(key, "\x00")
	group, name, _ := strings.Cut(rest, "\x00")
	return job.CollectionRef{Subscription: sub, ResourceGroup: group, Collection: name}
}

// PutCollection creates c, if was is nil, or replaces was by it. It fails with
// [job.ErrChanged] if was is not what stands there any more or, if exact, a job
// of it was written since was was read, and with [job.ConflictError] if c would
// be the second Free collection of its subscription.
func (s *Store) PutCollection(ctx context.Context, c, was *job.Collection, exact bool) error {
	if was == nil {
		if err := s.room(ctx, c.Subscription); err != nil {
			return err
		}
	}
	if c.SKU == job.Free {
		if err := s.claimFree(ctx, c); err != nil {
			return err
		}
	}
	def, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("put collection: %w", err)
	}
	expect, writes := int64(0), ""
	if was != nil {
		expect = was.Revision
		if exact {
			writes = strconv.FormatInt(was.Writes, 10)
		}
	}
	sh := s.shardOf(c.CollectionRef)
	keys := []string{sh.state(), sh.collection(c.CollectionRef), sh.collections()}
	err = s.run(ctx, "put collection", putCollectionScript, keys, expect, c.UID, c.Revision, def, c.Key(), writes)
	if err != nil {
		return err
	}
	if was != nil && was.SKU == job.Free && c.SKU != job.Free {
		s.dropFree(ctx, c)
	}
	s.wake(ctx, sh)
	return nil
}

// DeleteCollection removes a collection and all its jobs; their remains are
// cleared away by the shard's planner. It fails with [job.ErrChanged] if c is
// not what stands there any more.
func (s *Store) DeleteCollection(ctx context.Context, c *job.Collection) error {
	sh := s.shardOf(c.CollectionRef)
	keys := []string{sh.state(), sh.collection(c.CollectionRef), sh.collections(), sh.gone()}
	if err := s.run(ctx, "delete collection", deleteCollectionScript, keys, c.Revision, c.UID, c.Key()); err != nil {
		return err
	}
	if c.SKU == job.Free {
		s.dropFree(ctx, c)
	}
	s.wake(ctx, sh)
	return nil
}
