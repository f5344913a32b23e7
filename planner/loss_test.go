package planner_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/planner"
	"github.com/carillon-scheduler/carillon/shared/job"
)

// A snapshot is all that redis holds, as a function that puts it back.
type snapshot []func(redis.Pipeliner)

// snapshot takes one.
func (w *world) snapshot() (s snapshot) {
	w.Helper()
	ctx := w.Context()
	w.eventually("redis to stand still", func() bool {
		names, err := w.rdb.Keys(ctx, "*").Result()
		w.must(err)
		kinds := make(map[string]string)
		for _, name := range names {
			kinds[name] = w.rdb.Type(ctx, name).Val()
		}
		s = nil
		var now *redis.StringSliceCmd
		_, err = w.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
			now = p.Keys(ctx, "*")
			for _, name := range names {
				switch kinds[name] {
				case "hash":
					h := p.HGetAll(ctx, name)
					s = append(s, func(p redis.Pipeliner) { p.HSet(ctx, name, h.Val()) })
				case "zset":
					z := p.ZRangeWithScores(ctx, name, 0, -1)
					s = append(s, func(p redis.Pipeliner) { p.ZAdd(ctx, name, z.Val()...) })
				case "set":
					m := p.SMembers(ctx, name)
					s = append(s, func(p redis.Pipeliner) { p.SAdd(ctx, name, m.Val()) })
				}
			}
			return nil
		})
		w.must(err)
		slices.Sort(names)
		return slices.Equal(names, slices.Sorted(slices.Values(now.Val())))
	})
	return s
}

// putBack replaces all that redis holds, in one transaction.
func (w *world) putBack(s snapshot) {
	w.Helper()
	_, err := w.rdb.TxPipelined(w.Context(), func(p redis.Pipeliner) error {
		p.FlushAll(w.Context())
		for _, write := range s {
			write(p)
		}
		return nil
	})
	w.must(err)
}

// A stumbling store fails some of the calls that change it, before or after it
// did what it was asked for.
type stumbling struct {
	planner.Store
	mu    sync.Mutex
	calls int
}

var errStumbled = errors.New("stumbled")

func (s *stumbling) stumble(call func() error) error {
	s.mu.Lock()
	s.calls++
	n := s.calls
	s.mu.Unlock()
	if n%7 == 3 && n < 50 {
		if n%2 == 0 {
			return errStumbled
		}
		return errors.Join(call(), errStumbled)
	}
	return call()
}

func (s *stumbling) Adopt(ctx context.Context, l job.Lease, list []job.Adoption) error {
	return s.stumble(func() error { return s.Store.Adopt(ctx, l, list) })
}

func (s *stumbling) Record(ctx context.Context, l job.Lease, before, after job.Position, effects []job.Effect) error {
	return s.stumble(func() error { return s.Store.Record(ctx, l, before, after, effects) })
}

func (s *stumbling) RestoreProgress(ctx context.Context, l job.Lease, at job.Position, uid string, c *job.Checkpoint) error {
	return s.stumble(func() error { return s.Store.RestoreProgress(ctx, l, at, uid, c) })
}

func (s *stumbling) Settle(ctx context.Context, l job.Lease, steps []job.Step) error {
	return s.stumble(func() error { return s.Store.Settle(ctx, l, steps) })
}

func (s *stumbling) Dispatched(ctx context.Context, l job.Lease, ds []*job.Dispatch, sequences []uint64, watchAt time.Time) error {
	return s.stumble(func() error { return s.Store.Dispatched(ctx, l, ds, sequences, watchAt) })
}

func (s *stumbling) Plan(ctx context.Context, l job.Lease, steps []job.Step) (taken []job.Taken, err error) {
	err = s.stumble(func() (err error) { taken, err = s.Store.Plan(ctx, l, steps); return err })
	return taken, err
}

// tell logs what happened to jobs, if the test failed.
func (k *worker) tell(jobs ...*job.Job) {
	if !k.Failed() {
		return
	}
	for _, j := range jobs {
		rs, err := k.queue.History(context.Background(), k.shard(), j.UID)
		k.Logf("history of %s, newest first: %v", j.Job, err)
		for _, r := range rs {
			k.Logf("  %d stored %s: %s %s/%d %s, planned %+v", r.Sequence, r.StoredAt.Format(time.StampMilli), r.Tag[:8], r.Phase, r.RetryCount, r.Outcome, r.Planned)
		}
		for _, c := range k.performed(j) {
			k.Logf("  performed %s: %s", c.at.Format(time.StampMilli), c.ID())
		}
	}
	a, err := k.store.Agenda(context.Background(), k.shard(), time.Now().Add(1e6*time.Hour), 100)
	k.Logf("agenda %+v: %v", a, err)
	for _, d := range k.dispatched() {
		k.Logf("waits for a worker: %s", d.ID())
	}
}
