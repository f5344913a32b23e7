package storetest

import (
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func strangeTests() []test {
	return []test{
		{"a result of no run", recordNone},
		{"a result of a deleted job", recordDeleted},
		{"a result without a start", recordNoStart},
		{"the place must be as believed", recordPlace},
		{"a run that this store never saw", recordUnknown},
		{"nothing when the lease was lost", recordLost},
	}
}

// A result may speak of occurrences that never became runs.
func recordNone(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	was := w.run(job.Tag(j.UID, at(0)))
	e := result(j, at(0), job.Skipped, job.FollowNone)
	e.Missed = 7
	w.record(e)
	equal(t, "run", w.run(e.Tag), was)
	equal(t, "job", w.read(j), was.Job)
	equal(t, "place", w.latest().Sequence, 1)
	w.record(result(j, at(time.Hour), job.Skipped, job.FollowNone)) // of a run that is not there yet
	equal(t, "place", w.latest().Sequence, 2)
}

func recordDeleted(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	w.plan(j, at(time.Hour), at(2*time.Hour))
	w.must(w.DeleteJob(t.Context(), w.col, j))
	w.record(
		result(j, at(0), job.Failed, job.FollowRetry),
		result(j, at(time.Hour), job.Succeeded, job.FollowDone),
		result(j, at(2*time.Hour), job.Succeeded, job.FollowDone), // never planned here
	)
	equal(t, "agenda", w.agenda(whole()), job.Agenda{Jobs: []job.Due{}, Runs: []job.Due{}})
	some, err := w.ShardJobs(t.Context(), w.shard, []string{j.UID})
	w.must(err)
	equal(t, "job", some, []*job.Job{nil})
}

// A record that cannot be applied would stop its shard for good.
func recordNoStart(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	e := result(j, at(0), job.Succeeded, job.FollowDone)
	e.StartedAt = time.Time{}
	w.record(e)
	w.expect(j, at(0), after{counts: job.Counters{Executions: 1}})
}

func (w *world) unmoved(j *job.Job, l job.Lease, before job.Position, e job.Effect, want error) {
	w.Helper()
	was, run := w.read(j), w.run(e.Tag)
	after := before
	after.Sequence++
	w.fails(w.Record(w.Context(), l, before, after, []job.Effect{e}), want)
	equal(w, "job", w.read(j), was)
	equal(w, "run", w.run(e.Tag), run)
	equal(w, "place", w.latest(), w.place)
}

func recordPlace(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	w.record(result(j, at(0), job.Failed, job.FollowRetry))
	e := attempt(result(j, at(0), job.Succeeded, job.FollowDone), job.MainAction, 1)
	for _, p := range []job.Position{{}, {History: "h1"}, {History: "h1", Sequence: 2}, {History: "h2", Sequence: 1}} {
		w.unmoved(j, w.lease, p, e, job.ErrBehind)
	}
	w.record(e)
}

// A store that came back older does not know runs that it had planned.
func recordUnknown(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	known := result(j, at(0), job.Failed, job.FollowRetry)
	w.unmoved(j, w.lease, w.place, known, job.ErrBehind) // nothing was planned yet
	w.plan(j, at(0), at(time.Hour))

	after := w.place
	after.Sequence += 2
	unknown := result(j, at(time.Hour), job.Succeeded, job.FollowDone)
	was := w.run(known.Tag)
	w.fails(w.Record(t.Context(), w.lease, w.place, after, []job.Effect{known, unknown}), job.ErrBehind)
	equal(t, "the known run", w.run(known.Tag), was)
	equal(t, "counters", w.read(j).Status.Counters, job.Counters{})

	older := result(j, at(-time.Hour), job.Succeeded, job.FollowDone) // ended long ago
	manual := result(j, at(time.Hour), job.Succeeded, job.FollowDone)
	manual.Manual = true // outside the schedule
	w.record(known, older, manual)
	equal(t, "counters", w.read(j).Status.Counters, job.Counters{Executions: 1, Failures: 1})
}

func recordLost(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	old := w.stolen()
	w.unmoved(j, old, w.place, result(j, at(0), job.Succeeded, job.FollowDone), job.ErrLeaseLost)
	w.record(result(j, at(0), job.Succeeded, job.FollowDone))
}
