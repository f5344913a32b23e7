package storetest

import (
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func progressTests() []test {
	return []test{
		{"is raised", raiseProgress},
		{"is never lowered", lowerProgress},
		{"is for a place in the history", progressAtPlace},
		{"of another series", progressOfSeries},
		{"final", finalProgress},
		{"of no job", progressOfNone},
	}
}

// checkpoint is far ahead of any job of these tests.
func checkpoint() *job.Checkpoint {
	return &job.Checkpoint{
		State: job.Enabled, LastExecutionAt: at(11 * time.Hour), LastAt: at(10 * time.Hour), Repeat: 9,
		Planned: job.Planned{Series: 1, Count: 12, Counters: job.Counters{Executions: 13, Failures: 14, Faults: 100}},
	}
}

// reached is where a job is after checkpoint.
func reached() job.Status {
	return job.Status{
		State: job.Enabled, LastExecutionAt: at(11 * time.Hour), NextExecutionAt: at(0), LastAt: at(10 * time.Hour), Planned: 12,
		Counters: job.Counters{Executions: 13, Failures: 14, Faults: 100},
	}
}

func raiseProgress(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.must(w.RestoreProgress(t.Context(), w.lease, job.Position{}, j.UID, checkpoint()))
	equal(t, "status", w.read(j).Status, reached())
	taken := w.plan(w.read(j), at(12*time.Hour), at(13*time.Hour))
	equal(t, "number of the next", taken.Repeat, 10)
	equal(t, "count of the next", taken.Planned.Count, 13)
}

func lowerProgress(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.must(w.RestoreProgress(t.Context(), w.lease, job.Position{}, j.UID, checkpoint()))
	for _, c := range []struct {
		name   string
		change func(*job.Checkpoint)
		want   func(*job.Status)
	}{
		{"nothing known", func(c *job.Checkpoint) { *c = job.Checkpoint{Planned: job.Planned{Series: 1}} }, func(*job.Status) {}},
		{"older", func(c *job.Checkpoint) {
			c.LastExecutionAt, c.LastAt, c.Repeat = at(time.Hour), at(time.Hour), 8
			c.Planned = job.Planned{Series: 1, Count: 9, Counters: job.Counters{Executions: 9, Failures: 9, Faults: 9}}
		}, func(*job.Status) {}},
		{"each for itself", func(c *job.Checkpoint) {
			c.LastAt, c.Planned.Count, c.Planned.Executions, c.Planned.Failures = at(0), 11, 20, 0
		}, func(s *job.Status) { s.Executions = 20 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, p, want := w.on(t), checkpoint(), reached()
			c.change(p)
			c.want(&want)
			w.must(w.RestoreProgress(t.Context(), w.lease, job.Position{}, j.UID, p))
			equal(t, "status", w.read(j).Status, want)
		})
	}
	equal(t, "number of the next", w.plan(w.read(j), at(12*time.Hour), time.Time{}).Repeat, 10)
}

// What a store that went back in time has yet to count is not counted already.
func progressAtPlace(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	here, there := w.place, w.place
	there.Sequence++
	was := w.read(j)
	w.fails(w.RestoreProgress(t.Context(), w.lease, there, j.UID, checkpoint()), job.ErrBehind)
	equal(t, "status", w.read(j), was)
	w.must(w.RestoreProgress(t.Context(), w.lease, here, j.UID, checkpoint()))
	equal(t, "status at the place", w.read(j).Status, reached())
}

func progressOfSeries(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.newJob("one")
	j.Series = 2
	j = w.put(j, at(0))
	p := checkpoint()
	p.State = job.Completed
	w.must(w.RestoreProgress(t.Context(), w.lease, job.Position{}, j.UID, p))
	want := reached()
	want.Planned = 0
	equal(t, "status", w.read(j).Status, want)
	equal(t, "number of the next", w.plan(w.read(j), at(12*time.Hour), time.Time{}).Repeat, 1)
}

func finalProgress(t *testing.T, s Store) {
	w := newWorld(t, s)
	for _, c := range []struct{ was, checkpoint, want job.State }{
		{job.Enabled, job.Completed, job.Completed},
		{job.Enabled, job.Faulted, job.Faulted},
		{job.Enabled, job.Disabled, job.Enabled}, // a definition says so, not a checkpoint
		{job.Disabled, job.Completed, job.Disabled},
	} {
		t.Run(string(c.was+" "+c.checkpoint), func(t *testing.T) {
			w := w.on(t)
			j := w.newJob(string(c.was + c.checkpoint))
			j.State = c.was
			j = w.put(j, at(0))
			p := checkpoint()
			p.State = c.checkpoint
			w.must(w.RestoreProgress(t.Context(), w.lease, job.Position{}, j.UID, p))

			want := reached()
			want.State = c.want
			if c.want.Final() {
				want.NextExecutionAt = time.Time{}
			}
			equal(t, "status", w.read(j).Status, want)
			equal(t, "due", dueAt(w.agenda(whole()).Jobs, j.UID), want.NextExecutionAt)
		})
	}
	list, err := w.Expired(t.Context(), w.shard, s.Now().Add(time.Hour), 9)
	w.must(err)
	equal(t, "final jobs", len(list), 2)
}

func progressOfNone(t *testing.T, s Store) {
	w := newWorld(t, s)
	p := checkpoint()
	p.State = job.Completed
	w.must(w.RestoreProgress(t.Context(), w.lease, job.Position{}, "absent", p))
	some, err := w.ShardJobs(t.Context(), w.shard, []string{"absent"})
	w.must(err)
	equal(t, "job", some, []*job.Job{nil})
}
