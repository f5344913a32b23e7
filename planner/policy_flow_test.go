package planner_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// overdue creates a job that is due every second and was last looked at so long
// ago, as if no planner had been at work since.
func (w *world) overdue(name string, ago time.Duration, d job.Definition) *job.Job {
	w.Helper()
	now := w.store.Now()
	d.State, d.Recurrence = job.Enabled, every(1, 0)
	if d.Action.Type == "" {
		d.Action = calling(job.HTTP, &job.RetryPolicy{}, nil)
	}
	began := now.Add(-ago).Truncate(time.Second)
	j := &job.Job{
		UID: uid(), Revision: 1, CollectionUID: w.col.UID, Ref: job.Ref{CollectionRef: w.col.CollectionRef, Job: name},
		Definition: d, CreatedAt: began, UpdatedAt: began, Series: 1, SeriesAt: began, Anchor: began, ActiveFrom: began,
	}
	w.must(w.store.PutJob(w.Context(), job.Write{Collection: w.col, Job: j, MaxJobs: 100, Reschedule: true, NextAt: began}))
	w.journal(job.Entry{UID: j.UID, Revision: 1, Job: j})
	return j
}

// since lets jobs be overdue that were created a moment ago.
func (w *world) since() {
	w.Helper()
	was, err := w.store.Collection(w.Context(), w.col.CollectionRef)
	w.must(err)
	c := *was
	c.Revision++
	c.ActiveFrom = c.ActiveFrom.Add(-24 * time.Hour)
	w.must(w.store.PutCollection(w.Context(), &c, was, false))
	w.journal(job.Entry{UID: c.UID, Revision: c.Revision, Collection: &c})
	w.col = &c
}

// impatient runs a planner to which an occurrence is missed soon. It returns
// what starts another and what stops the one.
func (w *world) impatient() (start func() func(), stop func()) {
	w.Helper()
	cfg := w.settings("p1")
	cfg.MissedAfter = 3 * time.Second
	start = func() func() { return w.planAs(cfg) }
	stop = start()
	w.ready()
	w.since()
	return start, stop
}

// passes returns the rows of a job that pass over occurrences.
func (w *world) passes(j *job.Job) (list []job.Record) {
	w.Helper()
	for _, r := range w.rows(j) {
		if r.Passes() && r.Missed > 0 {
			list = append(list, r)
		}
	}
	return list
}

// account checks that each occurrence of a job that is due every second, from
// its first to the last of which something is known, has come to exactly one
// end: it ran once, or one row passes over it, or it was dropped from a run.
func (k *worker) account(j *job.Job) {
	k.Helper()
	ends := make(map[time.Time]int)
	end := func(at time.Time) { ends[at]++ }
	for _, r := range k.rows(j) {
		switch {
		case r.Passes():
			n := int64(0)
			for at := r.From; r.Missed > 0 && !at.After(r.At); at = at.Add(time.Second) {
				end(at)
				n++
			}
			if n != r.Missed {
				k.Errorf("a row says %q, but counts %d", r.Message, r.Missed)
			}
		case !r.Manual && r.RetryCount == 0 && r.Phase == job.MainAction:
			end(r.At)
		}
	}
	last := j.Anchor
	for at := range ends {
		if at.After(last) {
			last = at
		}
	}
	for at := j.Anchor; !at.After(last); at = at.Add(time.Second) {
		if ends[at] != 1 {
			k.Errorf("the occurrence of %v has %d ends", at.Format(time.TimeOnly), ends[at])
		}
	}
}

// gate is a script that performs nothing until it is opened, and notes how many
// attempts were under way at most.
type gate struct {
	open    chan struct{}
	mu      sync.Mutex
	at, max int
}

func (k *worker) gate(name string) *gate {
	g := &gate{open: make(chan struct{})}
	k.Cleanup(sync.OnceFunc(func() {
		select {
		case <-g.open:
		default:
			close(g.open)
		}
	}))
	k.on(name, func(*job.Dispatch) job.Outcome {
		g.mu.Lock()
		g.at++
		g.max = max(g.max, g.at)
		g.mu.Unlock()
		<-g.open
		g.mu.Lock()
		defer g.mu.Unlock()
		g.at--
		return job.Succeeded
	})
	return g
}

// policy.missed skip: nothing of what was missed runs, and one row says so.
func TestMissedSkip(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.impatient()
	k := w.work()
	j := w.overdue("skip", time.Hour, job.Definition{Policy: job.Policy{Missed: job.MissedSkip}})
	w.eventually("it to go on", func() bool { return w.read(j).Status.Executions >= 2 })
	rows := w.passes(j)
	if len(rows) != 1 || rows[0].Missed < 3600 || !rows[0].From.Equal(j.Anchor) || rows[0].Outcome != job.Skipped ||
		!strings.Contains(rows[0].Message, " occurrences, due from ") || !strings.Contains(rows[0].Message, "missed while no planner was at work") {
		t.Fatalf("rows %+v", rows)
	}
	calls := k.performed(j)
	if calls[0].At.Sub(rows[0].At) != time.Second || calls[0].Planned.Count != 1 {
		t.Errorf("after %v number %d ran, of %v", rows[0].At, calls[0].Planned.Count, calls[0].At)
	}
	k.account(j)
}

// policy.missed all: what was missed runs, the oldest first, a few a second,
// and neither the job's next occurrences nor other jobs wait for it.
func TestMissedAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	start, stop := w.impatient()
	k := w.work()
	other := w.create("other", job.Definition{Recurrence: every(1, 8)})
	j := w.overdue("all", 20*time.Second, job.Definition{Policy: job.Policy{Missed: job.MissedAll}})
	w.eventually("some to be made up", func() bool { return w.read(j).Status.Executions > 5 })
	stop() // in the middle, and with all that redis knows
	w.putBack(nil)
	start()
	w.ready()
	w.eventually("all to be made up", func() bool {
		s := w.read(j).Status
		return len(s.Waiting) == 0 && s.Executions > 20 && s.Executions == s.Planned
	})
	k.account(j)
	if rows := w.passes(j); len(rows) > 0 {
		t.Errorf("passed over: %q", rows[0].Message)
	}
	made := k.performed(j)[:20]
	if took := made[19].at.Sub(made[0].at); took < 3*time.Second { // 4.75 s, if the first is not late
		t.Errorf("20 missed ones ran within %v", took)
	}
	w.is(other, job.Completed, 8, 0, 0)
	k.once(t)
}

// policy.overlap skip: what comes due before a run has ended, its retries
// included, does not run, and rows say so.
func TestOverlapSkip(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan()
	w.since()
	k := w.work()
	k.on("skip", outcomes(job.Failed, job.Failed, job.Succeeded))
	j := w.overdue("skip", 0, job.Definition{
		Policy: job.Policy{Overlap: job.OverlapSkip}, Action: calling(job.HTTP, fixed(1300*time.Millisecond, 2), nil),
	})
	w.eventually("it to go on", func() bool { return w.read(j).Status.Executions >= 2 })
	rows := w.passes(j)
	if len(rows) == 0 || !strings.Contains(rows[0].Message, "a run before was not finished") {
		t.Fatalf("rows %+v", rows)
	}
	ran := slices.DeleteFunc(k.rows(j), func(r job.Record) bool { return r.Passes() })
	if ran[0].Tag != ran[2].Tag || ran[2].RetryCount != 2 {
		t.Errorf("ran %q, between the attempts of one run", attempts(ran))
	}
	if first, second := ran[0], ran[3]; second.Planned.Count != first.Planned.Count+1 || second.StartedAt.Before(ran[2].EndedAt) {
		t.Errorf("number %d ran after number %d, at %v", second.Planned.Count, first.Planned.Count, second.StartedAt)
	}
	k.account(j)
}

// policy.overlap queue: what comes due before a run has ended waits, up to ten,
// and runs in order at its own nominal time. What redis forgets of it is found
// again.
func TestOverlapQueue(t *testing.T) {
	for redis, lose := range map[string]func(*world, snapshot){
		"stays": nil, "is purged": func(w *world, _ snapshot) { w.putBack(nil) }, "comes back older": (*world).putBack,
	} {
		t.Run("redis "+redis, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan()
			w.since()
			k := w.work()
			g := k.gate("queue")
			j := w.overdue("queue", 12*time.Second, job.Definition{Policy: job.Policy{Overlap: job.OverlapQueue}})
			w.eventually("the queue to be full", func() bool { return len(w.passes(j)) > 0 && len(k.performed(j)) == 1 })
			before, passed := w.snapshot(), w.read(j).Status.Passed
			w.eventually("more to be passed over", func() bool { return w.read(j).Status.Passed >= passed+2 })
			if s := w.read(j).Status; len(s.Waiting) != 10 || s.Planned != 1 || s.Active != 1 {
				t.Errorf("%+v", s)
			}
			if lose != nil {
				lose(w, before)
				w.eventually("the shard to be rebuilt", func() bool {
					_, now, err := w.store.Job(w.Context(), j.Ref)
					return err == nil && w.store.Ready(w.Context()) == nil && now.Status.Passed >= passed+2 && now.Status.Active == 1
				})
			}
			close(g.open)
			w.eventually("what waited to run", func() bool { return w.read(j).Status.Executions >= 13 })
			if row := w.passes(j)[0]; !strings.Contains(row.Message, "10 waited already") {
				t.Errorf("row says %q", row.Message)
			}
			calls := k.performed(j)
			for i, c := range calls {
				if c.Tag != job.Tag(j.UID, c.At) || c.Planned.Count != int64(i+1) || i > 0 && c.at.Before(calls[i-1].at) {
					t.Errorf("number %d is of %v", c.Planned.Count, c.At)
				}
			}
			if g.max != 1 {
				t.Errorf("%d ran at once", g.max)
			}
			k.account(j)
			k.once(t)
		})
	}
}

// I8, and "disable ends what waits: as skipped": so do a new definition and the
// end of the collection's work.
func TestWhatWaitsIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan()
	w.since()
	k := w.work()
	for _, tt := range []struct {
		name   string
		change func(w *world, j *job.Job)
		why    string
	}{
		{"disabled", func(w *world, j *job.Job) { w.update(j, func(n *job.Job) { n.State = job.Disabled }) }, "the job was disabled"},
		{"another", func(w *world, j *job.Job) {
			w.update(j, func(n *job.Job) {
				n.StartAt = n.UpdatedAt.Add(time.Hour)
				n.Series, n.SeriesAt, n.Status.Planned = n.Revision, n.UpdatedAt, 0
				n.Anchor, n.ActiveFrom = n.StartAt, n.UpdatedAt
			})
		}, "the job was given another definition"},
		{"collection", func(w *world, _ *job.Job) { w.switchTo(job.CollectionDisabled) }, "the job collection was disabled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := w.on(t)
			g := k.gate(tt.name)
			j := w.overdue(tt.name, 4*time.Second, job.Definition{Policy: job.Policy{Overlap: job.OverlapQueue}})
			w.eventually("some to wait", func() bool { return len(w.read(j).Status.Waiting) >= 4 })
			tt.change(w, j)
			w.eventually("them to be given up", func() bool { return len(w.read(j).Status.Waiting) == 0 })
			rows := w.passes(j)
			if len(rows) != 1 || rows[0].Missed < 4 || !strings.HasSuffix(rows[0].Message, ": "+tt.why+".") {
				t.Errorf("rows %+v", rows)
			}
			close(g.open)
			w.eventually("the run to end", func() bool { return w.read(j).Status.Active == 0 })
			(&worker{world: w}).account(j)
		})
	}
}

// A series whose last occurrences are passed over, or wait, ends when its last
// run does.
func TestSeriesUnderPolicyEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan()
	k := w.work()
	for name, policy := range map[string]job.Policy{
		"skip": {Overlap: job.OverlapSkip}, "queue": {Overlap: job.OverlapQueue},
	} {
		g := k.gate(name)
		spec := every(1, 0)
		spec.EndAt = w.store.Now().Add(2500 * time.Millisecond)
		ends := w.create(name, job.Definition{Recurrence: spec, Policy: policy})
		if name == "skip" {
			w.eventually("the others to be passed over", func() bool { return w.read(ends).Status.Passed == 2 })
		} else {
			w.eventually("the others to wait", func() bool { return len(w.read(ends).Status.Waiting) == 2 })
		}
		if s := w.read(ends).Status; s.State != job.Enabled || !s.NextExecutionAt.IsZero() {
			t.Errorf("%s: %+v", name, s)
		}
		close(g.open)
		w.is(ends, job.Completed, map[string]int64{"skip": 1, "queue": 3}[name], 0, 0)
	}
	counted := w.create("count", job.Definition{Recurrence: every(1, 3), Policy: job.Policy{Overlap: job.OverlapQueue}})
	w.is(counted, job.Completed, 3, 0, 0)
	w.idle()
}

// A run that a request asks for obeys policy.overlap: it is refused while a run
// is active, and the schedule's wait for it.
func TestRunRequestUnderPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan()
	k := w.work()
	g := k.gate("asked")
	j := w.create("asked", job.Definition{
		StartAt: w.store.Now().Add(2 * time.Second), Recurrence: every(1000, 0), Policy: job.Policy{Overlap: job.OverlapQueue},
	})
	tag := w.request(j)
	now := job.Ceil(w.store.Now())
	again := &job.Pending{DueAt: now, Run: job.Run{Tag: tag, UID: j.UID, Revision: 1, At: now, Manual: true, Phase: job.MainAction}}
	w.must(w.store.RunJob(w.Context(), w.col, w.read(j), again)) // the same request
	again.Tag = job.RunTag(j.UID, uid())
	var conflict *job.ConflictError
	if err := w.store.RunJob(w.Context(), w.col, w.read(j), again); !errors.As(err, &conflict) || !strings.Contains(conflict.Reason, "policy.overlap") {
		t.Errorf("a second request: %v", err)
	}
	w.eventually("the schedule's to wait", func() bool { return len(w.read(j).Status.Waiting) == 1 })
	close(g.open)
	w.is(j, job.Enabled, 2, 0, 0)
	if g.max != 1 {
		t.Errorf("%d ran at once", g.max)
	}
	w.request(j)
	w.is(j, job.Enabled, 3, 0, 0)
}
