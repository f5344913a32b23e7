package storetest

import (
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func requestTests() []test {
	return []test{
		{"makes a run, due at once", requestRun},
		{"asked again, changes nothing", requestAgain},
		{"of a job that changed", requestChanged},
		{"leaves schedule and state alone", requestApart},
		{"needs a time", requestTime},
	}
}

// request returns the run that a request known by its id asks for.
func request(j *job.Job, id string, now time.Time) *job.Pending {
	return &job.Pending{Run: job.Run{
		Tag: job.RunTag(j.UID, id), UID: j.UID, Revision: j.Revision, At: now, Manual: true, Phase: job.MainAction,
	}, DueAt: now}
}

func requestRun(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(time.Hour))
	r := request(j, "1", at(time.Minute))
	w.must(w.RunJob(w.Context(), w.col, j, r))

	equal(t, "runs due", w.agenda(at(time.Minute)).Runs, []job.Due{{ID: r.Tag, At: at(time.Minute)}})
	got := w.run(r.Tag)
	want := *r
	want.Repeat = 1
	equal(t, "run", got.Pending, want)
	equal(t, "its job", got.Job, j)
	equal(t, "its collection", got.Collection.UID, w.col.UID)

	second := request(j, "2", at(time.Minute))
	w.must(w.RunJob(w.Context(), w.col, j, second))
	equal(t, "number of the second", w.run(second.Tag).Repeat, 2)
	equal(t, "number of the next by schedule", w.plan(j, at(time.Hour), time.Time{}).Repeat, 3)
}

func requestAgain(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	r := request(j, "1", at(time.Minute))
	w.must(w.RunJob(w.Context(), w.col, j, r))
	d := &job.Dispatch{Attempt: job.Attempt{Run: r.Run}}
	w.must(w.Dispatched(w.Context(), w.lease, []*job.Dispatch{d}, []uint64{7}, at(2*time.Minute)))
	was := w.run(r.Tag)
	w.must(w.RunJob(w.Context(), w.col, j, request(j, "1", at(time.Hour))))
	equal(t, "run", w.run(r.Tag), was)
	equal(t, "number of the next", w.plan(j, at(time.Hour), at(2*time.Hour)).Repeat, 2)

	// The client may not have heard of it, though it has ended.
	e := result(j, r.At, job.Succeeded, job.FollowDone)
	e.Run = r.Run
	w.record(e)
	w.must(w.RunJob(w.Context(), w.col, j, request(j, "1", at(2*time.Hour))))
	equal(t, "run that ended", w.run(r.Tag), nil)
}

func requestChanged(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.must(w.PutJob(w.Context(), w.write(j, same)))
	w.fails(w.RunJob(w.Context(), w.col, j, request(j, "1", at(0))), job.ErrChanged)
	w.must(w.DeleteJob(w.Context(), w.col, w.read(j)))
	w.fails(w.RunJob(w.Context(), w.col, j, request(j, "1", at(0))), job.ErrChanged)
	equal(t, "runs", w.agenda(whole()).Runs, []job.Due{})
}

// A run that a request asked for counts as an execution, but neither ends the
// job nor says how it ended.
func requestApart(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	r := request(j, "1", at(time.Minute))
	w.must(w.RunJob(w.Context(), w.col, j, r))
	e := result(j, at(time.Minute), job.Failed, job.FollowFault)
	e.Run = r.Run
	w.record(e)
	equal(t, "run", w.run(r.Tag), nil)
	want := j.Status
	want.LastExecutionAt = e.StartedAt
	want.Counters = job.Counters{Executions: 1, Failures: 1, Faults: 1}
	equal(t, "status", w.read(j).Status, want)

	w.plan(j, at(time.Hour), time.Time{})
	w.must(w.RunJob(w.Context(), w.col, j, request(j, "2", at(time.Hour)))) // at the same instant as the last
	w.record(result(j, at(time.Hour), job.Succeeded, job.FollowDone))
	equal(t, "state while the request's run is active", w.read(j).Status.State, job.Enabled)
	e.Run = request(j, "2", at(time.Hour)).Run
	w.record(e)
	equal(t, "state", w.read(j).Status.State, job.Completed)
}

func requestTime(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	if err := w.RunJob(w.Context(), w.col, j, request(j, "1", time.Time{})); err == nil {
		t.Fatal("a run without a nominal time was taken")
	}
}
