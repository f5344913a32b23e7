package planner

import (
	"context"
	"errors"
	"slices"
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
	due = slices.DeleteFunc(due, func(d job.Due) bool { return o.passing[d.ID] })
	if len(due) == 0 {
		return nil, 0, o.pass(ctx, nil)
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
		if s.At.IsZero() && s.NextAt.IsZero() && s.Pass == nil && len(s.Waiting) == 0 { // its series has ended
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
	ds, passes := o.took(steps, plans, taken)
	return ds, len(jobs) - left, o.pass(ctx, passes)
}

// took returns the dispatches and the passes of the steps that were taken. plans
// are the jobs of steps.
func (o *owner) took(steps []job.Step, plans []*planned, taken []job.Taken) (ds []*job.Dispatch, passes []*job.Result) {
	for i, t := range taken {
		s, p := &steps[i], plans[i]
		if p.Policy.Serial() || len(p.Status.Waiting)+len(s.Waiting) > 0 {
			o.cache.forget(p.Job) // what is decided next hangs on what others change
		}
		switch {
		case !t.OK:
			o.cache.forget(p.Job)
		case s.Pass != nil:
			o.passing[p.UID] = true
			passes = append(passes, o.passed(p, s))
		case !s.At.IsZero():
			p.Status.LastAt, p.Status.Planned = s.At, t.Planned.Count
			ds = append(ds, o.first(p, s, &t))
		}
	}
	return ds, passes
}

// decide says what a due job does next.
func (o *owner) decide(p *planned, c *job.Collection, now time.Time) job.Step {
	s := job.Step{Job: p.Job, Collection: c, Waiting: p.Status.Waiting}
	if why := givenUp(p.Job, c); why != "" {
		return giveUp(s, why, now)
	}
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
	if exhausted(p.Job, 0) {
		at = time.Time{}
	}
	if at.IsZero() || at.After(now) {
		s.NextAt = at
		return turn(p, s, now)
	}
	if p.Policy != (job.Policy{}) || len(s.Waiting) > 0 {
		return o.underPolicy(p, s, at, now)
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
// have been planned. What was missed or passed over does not count.
func exhausted(j *job.Job, n int64) bool {
	return remaining(j) <= n
}

// newest returns the newest occurrence of a job's present series of which
// something was decided; zero: none.
func newest(j *job.Job) time.Time {
	at := time.Time{}
	if j.Status.Planned+j.Status.Passed > 0 {
		at = j.Status.LastAt
	}
	if w := j.Status.Waiting; len(w) > 0 && w[len(w)-1].After(at) {
		at = w[len(w)-1]
	}
	return at
}
