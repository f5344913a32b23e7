package planner

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

const (
	// mostMissed is how many missed occurrences of a job are made up under
	// policy.missed all: what was missed before them is passed over.
	mostMissed = 100
	// mostQueued is how many occurrences of a job wait under policy.overlap
	// queue. The next one is passed over.
	mostQueued = 10
	// pace is the least time between two missed occurrences of a job that are
	// made up. No job is due more than once a second, so that one which makes up
	// four catches up, and no target is called by it much more often than it is
	// used to. There is no rule of one at a time besides: it would never end where
	// an action takes longer than its period. policy.overlap is there for that.
	pace = 250 * time.Millisecond
)

// Why occurrences are passed over, as history says it.
var (
	whyMissed  = "missed while no planner was at work"                                  //nolint:gochecknoglobals // a constant, like the next
	whyOverlap = "a run before was not finished (policy.overlap is skip)"               //nolint:gochecknoglobals // see above
	whyFull    = fmt.Sprintf("%d waited already (policy.overlap is queue)", mostQueued) //nolint:gochecknoglobals // see above
)

// arrivals are the occurrences of a job that have come due and of which nothing
// was decided yet.
type arrivals struct {
	n        int64
	oldest   []time.Time // at most one more than may be queued, and one to be passed over
	newest   []time.Time // at least those that may be made up, and one before
	last     time.Time
	upcoming time.Time // the first that is not due; zero: none
}

// arrived returns what arrived from at to now.
func arrived(t job.Timetable, at, now time.Time) arrivals {
	var a arrivals
	for ; !at.IsZero() && !at.After(now); at = t.Next(at) {
		if len(a.oldest) < mostQueued+2 {
			a.oldest = append(a.oldest, at)
		}
		if len(a.newest) > 2*mostMissed { // there may be millions
			a.newest = slices.Delete(a.newest, 0, len(a.newest)-mostMissed)
		}
		a.newest = append(a.newest, at)
		a.last = at
		a.n++
	}
	a.upcoming = at
	return a
}

// underPolicy says what becomes of a job's occurrences since at, the oldest that
// is due, where a policy was given. What is passed over is a step of its own:
// the job is looked at again when that is recorded.
func (o *owner) underPolicy(p *planned, s job.Step, at, now time.Time) job.Step {
	a, left := arrived(p.timetable, at, now), remaining(p.Job)
	s.NextAt = a.upcoming
	if now.Sub(at) > o.cfg.MissedAfter {
		switch {
		case p.Policy.Missed == job.MissedSkip:
			return over(s, &job.Pass{Count: a.n, From: at, To: a.last, Why: whyMissed, Waiting: s.Waiting}, now)
		case a.n == 1: // it is the newest
		case p.Policy.Missed == job.MissedAll:
			return over(s, makeUp(s.Waiting, a, left), now)
		default:
			return over(s, &job.Pass{Count: a.n - 1, From: at, To: a.newest[len(a.newest)-2], Why: whyMissed, Waiting: s.Waiting}, now)
		}
	}
	switch busy := p.Status.Active > 0; {
	case p.Policy.Overlap == job.OverlapQueue:
		return o.enqueue(p, s, a, left, now)
	case p.Policy.Overlap == job.OverlapSkip && busy:
		return over(s, &job.Pass{Count: a.n, From: at, To: a.last, Why: whyOverlap, Waiting: s.Waiting}, now)
	}
	s.At, s.Alone = at, p.Policy.Serial()
	s.NextAt = p.timetable.Next(at)
	if left == 1 {
		s.NextAt = time.Time{}
	}
	if len(s.Waiting) > 0 && !s.Alone {
		s.LookAt = job.Ceil(now.Add(pace))
	}
	return s
}

// makeUp has the newest of what was missed wait for their turn, and passes over
// the others.
func makeUp(waiting []time.Time, a arrivals, left int64) *job.Pass {
	keep := int(max(0, min(a.n, left, int64(mostMissed-len(waiting)))))
	kept := a.newest[len(a.newest)-keep:]
	pass := &job.Pass{Count: a.n - int64(keep), From: a.oldest[0], To: a.oldest[0], Why: whyMissed, Waiting: slices.Concat(waiting, kept)}
	if pass.Count > 0 {
		pass.To = a.newest[len(a.newest)-keep-1]
		pass.Why += fmt.Sprintf(", and %d is the most that is made up (policy.missed is all)", mostMissed)
	}
	return pass
}

// enqueue has what arrived wait behind what waits, and begins the first if its
// turn has come.
func (o *owner) enqueue(p *planned, s job.Step, a arrivals, left int64, now time.Time) job.Step {
	room := mostQueued - len(s.Waiting)
	if p.Status.Active == 0 {
		room++ // the first does not wait
	}
	keep := int(max(0, min(a.n, left, int64(room))))
	queue := slices.Concat(s.Waiting, a.oldest[:keep])
	if over := a.n - int64(keep); over > 0 && left > int64(keep) {
		return overflow(s, a, keep, queue, now)
	}
	s.Waiting = queue
	if left <= int64(keep) {
		s.NextAt = time.Time{}
	}
	return turn(p, s, now)
}

// overflow passes over what arrived after the first few.
func overflow(s job.Step, a arrivals, keep int, queue []time.Time, now time.Time) job.Step {
	return over(s, &job.Pass{Count: a.n - int64(keep), From: a.oldest[keep], To: a.last, Why: whyFull, Waiting: queue}, now)
}

// turn begins the first of what waits if its turn has come. Where runs must not
// overlap, the end of the last one active has the job looked at again.
func turn(p *planned, s job.Step, now time.Time) job.Step {
	s.Alone = p.Policy.Serial()
	switch {
	case len(s.Waiting) == 0 || s.Alone && p.Status.Active > 0:
		return s
	case p.Policy.Missed == job.MissedAll:
		if rested := job.Ceil(p.Status.LastExecutionAt.Add(pace)); rested.After(now) {
			s.LookAt = rested
			return s
		}
	}
	s.At, s.Waiting = s.Waiting[0], s.Waiting[1:]
	if len(s.Waiting) > 0 && !s.Alone {
		s.LookAt = job.Ceil(now.Add(pace))
	}
	return s
}

// over makes s the step that passes over occurrences. Until that is recorded,
// all stays as it is.
func over(s job.Step, pass *job.Pass, now time.Time) job.Step {
	s.Pass, s.LookAt = pass, job.Ceil(now)
	return s
}

// givenUp says why what waits will not have its turn, or nothing.
func givenUp(j *job.Job, c *job.Collection) string {
	switch {
	case len(j.Status.Waiting) == 0:
		return ""
	case j.Status.State != job.Enabled:
		return "the job was disabled"
	case c.State != job.CollectionEnabled:
		return "the job collection was disabled"
	case j.Status.Waiting[0].Before(j.SeriesAt):
		return "the job was given another definition"
	}
	return ""
}

// giveUp passes over all that waits.
func giveUp(s job.Step, why string, now time.Time) job.Step {
	w := s.Waiting
	return over(s, &job.Pass{Count: int64(len(w)), From: w[0], To: w[len(w)-1], Why: why}, now)
}

// remaining is how many more occurrences of a job may be planned, beside those
// that wait.
func remaining(j *job.Job) int64 {
	if j.Recurrence == nil || j.Recurrence.Count == 0 {
		return math.MaxInt64
	}
	return int64(j.Recurrence.Count) - j.Status.Planned - int64(len(j.Status.Waiting))
}

// passed is the record of a pass. The job moves on when it comes back through
// the history, so that a store which lost its state finds the same decision
// there.
func (o *owner) passed(p *planned, s *job.Step) *job.Result {
	pass := s.Pass
	what := "1 occurrence, due at " + stamp(pass.From)
	switch {
	case pass.Count == 0: // not shown to anybody
		what = "nothing yet"
	case pass.Count > 1:
		what = strconv.FormatInt(pass.Count, 10) + " occurrences, due from " + stamp(pass.From) + " to " + stamp(pass.To)
	}
	d := &job.Dispatch{Attempt: job.Attempt{
		Run: job.Run{
			Tag: job.RunTag(p.UID, "pass/"+stamp(pass.To)), // of no run
			UID: p.UID, Revision: p.Revision, At: pass.To, Phase: job.MainAction,
		},
		Shard: o.shard, Ref: p.Ref, Location: s.Collection.Location, DueAt: pass.To,
		Planned: job.Planned{Series: p.Series, Count: p.Status.Planned, NextAt: s.NextAt, Counters: p.Status.Counters},
	}}
	if pass.From.Before(p.SeriesAt) {
		d.Planned.Series = 0 // of an earlier one
	}
	r := o.skip(d, what+": "+pass.Why)
	r.Performance, r.Missed, r.From, r.Waiting = rand.Text(), pass.Count, pass.From, pass.Waiting
	return r
}

// pass puts passes in the history. What that has no room for is put there by a
// later call.
func (o *owner) pass(ctx context.Context, passes []*job.Result) error {
	o.unsaid = append(o.unsaid, passes...)
	if len(o.unsaid) == 0 {
		return nil
	}
	// A store that came back older a moment ago may not know what was passed over
	// before, and history takes nothing back.
	if err := o.whole(ctx); err != nil {
		return err
	}
	if !time.Now().Before(o.lease.Load().Until) {
		return fmt.Errorf("pass over occurrences: %w", job.ErrLeaseLost)
	}
	if err := o.cfg.Queue.RecordAll(ctx, o.unsaid); err != nil {
		return err
	}
	o.unsaid = nil
	return nil
}

func stamp(t time.Time) string { return t.Format(time.RFC3339Nano) }
