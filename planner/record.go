package planner

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// record applies results to runs and jobs. Waits for retries count from the
// given time; zero means from now.
func (o *owner) record(ctx context.Context, rs []job.Record, from time.Time) error {
	if len(rs) == 0 {
		return nil
	}
	if from.IsZero() {
		from = o.cfg.Store.Now()
	}
	effects := make([]job.Effect, len(rs))
	for i := range rs {
		effects[i] = effect(&rs[i], from)
	}
	after := job.Position{History: o.at.History, Sequence: rs[len(rs)-1].Sequence}
	if err := o.cfg.Store.Record(ctx, *o.lease.Load(), o.at, after, effects); err != nil {
		return err
	}
	o.at = after
	return o.checkpoint(ctx, effects)
}

// effect says what follows from a result. A retry, or the error action, is due
// as long after from as the result asks for.
func effect(r *job.Record, from time.Time) job.Effect {
	e := job.Effect{Record: *r}
	switch {
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

// checkpoint journals the progress of jobs that will not be heard of before
// history forgets them: their next occurrence, or a retry, lies far ahead.
func (o *owner) checkpoint(ctx context.Context, effects []job.Effect) error {
	horizon := o.cfg.Store.Now().Add(fade)
	var far []job.Due
	pending := make(map[string][]job.Pending)
	seen := make(map[string]bool)
	for i := range effects {
		e := &effects[i]
		if e.DueAt.After(horizon) {
			p := job.Pending{Run: e.Run, DueAt: e.DueAt}
			p.RetryCount++
			pending[e.UID] = append(pending[e.UID], p)
		} else if !e.Planned.NextAt.IsZero() && e.Planned.NextAt.Before(horizon) {
			continue
		}
		if !seen[e.UID] {
			seen[e.UID] = true
			far = append(far, job.Due{ID: e.UID})
		}
	}
	if len(far) == 0 {
		return nil
	}
	uids := make([]string, len(far))
	for i, d := range far {
		uids[i] = d.ID
	}
	jobs, err := o.cfg.Store.ShardJobs(ctx, o.shard, uids)
	if err != nil {
		return err
	}
	entries := make([]job.Entry, 0, len(jobs))
	for _, j := range jobs {
		if j == nil {
			continue
		}
		entries = append(entries, job.Entry{
			Shard: o.shard, UID: j.UID, Revision: j.Revision,
			Checkpoint: &job.Checkpoint{
				State: j.Status.State, LastExecutionAt: j.Status.LastExecutionAt, LastAt: j.Status.LastAt,
				Planned: job.Planned{Series: j.Series, Count: j.Status.Planned, NextAt: j.Status.NextExecutionAt, Counters: j.Status.Counters},
				Runs:    pending[j.UID],
			},
		})
	}
	return o.cfg.Queue.Journal(ctx, entries...)
}
