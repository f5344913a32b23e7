package storetest

import (
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func policyTests() []test {
	return []test{
		{"plans alone", planAlone},
		{"plans what waits", planWaiting},
		{"looks again", planLook},
		{"passes over", recordPass},
		{"passes over once, though recorded twice", recordPassTwice},
		{"the end of a run wakes what waits", recordWakes},
		{"a series does not end while something waits", settleWaiting},
		{"a change wakes what waits", putWaiting},
		{"a run that was lost waits no more", adoptWaiting},
		{"a run request is alone", requestAlone},
		{"the last run says how a series ended", recordLast},
	}
}

// serial returns an hourly job whose runs do not overlap, as stored.
func (w *world) serial(name string) *job.Job {
	w.Helper()
	j := w.newJob(name)
	j.Policy.Overlap = job.OverlapQueue
	return w.put(j, at(0))
}

// hours returns so many instants, one an hour.
func hours(first, last int) (list []time.Time) {
	for h := first; h <= last; h++ {
		list = append(list, at(time.Duration(h)*time.Hour))
	}
	return list
}

// pass returns the record that passes over occurrences.
func pass(j *job.Job, n int64, from, to time.Time, waiting ...time.Time) job.Effect {
	e := result(j, to, job.Skipped, job.FollowPass)
	e.Tag = job.RunTag(j.UID, "pass")
	e.Missed, e.From, e.Waiting = n, from, waiting
	return e
}

func planAlone(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.serial("one")
	step := w.step(j, at(0), at(time.Hour))
	step.Alone = true
	taken, err := w.Plan(t.Context(), w.lease, []job.Step{step})
	w.must(err)
	equal(t, "the first is taken", taken[0].OK, true)
	equal(t, "active", w.read(j).Status.Active, 1)

	was := w.read(j)
	step.Job, step.At, step.NextAt = was, at(time.Hour), at(2*time.Hour)
	taken, err = w.Plan(t.Context(), w.lease, []job.Step{step})
	w.must(err)
	equal(t, "the second is taken", taken[0].OK, false)
	equal(t, "job", w.read(j), was)
	equal(t, "run", w.run(job.Tag(j.UID, at(time.Hour))), nil)

	w.record(result(j, at(0), job.Succeeded, job.FollowDone))
	taken, err = w.Plan(t.Context(), w.lease, []job.Step{step})
	w.must(err)
	equal(t, "the second is taken after the first", taken[0].OK, true)
}

// wait has occurrences wait, with the next one at next.
func (w *world) wait(j *job.Job, next time.Time, waiting ...time.Time) {
	w.Helper()
	step := w.step(j, time.Time{}, next)
	step.Waiting = waiting
	taken, err := w.Plan(w.Context(), w.lease, []job.Step{step})
	w.must(err)
	equal(w, "taken", taken[0].OK, true)
	equal(w, "waiting", w.read(j).Status.Waiting, waiting)
}

func planWaiting(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.serial("one")
	w.record(pass(j, 4, at(0), at(9*time.Hour), hours(3, 5)...)) // newer ones were passed over
	step := w.step(w.read(j), at(3*time.Hour), at(10*time.Hour))
	step.Alone, step.Waiting = true, hours(4, 5)
	taken, err := w.Plan(t.Context(), w.lease, []job.Step{step})
	w.must(err)
	equal(t, "taken", taken[0].OK, true)
	equal(t, "number", taken[0].Planned.Count, 1)
	status := w.read(j).Status
	equal(t, "waiting", status.Waiting, hours(4, 5))
	equal(t, "newest", status.LastAt, at(9*time.Hour))
	equal(t, "run", w.run(job.Tag(j.UID, at(3*time.Hour))).At, at(3*time.Hour))

	// The client of Redis may ask again, and only the first has its turn.
	for _, occurs := range []time.Time{at(3 * time.Hour), at(5 * time.Hour)} {
		step.Job, step.At, step.Alone = w.read(j), occurs, false
		taken, err = w.Plan(t.Context(), w.lease, []job.Step{step})
		w.must(err)
		equal(t, "taken again", taken[0].OK, false)
	}
	equal(t, "runs", len(w.agenda(whole()).Runs), 1)
}

func planLook(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.serial("one")
	for _, c := range []struct{ next, look, due time.Time }{
		{at(time.Hour), at(time.Minute), at(time.Minute)},
		{at(time.Hour), at(2 * time.Hour), at(time.Hour)},
		{at(time.Hour), time.Time{}, at(time.Hour)},
		{time.Time{}, at(time.Minute), at(time.Minute)},
		{time.Time{}, time.Time{}, time.Time{}},
	} {
		step := w.step(j, time.Time{}, c.next)
		step.LookAt = c.look
		_, err := w.Plan(t.Context(), w.lease, []job.Step{step})
		w.must(err)
		equal(t, "due", dueAt(w.agenda(whole()).Jobs, j.UID), c.due)
		equal(t, "next", w.read(j).Status.NextExecutionAt, c.next)
	}
}

func recordPass(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.serial("one")
	w.record(pass(j, 3, at(0), at(2*time.Hour)))
	want := j.Status
	want.Passed, want.LastAt = 3, at(2*time.Hour)
	equal(t, "status", w.read(j).Status, want) // no execution, and due as before
	equal(t, "due", dueAt(w.agenda(whole()).Jobs, j.UID), at(0))

	w.record(pass(j, 0, at(3*time.Hour), at(3*time.Hour), hours(3, 6)...))
	want.LastAt, want.Waiting = at(6*time.Hour), hours(3, 6)
	equal(t, "status with some waiting", w.read(j).Status, want)

	old := pass(j, 4, at(3*time.Hour), at(6*time.Hour))
	old.Planned.Series = 0 // of another series
	w.record(old)
	want.Waiting = nil
	equal(t, "status after they were given up", w.read(j).Status, want)

	gone := w.serial("gone")
	w.must(w.DeleteJob(t.Context(), w.col, gone))
	w.record(pass(gone, 1, at(0), at(0)))
	some, err := w.ShardJobs(t.Context(), w.shard, []string{gone.UID})
	w.must(err)
	equal(t, "deleted job", some, []*job.Job{nil})
}

func recordPassTwice(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.serial("one")
	p := pass(j, 2, at(0), at(time.Hour), hours(2, 4)...)
	w.record(p)
	w.plan(j, at(2*time.Hour), at(5*time.Hour)) // nothing waits behind it now
	w.record(p)
	equal(t, "waiting", w.read(j).Status.Waiting, nil)
	w.record(pass(j, 1, at(7*time.Hour), at(7*time.Hour), hours(2, 6)...))
	equal(t, "only what is new waits", w.read(j).Status.Waiting, hours(5, 6))
}

func recordWakes(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.serial("one")
	w.plan(j, at(0), at(time.Hour))
	r := request(j, "1", at(time.Minute))
	step := w.step(w.read(j), at(time.Hour), time.Time{}) // two are active, whatever the policy says
	step.Waiting = hours(2, 3)
	_, err := w.Plan(t.Context(), w.lease, []job.Step{step})
	w.must(err)
	w.conflicts(w.RunJob(t.Context(), w.col, w.read(j), r))
	w.record(result(j, at(0), job.Succeeded, job.FollowDone))
	equal(t, "due while one is active", dueAt(w.agenda(whole()).Jobs, j.UID), time.Time{})
	w.record(result(j, at(time.Hour), job.Failed, job.FollowRetry))
	equal(t, "due while it is retried", dueAt(w.agenda(whole()).Jobs, j.UID), time.Time{})
	w.record(attempt(result(j, at(time.Hour), job.Succeeded, job.FollowDone), job.MainAction, 1))
	equal(t, "due afterwards", dueAt(w.agenda(whole()).Jobs, j.UID).IsZero(), false)
	equal(t, "state", w.read(j).Status.State, job.Enabled)
}

func settleWaiting(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.serial("one")
	w.wait(j, time.Time{}, hours(0, 0)...)
	w.settle(w.read(j), time.Time{})
	equal(t, "state", w.read(j).Status.State, job.Enabled)
	equal(t, "due", dueAt(w.agenda(whole()).Jobs, j.UID).IsZero(), false)
	step := w.step(j, at(0), time.Time{})
	_, err := w.Plan(t.Context(), w.lease, []job.Step{step})
	w.must(err)
	w.record(result(j, at(0), job.Succeeded, job.FollowDone))
	equal(t, "state in the end", w.read(j).Status.State, job.Completed)
}

func putWaiting(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.serial("one")
	w.wait(j, at(10000*time.Hour), hours(0, 2)...)
	off := edit(w.read(j), func(j *job.Job) { j.State = job.Disabled })
	w.must(w.PutJob(t.Context(), job.Write{Collection: w.col, Was: w.read(j), Job: off, Reschedule: true}))
	equal(t, "next", w.read(j).Status.NextExecutionAt, time.Time{})
	equal(t, "due", dueAt(w.agenda(whole()).Jobs, j.UID).IsZero(), false)
	equal(t, "waiting", w.read(j).Status.Waiting, hours(0, 2))

	w.record(pass(j, 1, at(3*time.Hour), at(3*time.Hour), hours(0, 2)...))
	anew := edit(w.read(j), func(j *job.Job) { j.Series, j.State = j.Revision, job.Enabled })
	w.must(w.PutJob(t.Context(), job.Write{Collection: w.col, Was: w.read(j), Job: anew, Reschedule: true, NextAt: at(9 * time.Hour)}))
	equal(t, "passed over of the new series", w.read(j).Status.Passed, 0)
}

func adoptWaiting(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.serial("one")
	w.record(pass(j, 1, at(0), at(0), hours(1, 4)...))
	a := result(j, at(2*time.Hour), "", "").Attempt
	manual := a
	manual.Run = request(j, "1", at(3*time.Hour)).Run
	w.adopt(job.Adoption{Attempt: &a, Make: true, ActAt: at(0)}, job.Adoption{Attempt: &manual, Make: true, ActAt: at(0)})
	equal(t, "waiting", w.read(j).Status.Waiting, append(hours(1, 1), hours(3, 4)...))
	equal(t, "newest", w.read(j).Status.LastAt, at(4*time.Hour))

	p := checkpoint()
	p.Passed = 40
	w.must(w.RestoreProgress(t.Context(), w.lease, job.Position{}, j.UID, p))
	equal(t, "passed over", w.read(j).Status.Passed, 40)
}

func requestAlone(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.serial("one")
	first, second := request(j, "1", at(0)), request(j, "2", at(time.Minute))
	w.must(w.RunJob(t.Context(), w.col, j, first))
	w.must(w.RunJob(t.Context(), w.col, j, first))
	w.conflicts(w.RunJob(t.Context(), w.col, j, second))
	equal(t, "runs", len(w.agenda(whole()).Runs), 1)
	e := result(j, at(0), job.Succeeded, job.FollowDone)
	e.Run = first.Run
	w.record(e)
	w.must(w.RunJob(t.Context(), w.col, j, second))
}

// What is passed over after the last run does not change what became of it.
func recordLast(t *testing.T, s Store) {
	w := newWorld(t, s)
	for _, ends := range []job.Follow{job.FollowDone, job.FollowFault} {
		j := w.serial(string(ends))
		w.plan(j, at(0), at(time.Hour))
		w.record(pass(j, 3, at(time.Hour), at(3*time.Hour)))
		w.settle(w.read(j), time.Time{})
		equal(t, "state while it is active", w.read(j).Status.State, job.Enabled)
		w.record(result(j, at(0), job.Failed, ends))
		want := map[job.Follow]job.State{job.FollowDone: job.Completed, job.FollowFault: job.Faulted}[ends]
		equal(t, "state", w.read(j).Status.State, want)
	}
}
