package storetest

import (
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func settleTests() []test {
	return []test{
		{"next times", settleNext},
		{"jobs that changed are left alone", settleStale},
		{"a job without a next time becomes final", settleFinal},
		{"not while a run is active", settleActive},
		{"a disabled job does not become final", settleDisabled},
		{"a final job is due no more", settleOver},
		{"nothing when the lease was lost", settleLost},
	}
}

func (w *world) settle(j *job.Job, next time.Time) {
	w.Helper()
	w.must(w.Settle(w.Context(), w.lease, []job.Step{w.step(j, time.Time{}, next)}))
}

func settleNext(t *testing.T, s Store) {
	w := newWorld(t, s)
	w.must(w.Settle(t.Context(), w.lease, nil))
	one, two := w.create("one", at(0)), w.create("two", time.Time{})
	w.plan(two, at(0), at(time.Minute))
	two = w.read(two)
	w.must(w.Settle(t.Context(), w.lease, []job.Step{
		w.step(one, time.Time{}, at(time.Hour)), w.step(two, time.Time{}, at(2*time.Hour)),
	}))
	equal(t, "next of one", w.read(one).Status.NextExecutionAt, at(time.Hour))
	equal(t, "next of two", w.read(two).Status.NextExecutionAt, at(2*time.Hour))
	equal(t, "jobs", w.agenda(whole()).Jobs, []job.Due{{ID: one.UID, At: at(time.Hour)}, {ID: two.UID, At: at(2 * time.Hour)}})
}

func settleStale(t *testing.T, s Store) {
	w := newWorld(t, s)
	changed, planned, gone := w.create("changed", at(0)), w.create("planned", at(0)), w.create("gone", at(0))
	w.must(w.PutJob(t.Context(), w.write(changed, same)))
	w.plan(planned, at(0), at(time.Hour))
	w.must(w.DeleteJob(t.Context(), w.col, gone))
	w.must(w.Settle(t.Context(), w.lease, []job.Step{
		w.step(changed, time.Time{}, at(time.Minute)), w.step(planned, time.Time{}, at(time.Minute)), w.step(gone, time.Time{}, at(time.Minute)),
	}))
	equal(t, "jobs", w.agenda(whole()).Jobs, []job.Due{{ID: changed.UID, At: at(0)}, {ID: planned.UID, At: at(time.Hour)}})
	w.settle(changed, time.Time{})
	equal(t, "state", w.read(changed).Status.State, job.Enabled)
	some, err := w.ShardJobs(t.Context(), w.shard, []string{gone.UID})
	w.must(err)
	equal(t, "job that is gone", some, []*job.Job{nil})
}

func settleFinal(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.settle(j, time.Time{})
	got := w.read(j)
	equal(t, "status", got.Status, job.Status{State: job.Completed})
	equal(t, "jobs", w.agenda(whole()).Jobs, []job.Due{})
	list, err := w.Expired(t.Context(), w.shard, s.Now().Add(time.Hour), 9)
	w.must(err)
	equal(t, "final jobs", list, []*job.Job{got})

	// It becomes what its last occurrence was.
	bad := w.create("bad", at(0))
	w.plan(bad, at(0), at(time.Hour))
	w.record(result(bad, at(0), job.Failed, job.FollowFault))
	w.settle(w.read(bad), time.Time{})
	equal(t, "state", w.read(bad).Status.State, job.Faulted)
}

func settleActive(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	w.settle(w.read(j), time.Time{})
	equal(t, "state while active", w.read(j).Status.State, job.Enabled)
	equal(t, "jobs", w.agenda(whole()).Jobs, []job.Due{})
	w.record(result(j, at(0), job.Failed, job.FollowFault))
	equal(t, "state", w.read(j).Status.State, job.Faulted)
}

func settleDisabled(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.newJob("one")
	j.State = job.Disabled
	j = w.put(j, at(0))
	w.settle(j, time.Time{})
	equal(t, "status", w.read(j).Status, job.Status{State: job.Disabled})
	equal(t, "jobs", w.agenda(whole()).Jobs, []job.Due{})
}

// A final job that is due for whatever reason would be looked at for ever.
func settleOver(t *testing.T, s Store) {
	w := newWorld(t, s)
	for _, state := range []job.State{job.Completed, job.Faulted} {
		for _, next := range []time.Time{{}, at(time.Hour)} {
			j := w.newJob(string(state) + next.String())
			j.Status.State = state
			j = w.put(j, at(0))
			w.settle(j, next)
			equal(t, "jobs", w.agenda(whole()).Jobs, []job.Due{})
			equal(t, "status", w.read(j).Status, job.Status{State: state})
		}
	}
}

func settleLost(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.fails(w.Settle(t.Context(), w.stolen(), []job.Step{w.step(j, time.Time{}, time.Time{})}), job.ErrLeaseLost)
	equal(t, "job", w.read(j), j)
}
