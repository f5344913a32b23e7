package planner

import (
	"context"
	"errors"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// hold is how often a job that has no next occurrence is looked at while its
// collection is disabled.
const hold = time.Second

// postpone is after how long a job is looked at again whose definition makes no
// sense to this planner.
const postpone = time.Minute

// plan decides what becomes of due jobs and has the store carry it out. It
// returns the dispatches of the occurrences planned, and of how many jobs it
// could decide.
func (o *owner) plan(ctx context.Context, due []job.Due, now time.Time) (ds []*job.Dispatch, decided int, err error) {
	if len(due) == 0 {
		return nil, 0, nil
	}
	jobs, err := o.load(ctx, due)
	if err != nil {
		return nil, 0, err
	}
	var steps, settled []job.Step
	var plans []*planned // of steps
	left := 0            // to be cleared when the journal has room
	for _, p := range jobs {
		c := o.cache.collections[p.Key()]
		if c == nil || c.UID != p.CollectionUID { // deleted meanwhile, and this job with it
			o.cache.forget(p.Job)
			switch err := o.clear(ctx, p.Job); {
			case full(err):
				left++
			case err != nil:
				return nil, 0, err
			}
			continue
		}
		s := o.decide(p, c, now)
		if s.At.IsZero() && s.NextAt.IsZero() { // its series has ended
			settled = append(settled, s)
			o.cache.forget(p.Job)
			continue
		}
		steps, plans = append(steps, s), append(plans, p)
	}
	if err := o.cfg.Store.Settle(ctx, *o.lease.Load(), settled); err != nil || len(steps) == 0 {
		return nil, len(jobs) - left, err
	}
	taken, err := o.cfg.Store.Plan(ctx, *o.lease.Load(), steps)
	if errors.Is(err, job.ErrChanged) { // a collection: look again
		clear(o.cache.collections)
		return nil, len(jobs) - left, nil
	}
	if err != nil {
		return nil, 0, err
	}
	for i, t := range taken {
		s, p := &steps[i], plans[i]
		switch {
		case !t.OK:
			o.cache.forget(p.Job)
		case !s.At.IsZero():
			p.Status.LastAt, p.Status.Planned = s.At, t.Planned.Count
			ds = append(ds, o.first(p, s, &t))
		}
	}
	return ds, len(jobs) - left, nil
}

// decide says what a due job does next.
func (o *owner) decide(p *planned, c *job.Collection, now time.Time) job.Step {
	s := job.Step{Job: p.Job, Collection: c}
	if p.Status.State != job.Enabled {
		return s
	}
	if p.invalid {
		s.NextAt = job.Ceil(now.Add(postpone))
		return s
	}
	if c.State != job.CollectionEnabled {
		// Nothing is planned, and nothing will be made up. The job goes on being
		// looked at, so that enabling the collection need not touch its jobs.
		s.NextAt = p.timetable.First(p.Job, newest(p.Job), now)
		if soonest := job.Ceil(now.Add(hold)); s.NextAt.Before(soonest) {
			s.NextAt = soonest
		}
		return s
	}
	at := p.timetable.First(p.Job, newest(p.Job), c.ActiveFrom)
	if !at.IsZero() && !at.After(p.Status.LastAt) {
		// A new series that began while one of the old was planned, by a clock
		// that is a little behind.
		at = p.Status.LastAt.Add(time.Millisecond)
	}
	if at.After(now) {
		s.NextAt = at
		return s
	}
	if at.IsZero() || exhausted(p.Job, 0) {
		return s
	}
	if now.Sub(at) > o.cfg.MissedAfter {
		// The newest missed occurrence runs, the others do not (policy.missed:
		// latest, our decision).
		for next := p.timetable.Next(at); !next.IsZero() && !next.After(now); next = p.timetable.Next(at) {
			at = next
			s.Missed++
		}
	}
	s.At = at
	if !exhausted(p.Job, 1) {
		s.NextAt = p.timetable.Next(at)
	}
	return s
}

// exhausted reports whether count allows a job no further occurrence when n more
// have been planned.
func exhausted(j *job.Job, n int64) bool {
	return j.Recurrence != nil && j.Recurrence.Count > 0 && j.Status.Planned+n >= int64(j.Recurrence.Count)
}

// newest returns the newest occurrence of a job's present series; zero: none.
func newest(j *job.Job) time.Time {
	if j.Status.Planned == 0 {
		return time.Time{}
	}
	return j.Status.LastAt
}
