package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func agendaTests() []test {
	return []test{
		{"the longest due first", agendaOrder},
		{"runs beside jobs", agendaRuns},
	}
}

func agendaOrder(t *testing.T, s Store) {
	w := newWorld(t, s)
	a, err := w.Agenda(t.Context(), w.shard, at(0), 10)
	w.must(err)
	equal(t, "agenda of nothing", a, job.Agenda{Jobs: []job.Due{}, Runs: []job.Due{}})

	for i, n := range []string{"c", "a", "d", "b"} {
		w.create(n, at(time.Duration(i)*time.Millisecond))
	}
	due := []job.Due{{ID: "j-c", At: at(0)}, {ID: "j-a", At: at(1 * time.Millisecond)}, {ID: "j-d", At: at(2 * time.Millisecond)}}
	for _, c := range []struct {
		name  string
		now   time.Duration
		limit int
		jobs  []job.Due
		next  time.Time
	}{
		{"too early", -1 * time.Nanosecond, 10, []job.Due{}, at(0)},
		{"on the millisecond", 2 * time.Millisecond, 10, due, at(3 * time.Millisecond)},
		{"before the next", 3*time.Millisecond - 1, 10, due, at(3 * time.Millisecond)},
		{"limited", 2 * time.Millisecond, 2, due[:2], at(3 * time.Millisecond)},
		{"nothing later", time.Hour, 1, due[:1], time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := s.Agenda(t.Context(), w.shard, at(c.now), c.limit)
			w.on(t).must(err)
			equal(t, "agenda", a, job.Agenda{Jobs: c.jobs, Runs: []job.Due{}, NextAt: c.next})
		})
	}
}

func agendaRuns(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	tag := job.Tag(j.UID, at(0))
	equal(t, "agenda", w.agenda(at(0)), job.Agenda{Jobs: []job.Due{}, Runs: []job.Due{{ID: tag, At: at(0)}}, NextAt: at(time.Hour)})

	d := &job.Dispatch{Attempt: job.Attempt{Run: job.Run{Tag: tag, Phase: job.MainAction}}}
	w.must(w.Dispatched(t.Context(), w.lease, []*job.Dispatch{d}, []uint64{1}, at(30*time.Minute)))
	equal(t, "agenda", w.agenda(at(0)), job.Agenda{Jobs: []job.Due{}, Runs: []job.Due{}, NextAt: at(30 * time.Minute)})
}

func planTests() []test {
	return []test{
		{"run and next time", planRun},
		{"the last occurrence", planLast},
		{"only a next time", planNext},
		{"counters", planCounters},
		{"a job that changed is left out", planStale},
		{"once, though asked twice", planTwice},
		{"nothing when a collection changed", planChanged},
		{"nothing on top of what the store forgot", planBehind},
		{"nothing when the lease was lost", planLost},
		{"many at once", planMany},
	}
}

func planRun(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	step := w.step(j, at(time.Minute), at(time.Hour))
	step.Missed = 3
	taken, err := w.Plan(t.Context(), w.lease, []job.Step{step})
	w.must(err)
	equal(t, "taken", taken, []job.Taken{{OK: true, Repeat: 1, Planned: job.Planned{Series: 1, Count: 1, NextAt: at(time.Hour)}}})

	j = w.read(j)
	equal(t, "status", j.Status, job.Status{State: job.Enabled, NextExecutionAt: at(time.Hour), LastAt: at(time.Minute), Planned: 1})
	equal(t, "jobs", w.agenda(whole()).Jobs, []job.Due{{ID: j.UID, At: at(time.Hour)}})
	col, err := w.ShardCollections(t.Context(), []job.CollectionRef{w.col.CollectionRef})
	w.must(err)
	tag := job.Tag(j.UID, at(time.Minute))
	equal(t, "run", w.run(tag), &job.Waiting{
		Pending: job.Pending{DueAt: at(time.Minute), Run: job.Run{
			Tag: tag, UID: j.UID, Revision: 1, At: at(time.Minute), Repeat: 1, Phase: job.MainAction,
		}},
		Missed: 3, Job: j, Collection: col[0],
		Planned: job.Planned{Series: 1, Count: 1, NextAt: at(time.Hour)},
	})
	second := w.plan(j, at(time.Hour), at(2*time.Hour))
	equal(t, "number", second.Repeat, 2)
	equal(t, "count", second.Planned.Count, 2)
}

func planLast(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	taken := w.plan(j, at(0), time.Time{})
	equal(t, "next", taken.Planned.NextAt, time.Time{})
	equal(t, "jobs", w.agenda(whole()).Jobs, []job.Due{})
	equal(t, "next", w.read(j).Status.NextExecutionAt, time.Time{})
	equal(t, "state", w.read(j).Status.State, job.Enabled)
}

func planNext(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	taken := w.plan(j, time.Time{}, at(time.Second))
	equal(t, "taken", taken, job.Taken{OK: true, Planned: job.Planned{Series: 1, NextAt: at(time.Second)}})
	equal(t, "agenda", w.agenda(whole()), job.Agenda{Jobs: []job.Due{{ID: j.UID, At: at(time.Second)}}, Runs: []job.Due{}})
	equal(t, "status", w.read(j).Status, job.Status{State: job.Enabled, NextExecutionAt: at(time.Second)})
}

func planCounters(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	w.record(
		result(j, at(0), job.Failed, job.FollowError),
		attempt(result(j, at(0), job.Failed, job.FollowEnd), job.ErrorAction, 0),
	)
	got := w.plan(j, at(time.Hour), at(2*time.Hour))
	equal(t, "counters", got.Planned.Counters, job.Counters{Executions: 1, Failures: 2, Faults: 1})
	equal(t, "the job's", w.read(j).Status.Counters, got.Planned.Counters)
	equal(t, "the run's", w.run(job.Tag(j.UID, at(time.Hour))).Planned, got.Planned)
}

func planStale(t *testing.T, s Store) {
	w := newWorld(t, s)
	one, two, gone := w.create("one", at(0)), w.create("two", at(0)), w.create("gone", at(0))
	w.must(w.PutJob(t.Context(), w.write(one, same)))
	w.must(w.DeleteJob(t.Context(), w.col, gone))
	taken, err := w.Plan(t.Context(), w.lease, []job.Step{
		w.step(one, at(0), at(time.Hour)), w.step(two, at(0), at(time.Hour)), w.step(gone, at(0), at(time.Hour)),
	})
	w.must(err)
	equal(t, "taken", []bool{taken[0].OK, taken[1].OK, taken[2].OK}, []bool{false, true, false})
	equal(t, "number", taken[1].Repeat, 1)

	a := w.agenda(whole())
	equal(t, "jobs", a.Jobs, []job.Due{{ID: one.UID, At: at(0)}, {ID: two.UID, At: at(time.Hour)}})
	equal(t, "runs", a.Runs, []job.Due{{ID: job.Tag(two.UID, at(0)), At: at(0)}})
	equal(t, "planned of the stale", w.read(one).Status.Planned, 0)
}

// An answer may be lost on its way and the client of Redis ask again: the same
// occurrence is not counted twice, nor one before it.
func planTwice(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(time.Minute), at(time.Hour))
	was := w.read(j)
	for _, occurs := range []time.Time{at(time.Minute), at(0)} {
		taken, err := w.Plan(t.Context(), w.lease, []job.Step{w.step(j, occurs, at(2*time.Hour))})
		w.must(err)
		equal(t, "taken", taken[0].OK, false)
	}
	equal(t, "job", w.read(j), was)
	equal(t, "agenda", w.agenda(whole()), job.Agenda{
		Jobs: []job.Due{{ID: j.UID, At: at(time.Hour)}},
		Runs: []job.Due{{ID: job.Tag(j.UID, at(time.Minute)), At: at(time.Minute)}},
	})
}

// A store that came back older has forgotten occurrences, and their count: what
// comes after them is not planned on top.
func planBehind(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(time.Minute), at(2*time.Minute))
	ahead := w.read(j)
	ahead.Status.LastAt, ahead.Status.Planned = at(2*time.Minute), 2
	taken, err := w.Plan(t.Context(), w.lease, []job.Step{w.step(ahead, at(3*time.Minute), at(time.Hour))})
	w.must(err)
	equal(t, "taken", taken[0].OK, false)
	equal(t, "count", w.read(j).Status.Planned, 1)
}

func planChanged(t *testing.T, s Store) {
	w := newWorld(t, s)
	one := w.create("one", at(0))
	main := w.col
	sister := "sister"
	for newCollection(sister, "").Shard(s.Shards()) != w.shard {
		sister += "+"
	}
	other := w.collection(sister, job.Standard)
	w.col = other
	two := w.create("two", at(0))

	steps := []job.Step{
		{Job: one, Collection: main, At: at(0), NextAt: at(time.Hour)},
		{Job: two, Collection: other, At: at(0), NextAt: at(time.Hour)},
	}
	nothing := func() {
		t.Helper()
		_, err := w.Plan(t.Context(), w.lease, steps)
		w.fails(err, job.ErrChanged)
		equal(t, "agenda", w.agenda(whole()), job.Agenda{
			Jobs: []job.Due{{ID: one.UID, At: at(0)}, {ID: two.UID, At: at(0)}}, Runs: []job.Due{},
		})
	}
	next := rewrite(other, sameCollection)
	w.must(w.PutCollection(t.Context(), next, other, false))
	nothing() // another revision
	w.must(w.DeleteCollection(t.Context(), next))
	nothing() // deleted
	anew := newCollection(sister, job.Standard)
	anew.UID = "c-anew"
	w.must(w.PutCollection(t.Context(), anew, nil, false))
	nothing() // another uid

	steps = steps[:1]
	taken, err := w.Plan(t.Context(), w.lease, steps)
	w.must(err)
	equal(t, "planned", taken[0].OK, true)
}

func planLost(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	_, err := w.Plan(t.Context(), w.stolen(), []job.Step{w.step(j, at(0), at(time.Hour))})
	w.fails(err, job.ErrLeaseLost)
	equal(t, "job", w.read(j), j)
	equal(t, "agenda", w.agenda(whole()), job.Agenda{Jobs: []job.Due{{ID: j.UID, At: at(0)}}, Runs: []job.Due{}})
	w.plan(j, at(0), at(time.Hour)) // by who holds it now
}

func planMany(t *testing.T, s Store) {
	w := newWorld(t, s)
	const many = 256
	steps := make([]job.Step, many)
	for i := range steps {
		steps[i] = w.step(w.create(name(i), at(0)), at(0), at(time.Duration(many-i)*time.Second))
	}
	taken, err := w.Plan(t.Context(), w.lease, steps)
	w.must(err)
	equal(t, "not taken", slices.IndexFunc(taken, func(k job.Taken) bool { return !k.OK || k.Repeat != 1 }), -1)
	equal(t, "taken", len(taken), many)
	a := w.agenda(whole())
	equal(t, "runs", len(a.Runs), many)
	for i, d := range a.Jobs {
		equal(t, "job due", d, job.Due{ID: "j-" + name(many-1-i), At: at(time.Duration(i+1) * time.Second)})
	}

	effects := make([]job.Effect, many)
	for i := range effects {
		effects[i] = result(steps[i].Job, at(0), job.Succeeded, job.FollowDone)
	}
	w.record(effects...)
	equal(t, "runs", len(w.agenda(whole()).Runs), 0)
	for _, st := range steps {
		equal(t, "executions", w.read(st.Job).Status.Executions, 1)
	}
}
