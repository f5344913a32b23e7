package planner

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// record applies results to runs and jobs. A retry waits from the given time,
// or if that is zero from when its failure was stored.
func (o *owner) record(ctx context.Context, rs []job.Record, from time.Time) error {
	if len(rs) == 0 {
		return nil
	}
	effects := make([]job.Effect, len(rs))
	for i := range rs {
		base := from
		if base.IsZero() {
			base = rs[i].StoredAt
		}
		effects[i] = effect(&rs[i], base)
	}
	after := job.Position{History: o.at.History, Sequence: rs[len(rs)-1].Sequence}
	if err := o.cfg.Store.Record(ctx, *o.lease.Load(), o.at, after, effects); err != nil {
		return err
	}
	o.at = after
	for i := range effects {
		e := &effects[i]
		if e.Follow == job.FollowPass {
			delete(o.passing, e.UID)
			delete(o.cache.jobs, e.UID)
		}
		if e.Follow == job.FollowDrop {
			delete(o.endings, e.Tag)
		}
	}
	o.note(effects)
	return nil
}

// effect says what follows from a result. A retry, or the error action, is due
// as long after from as the result asks for.
func effect(r *job.Record, from time.Time) job.Effect {
	e := job.Effect{Record: *r}
	switch {
	case r.Passes():
		e.Follow = job.FollowPass
	case r.Outcome == job.Skipped && r.Missed > 0:
		e.Follow = job.FollowNone
	case r.Outcome == job.Skipped:
		e.Follow = job.FollowDrop
	case r.Outcome == job.Succeeded && r.Phase == job.MainAction:
		e.Follow = job.FollowDone
	case r.Outcome == job.Succeeded:
		e.Follow = job.FollowEnd
	case r.RetryCount < r.Retries:
		e.Follow = job.FollowRetry
		e.DueAt = job.Ceil(from.Add(max(r.Interval, r.RetryAfter)))
	case r.Phase == job.ErrorAction:
		e.Follow = job.FollowEnd
	case r.Fallback:
		e.Follow = job.FollowError
		e.DueAt = job.Ceil(from)
	default:
		e.Follow = job.FollowFault
	}
	return e
}

// fade is how old a record may be while history is sure to hold it. What must
// be known for longer is journaled.
const fade = 30 * 24 * time.Hour

// distant is what the journal is to be told of a job, beside its status.
type distant struct {
	revision, repeat int64
	runs             []job.Pending
}

// note remembers the jobs that will not be heard of before history forgets
// them: their next occurrence, or a retry, lies far ahead.
func (o *owner) note(effects []job.Effect) {
	horizon := o.cfg.Store.Now().Add(fade)
	for i := range effects {
		e := &effects[i]
		next, waits := e.Planned.NextAt, e.DueAt.After(horizon)
		if !waits && !next.IsZero() && next.Before(horizon) {
			continue
		}
		d := o.far[e.UID]
		if d == nil || d.revision < e.Revision {
			d = &distant{revision: e.Revision}
			o.far[e.UID] = d
		}
		d.repeat = max(d.repeat, e.Repeat)
		if waits {
			p := job.Pending{Run: e.Run, DueAt: e.DueAt}
			p.RetryCount++
			d.runs = append(d.runs, p)
		}
	}
}

// checkpoint journals the progress of the jobs noted. If it fails, they stay
// noted.
func (o *owner) checkpoint(ctx context.Context) error {
	for uids := range slices.Chunk(slices.Sorted(maps.Keys(o.far)), o.cfg.Batch) {
		jobs, err := o.cfg.Store.ShardJobs(ctx, o.shard, uids)
		if err != nil {
			return err
		}
		entries := make([]job.Entry, 0, len(jobs))
		for _, j := range jobs {
			if j == nil {
				continue
			}
			d := o.far[j.UID]
			c := &job.Checkpoint{
				State: j.Status.State, LastExecutionAt: j.Status.LastExecutionAt, LastAt: j.Status.LastAt, Passed: j.Status.Passed,
				Planned: job.Planned{Series: j.Series, Count: j.Status.Planned, NextAt: j.Status.NextExecutionAt, Counters: j.Status.Counters},
				Runs:    d.runs,
			}
			if d.revision == j.Revision {
				c.Repeat = d.repeat
			}
			entries = append(entries, job.Entry{Shard: o.shard, UID: j.UID, Revision: j.Revision, Checkpoint: c})
		}
		if err := o.cfg.Queue.Journal(ctx, entries...); err != nil {
			return err
		}
		for _, uid := range uids {
			delete(o.far, uid)
		}
	}
	return nil
}
