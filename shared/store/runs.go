package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
)

var runFields = []string{"uid", "rev", "at", "repeat", "manual", "phase", "retry", "seq", "resend", "missed"} //nolint:gochecknoglobals // a constant in all but name

// Runs returns runs of a shard by their tags and times, with their jobs as they
// were planned from and their collections. Runs that have ended are left out.
func (s *Store) Runs(ctx context.Context, n int, due []job.Due) ([]*job.Waiting, error) {
	if len(due) == 0 {
		return nil, nil
	}
	sh := shard(n)
	hashes := make([]*redis.SliceCmd, len(due))
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, d := range due {
			hashes[i] = p.HMGet(ctx, sh.run(d.ID), runFields...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	list := make([]*job.Waiting, 0, len(due))
	for i, d := range due {
		if w := runOf(d.ID, hashes[i].Val()); w != nil {
			w.DueAt = d.At
			list = append(list, w)
		}
	}
	return list, s.complete(ctx, sh, list)
}

// runOf makes a run of its hash's runFields; nil if it does not exist.
func runOf(tag string, f []any) *job.Waiting {
	if len(f) != len(runFields) || f[0] == nil {
		return nil
	}
	return &job.Waiting{
		Pending: job.Pending{
			Run: job.Run{
				Tag: tag, UID: text(f[0]), Revision: number(f[1]), At: instant(f[2]), Repeat: number(f[3]),
				Manual: text(f[4]) == "1", Phase: job.Phase(text(f[5])), RetryCount: int(number(f[6])),
			},
		},
		Sequence: uint64(number(f[7])), Resend: int(number(f[8])), Missed: number(f[9]),
	}
}

// complete adds to runs their jobs and collections.
func (s *Store) complete(ctx context.Context, sh shard, list []*job.Waiting) error {
	if len(list) == 0 {
		return nil
	}
	hashes := make([]*redis.SliceCmd, len(list))
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, w := range list {
			fields := append([]string{"def:" + strconv.FormatInt(w.Revision, 10)}, jobFields...)
			hashes[i] = p.HMGet(ctx, sh.job(w.UID), fields...)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read jobs of runs: %w", err)
	}
	cols := make(map[string]*job.Collection)
	var refs []job.CollectionRef
	for i, w := range list {
		f := hashes[i].Val()
		if w.Job, err = jobOf(f[1:]); err != nil {
			return fmt.Errorf("read job %s: %w", w.UID, err)
		}
		if w.Job == nil {
			continue
		}
		w.Planned = job.Planned{Series: w.Job.Series, Count: w.Job.Status.Planned, NextAt: w.Job.Status.NextExecutionAt, Counters: w.Job.Status.Counters}
		if f[0] != nil && w.Job.Revision != w.Revision {
			old := new(job.Job)
			if err := json.Unmarshal([]byte(text(f[0])), old); err != nil {
				return fmt.Errorf("decode job %s, revision %d: %w", w.UID, w.Revision, err)
			}
			old.Status = w.Job.Status
			w.Planned.Series = old.Series
			w.Job = old
		}
		if _, ok := cols[w.Job.Key()]; !ok {
			cols[w.Job.Key()] = nil
			refs = append(refs, w.Job.CollectionRef)
		}
	}
	read, err := s.collections(ctx, refs)
	if err != nil {
		return err
	}
	for _, c := range read {
		cols[c.Key()] = c
	}
	for _, w := range list {
		if w.Job == nil {
			continue
		}
		if c := cols[w.Job.Key()]; c != nil && c.UID == w.Job.CollectionUID {
			w.Collection = c
		}
	}
	return nil
}

// Dispatched notes the sequences of dispatches that stand in the dispatch
// stream, and that they are to be looked after at watchAt. Those with sequence
// 0 are left out, as are runs that have moved on.
func (s *Store) Dispatched(ctx context.Context, l job.Lease, ds []*job.Dispatch, sequences []uint64, watchAt time.Time) error {
	sh := shard(l.Shard)
	keys := []string{sh.lease(), sh.runs()}
	args := []any{l.Epoch, millis(watchAt)}
	for i, d := range ds {
		if sequences[i] == 0 {
			continue
		}
		keys = append(keys, sh.run(d.Tag))
		args = append(args, d.Tag, string(d.Phase), d.RetryCount, sequences[i], d.Resend)
	}
	if len(keys) == 2 {
		return nil
	}
	return s.run(ctx, "note dispatches", dispatchedScript, keys, args...)
}

// Record applies results and moves the shard's place in the history from before
// to after, all in one script. It fails with [job.ErrLeaseLost], or with
// [job.ErrBehind] if the store is not where the caller believes it to be.
func (s *Store) Record(ctx context.Context, l job.Lease, before, after job.Position, effects []job.Effect) error {
	sh := shard(l.Shard)
	keys := []string{sh.lease(), sh.state(), sh.runs(), sh.final(), sh.due()}
	args := make([]any, 0, 5+14*len(effects))
	args = append(args, l.Epoch, before.History, before.Sequence, after.Sequence, millis(s.Now()))
	for i := range effects {
		e := &effects[i]
		at := millis(e.At)
		if e.Manual {
			at = ""
		}
		pass := ""
		if e.Follow == job.FollowPass {
			pass = strconv.FormatInt(e.Missed, 10) + " " + times(e.Waiting)
		}
		keys = append(keys, sh.job(e.UID), sh.run(e.Tag))
		args = append(args, e.UID, e.Planned.Series, e.Tag, string(e.Phase), e.RetryCount, string(e.Outcome),
			at, millis(e.StartedAt), string(e.Follow), millis(e.DueAt),
			e.Planned.Executions, e.Planned.Failures, e.Planned.Faults, pass)
	}
	return s.run(ctx, "record results", recordScript, keys, args...)
}
