package storetest

import (
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func updateTests() []test {
	return []test{
		{"of what was read", updateJob},
		{"of what is gone", updateGone},
		{"without a new time", updateQuietly},
		{"with a new time", reschedule},
		{"with a new time, planned meanwhile", rescheduleLate},
		{"new series", newSeries},
		{"final jobs refuse", updateFinal},
	}
}

// write is the update of j by change.
func (w *world) write(j *job.Job, change func(*job.Job)) job.Write {
	return job.Write{Collection: w.col, Was: j, Job: edit(j, change), MaxJobs: 1}
}

func same(*job.Job) {}

func updateJob(t *testing.T, s Store) {
	w := newWorld(t, s)
	one := w.create("one", at(0))
	two := w.write(one, func(j *job.Job) { j.State = job.Disabled; j.Action.Request.Method = "PUT" })
	w.must(w.PutJob(w.Context(), two))
	want := *two.Job
	want.Status.State = job.Disabled
	equal(t, "job", w.read(one), &want)

	w.fails(w.PutJob(w.Context(), w.write(one, same)), job.ErrChanged)
	equal(t, "job after a stale write", w.read(one), &want)
}

func updateGone(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.must(w.DeleteJob(w.Context(), w.col, j))
	w.fails(w.PutJob(w.Context(), w.write(j, same)), job.ErrChanged)
	_, _, err := w.Job(w.Context(), j.Ref)
	w.fails(err, job.ErrNotFound)
	equal(t, "agenda", w.agenda(whole()).Jobs, []job.Due{})
}

// Tags, say, can be changed without disturbing the planner, whatever it did
// meanwhile.
func updateQuietly(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	quiet := w.write(j, same)
	quiet.NextAt = at(time.Minute) // must not be looked at
	w.must(w.PutJob(w.Context(), quiet))

	got := w.read(j)
	equal(t, "status", got.Status, job.Status{
		State: job.Enabled, NextExecutionAt: at(time.Hour), LastAt: at(0), Planned: 1,
	})
	equal(t, "due", dueAt(w.agenda(whole()).Jobs, j.UID), at(time.Hour))
	equal(t, "revision of the run", w.run(job.Tag(j.UID, at(0))).Revision, 1)
	equal(t, "occurrences since the update", w.plan(got, at(time.Hour), at(2*time.Hour)).Repeat, 1)
}

func reschedule(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	sooner := w.write(j, same)
	sooner.Reschedule, sooner.NextAt = true, at(-time.Minute)
	w.must(w.PutJob(w.Context(), sooner))
	j = w.read(j)
	equal(t, "next", j.Status.NextExecutionAt, at(-time.Minute))
	equal(t, "agenda", w.agenda(whole()).Jobs, []job.Due{{ID: j.UID, At: at(-time.Minute)}})

	never := w.write(j, func(j *job.Job) { j.State = job.Disabled })
	never.Reschedule = true
	w.must(w.PutJob(w.Context(), never))
	j = w.read(j)
	equal(t, "next of none", j.Status.NextExecutionAt, time.Time{})
	equal(t, "agenda", w.agenda(whole()).Jobs, []job.Due{})
}

func rescheduleLate(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	late := w.write(j, same)
	late.Reschedule, late.NextAt = true, at(0)
	w.fails(w.PutJob(w.Context(), late), job.ErrChanged)
	equal(t, "due", dueAt(w.agenda(whole()).Jobs, j.UID), at(time.Hour))

	again := w.write(w.read(j), same)
	again.Reschedule, again.NextAt = true, at(2*time.Hour)
	w.must(w.PutJob(w.Context(), again))
	equal(t, "due", dueAt(w.agenda(whole()).Jobs, j.UID), at(2*time.Hour))
}

func newSeries(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	anew := w.write(w.read(j), func(j *job.Job) { j.Series, j.SeriesAt = j.Revision, at(time.Minute) })
	anew.Reschedule, anew.NextAt = true, at(2*time.Hour)
	w.must(w.PutJob(w.Context(), anew))
	j = w.read(j)
	equal(t, "status", j.Status, job.Status{State: job.Enabled, NextExecutionAt: at(2 * time.Hour), LastAt: at(0)})
	taken := w.plan(j, at(2*time.Hour), at(3*time.Hour))
	equal(t, "count", taken.Planned.Count, 1)
	equal(t, "series", taken.Planned.Series, 2)
}

func updateFinal(t *testing.T, s Store) {
	for _, state := range []job.State{job.Completed, job.Faulted} {
		t.Run(string(state), func(t *testing.T) {
			w := newWorld(t, s)
			j := w.newJob(string(state))
			j.Status.State = state
			j = w.put(j, time.Time{})
			w.conflicts(w.PutJob(t.Context(), w.write(j, func(j *job.Job) { j.Status.State = "" })))
			w.conflicts(w.RunJob(t.Context(), w.col, j, request(j, "1", at(0))))
			equal(t, "job", w.read(j), j)
			equal(t, "runs", w.agenda(whole()).Runs, []job.Due{})
			w.must(w.DeleteCollection(t.Context(), w.col))
		})
	}
}
