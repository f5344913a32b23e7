package storetest

import (
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func recordTests() []test {
	return []test{
		{"what follows", recordFollows},
		{"an attempt performed twice", recordTwice},
		{"the rest of a batch", recordBatch},
		{"the newest start", recordStart},
		{"counters that were lost", recordCounters},
	}
}

// after is what is expected of an hourly job's run after results.
type after struct {
	phase  job.Phase // empty: the run has ended
	retry  int
	due    time.Time
	counts job.Counters
}

func (w *world) expect(j *job.Job, occurs time.Time, a after) {
	w.Helper()
	r := w.run(job.Tag(j.UID, occurs))
	switch {
	case a.phase == "":
		equal(w, "run", r, nil)
	case r == nil:
		w.Fatal("the run has ended")
	default:
		equal(w, "phase", r.Phase, a.phase)
		equal(w, "retry count", r.RetryCount, a.retry)
		equal(w, "due", r.DueAt, a.due)
	}
	equal(w, "counters", w.read(j).Status.Counters, a.counts)
}

func recordFollows(t *testing.T, s Store) {
	w := newWorld(t, s)
	minute := at(time.Minute)
	type step struct {
		phase   job.Phase
		retry   int
		outcome job.Outcome
		follow  job.Follow
		after   after
	}
	done := func(exec, fail, fault int64) after {
		return after{counts: job.Counters{Executions: exec, Failures: fail, Faults: fault}}
	}
	on := func(p job.Phase, retry int, fail, fault int64) after {
		a := done(1, fail, fault)
		a.phase, a.retry, a.due = p, retry, minute
		return a
	}
	for i, c := range []struct {
		name  string
		steps []step
	}{
		{"success", []step{{job.MainAction, 0, job.Succeeded, job.FollowDone, done(1, 0, 0)}}},
		{"success at the second retry", []step{
			{job.MainAction, 0, job.Failed, job.FollowRetry, on(job.MainAction, 1, 1, 0)},
			{job.MainAction, 1, job.Failed, job.FollowRetry, on(job.MainAction, 2, 2, 0)},
			{job.MainAction, 2, job.Succeeded, job.FollowDone, done(1, 2, 0)},
		}},
		{"fault", []step{
			{job.MainAction, 0, job.Failed, job.FollowRetry, on(job.MainAction, 1, 1, 0)},
			{job.MainAction, 1, job.Failed, job.FollowFault, done(1, 2, 1)},
		}},
		{"error action succeeds", []step{
			{job.MainAction, 0, job.Failed, job.FollowError, on(job.ErrorAction, 0, 1, 1)},
			{job.ErrorAction, 0, job.Failed, job.FollowRetry, on(job.ErrorAction, 1, 2, 1)},
			{job.ErrorAction, 1, job.Succeeded, job.FollowEnd, done(1, 2, 1)},
		}},
		{"error action after a retry fails", []step{
			{job.MainAction, 0, job.Failed, job.FollowRetry, on(job.MainAction, 1, 1, 0)},
			{job.MainAction, 1, job.Failed, job.FollowError, on(job.ErrorAction, 0, 2, 1)},
			{job.ErrorAction, 0, job.Failed, job.FollowEnd, done(1, 3, 1)},
		}},
		{"postponed", []step{
			{job.MainAction, 0, job.Postponed, job.FollowRetry, on(job.MainAction, 1, 0, 0)},
			{job.MainAction, 1, job.Succeeded, job.FollowDone, done(1, 0, 0)},
		}},
		{"postponed to the last", []step{{job.MainAction, 0, job.Postponed, job.FollowFault, done(1, 0, 1)}}},
		{"skipped at first", []step{{job.MainAction, 0, job.Skipped, job.FollowDrop, done(0, 0, 0)}}},
		{"skipped at a retry", []step{
			{job.MainAction, 0, job.Failed, job.FollowRetry, on(job.MainAction, 1, 1, 0)},
			{job.MainAction, 1, job.Skipped, job.FollowDrop, done(1, 1, 0)},
		}},
		{"skipped at the error action", []step{
			{job.MainAction, 0, job.Failed, job.FollowError, on(job.ErrorAction, 0, 1, 1)},
			{job.ErrorAction, 0, job.Skipped, job.FollowDrop, done(1, 1, 1)},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := w.on(t)
			j := w.create(name(i), at(0))
			w.plan(j, at(0), at(time.Hour))
			for k, st := range c.steps {
				e := attempt(result(j, at(0), st.outcome, st.follow), st.phase, st.retry)
				e.StartedAt = at(time.Duration(k+1) * time.Second)
				w.record(e)
				w.expect(j, at(0), st.after)
			}
			equal(t, "state", w.read(j).Status.State, job.Enabled)
		})
		w.place = w.latest()
	}
}

// latest returns the shard's place in the history.
func (w *world) latest() job.Position {
	w.Helper()
	p, err := w.Progress(w.Context(), w.shard)
	w.must(err)
	return p.History
}

// A worker that dies before it acknowledges leaves an attempt that is performed
// again: history has a row for each, but only the first moves the run.
func recordTwice(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	failed := result(j, at(0), job.Failed, job.FollowRetry)
	again := failed
	again.DueAt = at(time.Hour)
	w.record(failed, again)
	w.expect(j, at(0), after{job.MainAction, 1, at(time.Minute), job.Counters{Executions: 1, Failures: 2}})

	w.record(attempt(result(j, at(0), job.Failed, job.FollowError), job.MainAction, 1))
	late := result(j, at(0), job.Failed, job.FollowRetry)
	w.record(late) // of the first phase, same retry count
	w.expect(j, at(0), after{job.ErrorAction, 0, at(time.Minute), job.Counters{Executions: 1, Failures: 4, Faults: 1}})

	w.record(attempt(result(j, at(0), job.Succeeded, job.FollowEnd), job.ErrorAction, 0))
	for _, o := range []job.Outcome{job.Succeeded, job.Failed, job.Skipped} {
		w.record(attempt(result(j, at(0), o, job.FollowEnd), job.ErrorAction, 0))
	}
	w.record(result(j, at(0), job.Failed, job.FollowFault))
	w.expect(j, at(0), after{counts: job.Counters{Executions: 1, Failures: 6, Faults: 1}})
	equal(t, "runs", w.agenda(whole()).Runs, []job.Due{})
}

func recordBatch(t *testing.T, s Store) {
	w := newWorld(t, s)
	one, two := w.create("one", at(0)), w.create("two", at(0))
	w.plan(one, at(0), at(time.Hour))
	w.plan(two, at(0), at(time.Hour))
	w.record(
		result(one, at(0), job.Failed, job.FollowRetry),
		result(two, at(0), job.Succeeded, job.FollowDone),
		attempt(result(one, at(0), job.Succeeded, job.FollowDone), job.MainAction, 1),
	)
	w.expect(one, at(0), after{counts: job.Counters{Executions: 1, Failures: 1}})
	w.expect(two, at(0), after{counts: job.Counters{Executions: 1}})
	equal(t, "place", w.latest(), job.Position{History: "h1", Sequence: 3})
}

func recordStart(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	start := func(p job.Phase, retry int, o job.Outcome, f job.Follow, d time.Duration) {
		t.Helper()
		e := attempt(result(j, at(0), o, f), p, retry)
		e.StartedAt = at(d)
		w.record(e)
	}
	last := func(want time.Time) {
		t.Helper()
		equal(t, "last execution", w.read(j).Status.LastExecutionAt, want)
	}
	w.plan(j, at(0), at(time.Hour))
	last(time.Time{})
	start(job.MainAction, 0, job.Failed, job.FollowRetry, 2*time.Second)
	last(at(2 * time.Second))
	start(job.MainAction, 0, job.Failed, job.FollowRetry, time.Second) // the other performance, older
	last(at(2 * time.Second))
	start(job.MainAction, 0, job.Succeeded, job.FollowDone, 3*time.Second) // a third one
	last(at(3 * time.Second))
	start(job.MainAction, 1, job.Failed, job.FollowError, 4*time.Second)
	last(at(4 * time.Second))
	start(job.ErrorAction, 0, job.Failed, job.FollowEnd, 5*time.Second) // not the main action
	last(at(4 * time.Second))
	w.plan(j, at(time.Hour), at(2*time.Hour))
	e := result(j, at(time.Hour), job.Skipped, job.FollowDrop) // no attempt
	w.record(e)
	last(at(4 * time.Second))
}

// A result says what the counters were before it, which a store that came back
// older may not know.
func recordCounters(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	e := result(j, at(0), job.Failed, job.FollowRetry)
	e.Planned.Counters = job.Counters{Executions: 10, Failures: 9, Faults: 8}
	w.record(e)
	w.expect(j, at(0), after{job.MainAction, 1, at(time.Minute), job.Counters{Executions: 11, Failures: 10, Faults: 8}})

	e = attempt(e, job.MainAction, 1) // of before the first
	e.Follow = job.FollowFault
	w.record(e)
	w.expect(j, at(0), after{counts: job.Counters{Executions: 11, Failures: 11, Faults: 9}})
	e.Planned.Executions = 100 // of a run that ended here
	w.record(e)
	w.expect(j, at(0), after{counts: job.Counters{Executions: 100, Failures: 12, Faults: 9}})
}
