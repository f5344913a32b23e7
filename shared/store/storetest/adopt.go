package storetest

import (
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func adoptTests() []test {
	return []test{
		{"makes a run that was lost", adoptRun},
		{"makes nothing unless told to", adoptUnmade},
		{"the last occurrence", adoptLast},
		{"counters are never lowered", adoptCounters},
		{"of an older revision and series", adoptOld},
		{"of a request", adoptManual},
		{"of a deleted job", adoptDeleted},
		{"keeps a run that is there", adoptHeld},
		{"a run is active until it ends", adoptActive},
	}
}

// adoption is of an attempt that was dispatched when its job was far ahead of
// what the store remembers.
func adoption(j *job.Job, occurs time.Time) job.Adoption {
	a := result(j, occurs, "", "").Attempt
	a.Repeat, a.Phase, a.RetryCount = 9, job.ErrorAction, 2
	a.Planned = checkpoint().Planned
	a.Planned.NextAt = at(13 * time.Hour)
	return job.Adoption{Attempt: &a, Make: true, ActAt: at(20 * time.Hour), Sequence: 77, Resend: 3}
}

func (w *world) adopt(list ...job.Adoption) {
	w.Helper()
	w.must(w.Adopt(w.Context(), w.lease, list))
}

func adoptRun(t *testing.T, s Store) {
	w := newWorld(t, s)
	w.adopt()
	one, two := w.create("one", at(0)), w.create("two", at(0))
	first := adoption(one, at(time.Hour))
	w.adopt(first, adoption(two, at(time.Hour)), first)
	got := w.run(first.Tag)
	want := first.Run
	equal(t, "run", got.Pending, job.Pending{Run: want, DueAt: at(20 * time.Hour)})
	equal(t, "sequence", got.Sequence, 77)
	equal(t, "resend", got.Resend, 3)
	equal(t, "runs", len(w.agenda(whole()).Runs), 2)

	for _, j := range []*job.Job{one, two} {
		equal(t, "status", w.read(j).Status, job.Status{
			State: job.Enabled, NextExecutionAt: at(13 * time.Hour), LastAt: at(time.Hour), Planned: 12,
			Counters: job.Counters{Executions: 13, Failures: 14, Faults: 100},
		})
		equal(t, "number of the next", w.plan(j, at(2*time.Hour), at(3*time.Hour)).Repeat, 10)
	}
}

func adoptUnmade(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	a := adoption(j, at(time.Hour))
	a.Make = false
	w.adopt(a)
	equal(t, "job", w.read(j), j)
	equal(t, "runs", w.agenda(whole()).Runs, []job.Due{})
}

// The job has no next time, so it is final when the run ends.
func adoptLast(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	a := adoption(j, at(time.Hour))
	a.Phase, a.RetryCount, a.Planned.NextAt = job.MainAction, 0, time.Time{}
	w.adopt(a)
	equal(t, "next", w.read(j).Status.NextExecutionAt, time.Time{})
	w.record(result(j, at(time.Hour), job.Succeeded, job.FollowDone))
	equal(t, "state", w.read(j).Status.State, job.Completed)
}

func adoptCounters(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.must(w.RestoreProgress(t.Context(), w.lease, job.Position{}, j.UID, checkpoint()))
	a := adoption(j, at(time.Hour))
	a.Repeat = 8
	a.Planned.Count, a.Planned.Counters = 9, job.Counters{Executions: 9, Failures: 9, Faults: 99}
	w.adopt(a)
	equal(t, "status", w.read(j).Status, reached())
	newest := adoption(j, at(10*time.Hour)) // known as planned, and so is what comes next
	newest.Planned.Faults, newest.Planned.NextAt = 0, at(50*time.Hour)
	w.adopt(newest)
	equal(t, "status", w.read(j).Status, reached())
	equal(t, "number of the next", w.plan(j, at(12*time.Hour), time.Time{}).Repeat, 10)
}

func adoptOld(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.newJob("one")
	j.Revision, j.Series = 2, 2
	j = w.put(j, at(0))
	a := adoption(j, at(time.Hour))
	a.Revision, a.Planned.Series = 1, 1
	w.adopt(a)
	status := w.read(j).Status
	equal(t, "planned", status.Planned, 0)
	equal(t, "newest nominal time", status.LastAt, at(time.Hour))
	equal(t, "executions", status.Executions, 13)
	equal(t, "next", status.NextExecutionAt, at(0))
	equal(t, "revision of the run", w.run(a.Tag).Revision, 1)
	equal(t, "number of the next", w.plan(j, at(12*time.Hour), time.Time{}).Repeat, 1)
}

func adoptManual(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	a := adoption(j, at(time.Hour))
	a.Run = request(j, "1", at(time.Hour)).Run
	a.Repeat, a.Sequence, a.Resend = 4, 0, 0
	a.Planned = job.Planned{} // all that a journaled request knows
	w.adopt(a)
	equal(t, "job", w.read(j), j)
	got := w.run(a.Tag)
	equal(t, "run", got.Run, a.Run)
	equal(t, "sequence", got.Sequence, 0)
	equal(t, "number of the next", w.plan(j, at(0), time.Time{}).Repeat, 5)
}

func adoptDeleted(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.must(w.DeleteJob(t.Context(), w.col, j))
	w.adopt(adoption(j, at(time.Hour)))
	equal(t, "runs", w.agenda(whole()).Runs, []job.Due{})
}

func adoptHeld(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	failed := result(j, at(0), job.Failed, job.FollowRetry)
	w.record(failed)
	was, status := w.run(failed.Tag), w.read(j).Status

	for _, c := range []struct {
		name     string
		phase    job.Phase
		retry    int
		sequence uint64
	}{
		{"at an earlier attempt", job.MainAction, 0, 7},
		{"at a later attempt", job.MainAction, 2, 7},
		{"in another phase", job.ErrorAction, 1, 7},
		{"without a dispatch", job.MainAction, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, a := w.on(t), adoption(j, at(0))
			a.Phase, a.RetryCount, a.Sequence = c.phase, c.retry, c.sequence
			w.adopt(a)
			equal(t, "run", w.run(a.Tag), was)
		})
	}

	a := adoption(j, at(0))
	a.Phase, a.RetryCount, a.Make = job.MainAction, 1, false
	w.adopt(a)
	got := w.run(a.Tag)
	equal(t, "sequence", got.Sequence, 77)
	equal(t, "resend", got.Resend, 3)
	equal(t, "due", got.DueAt, at(20*time.Hour))
	equal(t, "retry count", got.RetryCount, 1)
	equal(t, "status", w.read(j).Status, status)
}

func adoptActive(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	first, second := adoption(j, at(0)), adoption(j, at(time.Hour))
	w.adopt(first, second, second)
	w.settle(w.read(j), time.Time{})
	equal(t, "state", w.read(j).Status.State, job.Enabled)
	end := func(a job.Adoption, f job.Follow) {
		t.Helper()
		e := job.Effect{Follow: f}
		e.Attempt, e.Outcome, e.StartedAt = *a.Attempt, job.Failed, at(0)
		e.Planned.Series = j.Series
		w.record(e)
	}
	end(second, job.FollowEnd)
	equal(t, "state with one active", w.read(j).Status.State, job.Enabled)
	end(first, job.FollowEnd)
	equal(t, "state", w.read(j).Status.State, job.Faulted)
}
