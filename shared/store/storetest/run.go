package storetest

import (
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func runTests() []test {
	return []test{
		{"those that ended are left out", runsEnded},
		{"of a deleted job", runOfDeletedJob},
		{"of a deleted collection", runOfDeletedCollection},
		{"keeps the definition it was planned from", runOfOldRevision},
		{"each keeps its own", runsOfOldRevisions},
		{"old definitions go when no run is active", oldDefinitionsGo},
		{"dispatched", dispatched},
		{"dispatched, but moved on", dispatchedLate},
		{"dispatched after the lease was lost", dispatchedLost},
	}
}

func runsEnded(t *testing.T, s Store) {
	w := newWorld(t, s)
	none, err := w.Runs(t.Context(), w.shard, nil)
	w.must(err)
	equal(t, "runs of none", len(none), 0)

	one, two := w.create("one", at(0)), w.create("two", at(0))
	w.plan(one, at(0), at(time.Hour))
	w.plan(two, at(0), at(time.Hour))
	due := w.agenda(whole()).Runs
	w.record(result(one, at(0), job.Succeeded, job.FollowDone))
	rs, err := w.Runs(t.Context(), w.shard, due)
	w.must(err)
	equal(t, "runs", names(rs, func(r *job.Waiting) string { return r.UID }), []string{two.UID})
	equal(t, "time", rs[0].DueAt, at(0))
}

func runOfDeletedJob(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	w.must(w.DeleteJob(t.Context(), w.col, j))
	got := w.run(job.Tag(j.UID, at(0)))
	if got == nil || got.Job != nil || got.Collection != nil {
		t.Fatalf("run = %+v, want one without a job", got)
	}
}

func runOfDeletedCollection(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	w.must(w.DeleteCollection(t.Context(), w.col))
	got := w.run(job.Tag(j.UID, at(0)))
	equal(t, "collection", got.Collection, nil)
	equal(t, "job", got.Job.UID, j.UID)

	anew := newCollection("main", job.Standard)
	anew.UID = "c-anew"
	w.must(w.PutCollection(t.Context(), anew, nil, false))
	equal(t, "collection, when another has its name", w.run(got.Tag).Collection, nil)
}

func method(m string) func(*job.Job) {
	return func(j *job.Job) { j.Action.Request.Method = m }
}

func runOfOldRevision(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	w.must(w.PutJob(t.Context(), w.write(j, func(j *job.Job) { j.Series = 2; method("PUT")(j) })))
	w.plan(w.read(j), at(time.Hour), at(2*time.Hour))
	w.record(result(j, at(0), job.Failed, job.FollowRetry))

	old := w.run(job.Tag(j.UID, at(0)))
	want := *j
	want.Status = w.read(j).Status
	equal(t, "job of the old run", old.Job, &want)
	equal(t, "where it stood", old.Planned, job.Planned{
		Series: 1, Count: 1, NextAt: at(2 * time.Hour), Counters: job.Counters{Executions: 1, Failures: 1},
	})
	equal(t, "job of the new run", w.run(job.Tag(j.UID, at(time.Hour))).Job, w.read(j))
}

func runsOfOldRevisions(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	for i, m := range []string{"PUT", "PATCH", "DELETE"} {
		occurs := at(time.Duration(i) * time.Hour)
		w.plan(w.read(j), occurs, occurs.Add(time.Hour))
		w.must(w.PutJob(t.Context(), w.write(w.read(j), method(m))))
	}
	for i, m := range []string{"POST", "PUT", "PATCH"} {
		got := w.run(job.Tag(j.UID, at(time.Duration(i)*time.Hour)))
		equal(t, "method", got.Job.Action.Request.Method, m)
		equal(t, "revision", got.Job.Revision, int64(i+1))
	}
}

// What is kept cannot be seen but by a run of that revision, here one that a
// rebuilding planner makes known.
func oldDefinitionsGo(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	w.plan(j, at(time.Hour), at(2*time.Hour))
	w.must(w.PutJob(t.Context(), w.write(j, method("PUT"))))
	revision := func(occurs time.Time) int64 {
		t.Helper()
		return w.run(job.Tag(j.UID, occurs)).Job.Revision
	}
	w.record(result(j, at(0), job.Succeeded, job.FollowDone))
	equal(t, "revision while a run is active", revision(at(time.Hour)), 1)
	w.record(result(j, at(time.Hour), job.Succeeded, job.FollowDone))

	adopt := func(occurs time.Time) {
		t.Helper()
		a := result(j, occurs, "", "").Attempt
		a.Planned.NextAt = occurs.Add(time.Hour)
		w.adopt(job.Adoption{Attempt: &a, Make: true, ActAt: at(0)})
	}
	adopt(at(3 * time.Hour))
	equal(t, "revision afterwards", revision(at(3*time.Hour)), 2)
	w.record(result(j, at(3*time.Hour), job.Succeeded, job.FollowDone))

	// And so does what was kept next.
	j = w.read(j)
	w.plan(j, at(4*time.Hour), at(5*time.Hour))
	w.must(w.PutJob(t.Context(), w.write(j, method("GET"))))
	equal(t, "revision of the next", revision(at(4*time.Hour)), 2)
	w.record(result(j, at(4*time.Hour), job.Succeeded, job.FollowDone))
	adopt(at(6 * time.Hour))
	equal(t, "revision after the next", revision(at(6*time.Hour)), 3)
}

// dispatch returns the dispatch of an attempt.
func dispatch(e job.Effect, resend int) *job.Dispatch {
	return &job.Dispatch{Attempt: e.Attempt, Resend: resend}
}

func dispatched(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	var ds []*job.Dispatch
	for i := range 3 {
		occurs := at(time.Duration(i) * time.Hour)
		w.plan(j, occurs, occurs.Add(time.Hour))
		ds = append(ds, dispatch(result(j, occurs, "", ""), i))
	}
	const large = 1<<60 + 1 // no float holds it
	w.must(w.Dispatched(t.Context(), w.lease, ds, []uint64{large, 0, 7}, at(30*time.Second)))
	for i, want := range []struct {
		sequence uint64
		resend   int
		due      time.Time
	}{{large, 0, at(30 * time.Second)}, {0, 0, at(time.Hour)}, {7, 2, at(30 * time.Second)}} {
		r := w.run(ds[i].Tag)
		equal(t, "sequence", r.Sequence, want.sequence)
		equal(t, "resend", r.Resend, want.resend)
		equal(t, "due", r.DueAt, want.due)
	}
	w.must(w.Dispatched(t.Context(), w.lease, ds, []uint64{0, 0, 0}, at(time.Minute)))
	equal(t, "due", w.run(ds[0].Tag).DueAt, at(30*time.Second))
}

// A fast result may be recorded before its dispatch is noted.
func dispatchedLate(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	w.plan(j, at(time.Hour), at(2*time.Hour))
	failed, done := result(j, at(0), job.Failed, job.FollowRetry), result(j, at(time.Hour), job.Succeeded, job.FollowDone)
	w.record(failed, done)
	was := w.run(failed.Tag)
	w.must(w.Dispatched(t.Context(), w.lease, []*job.Dispatch{dispatch(failed, 0), dispatch(done, 0)}, []uint64{1, 2}, at(time.Hour)))
	equal(t, "run at its retry", w.run(failed.Tag), was)
	equal(t, "run that ended", w.run(done.Tag), nil)

	retry := attempt(failed, job.ErrorAction, 1) // of another phase
	w.must(w.Dispatched(t.Context(), w.lease, []*job.Dispatch{dispatch(retry, 0)}, []uint64{3}, at(time.Hour)))
	equal(t, "run at its retry", w.run(failed.Tag), was)

	retry.Phase = job.MainAction
	w.must(w.Dispatched(t.Context(), w.lease, []*job.Dispatch{dispatch(retry, 1)}, []uint64{4}, at(time.Hour)))
	got := w.run(failed.Tag)
	equal(t, "sequence of the retry", got.Sequence, 4)
	equal(t, "resend of the retry", got.Resend, 1)

	// The next attempt has no dispatch yet.
	w.record(attempt(failed, job.MainAction, 1))
	got = w.run(failed.Tag)
	equal(t, "sequence of the next", got.Sequence, 0)
	equal(t, "resend of the next", got.Resend, 0)
}

func dispatchedLost(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	d := dispatch(result(j, at(0), "", ""), 0)
	was := w.run(d.Tag)
	w.fails(w.Dispatched(t.Context(), w.stolen(), []*job.Dispatch{d}, []uint64{1}, at(time.Hour)), job.ErrLeaseLost)
	equal(t, "run", w.run(d.Tag), was)
}
