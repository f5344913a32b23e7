package storetest

import (
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func restoreTests() []test {
	return []test{
		{"collection into an empty shard", restoreCollection},
		{"collection, the newest revision", restoreCollectionRevision},
		{"collection of the name of another", restoreNamesake},
		{"collection that was deleted", restoreDeletedCollection},
		{"free collection", restoreFree},
		{"job into an empty shard", restoreJob},
		{"job, the newest revision", restoreJobRevision},
		{"job with a run under way", restoreJobActive},
		{"job of a new series", restoreJobSeries},
		{"job that was deleted", restoreDeletedJob},
		{"nothing when the lease was lost", restoreLost},
		{"reset", reset},
		{"reset of a shard at work", resetReady},
	}
}

// empty closes the collection's shard and takes away what it holds.
func (w *world) empty() {
	w.Helper()
	w.must(w.SetProgress(w.Context(), w.lease, job.Progress{History: w.place}))
	w.must(w.Reset(w.Context(), w.lease))
}

func (w *world) reopen() {
	w.Helper()
	w.must(w.SetProgress(w.Context(), w.lease, job.Progress{Ready: true, History: w.place}))
}

func restoreCollection(t *testing.T, s Store) {
	w := newWorld(t, s)
	w.empty()
	c := rewrite(w.col, func(c *job.Collection) { c.Revision = 5 })
	w.must(w.RestoreCollection(t.Context(), w.lease, c))
	w.reopen()
	got, err := w.Collection(t.Context(), c.CollectionRef)
	w.must(err)
	equal(t, "collection", got, c)
	equal(t, "list", w.collections("sub", "", "", 9), []string{"Group/main"})
	w.must(w.PutCollection(t.Context(), rewrite(c, sameCollection), got, true))
}

func restoreCollectionRevision(t *testing.T, s Store) {
	w := newWorld(t, s)
	w.create("one", at(0)) // a write, to be remembered
	restore := func(rev int64, location string) {
		t.Helper()
		w.must(w.RestoreCollection(t.Context(), w.lease, rewrite(w.col, func(c *job.Collection) { c.Revision, c.Location = rev, location })))
	}
	location := func(want string) {
		t.Helper()
		got, err := w.Collection(t.Context(), w.col.CollectionRef)
		w.must(err)
		equal(t, "location", got.Location, want)
		equal(t, "writes", got.Writes, 1)
	}
	restore(3, "three")
	location("three")
	restore(3, "another three")
	location("three")
	restore(2, "two")
	location("three")
	restore(10, "ten") // larger as a number, not as text
	location("ten")
}

// Of two collections of one name the younger is the real one. The jobs of the
// other are orphans.
func restoreNamesake(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	other := newCollection("MAIN", job.Standard)
	other.UID, other.CreatedAt = "c-other", w.col.CreatedAt.Add(-time.Second)
	w.must(w.RestoreCollection(t.Context(), w.lease, other))
	w.read(j) // it still is there

	other.CreatedAt = w.col.CreatedAt.Add(time.Second)
	w.must(w.RestoreCollection(t.Context(), w.lease, other))
	got, err := w.Collection(t.Context(), w.col.CollectionRef)
	w.must(err)
	equal(t, "collection", got, other)
	orphans, err := w.Orphans(t.Context(), w.shard, 9)
	w.must(err)
	equal(t, "orphans", orphans, []*job.Job{j})
}

// A deletion may be in the store, and not yet in the journal.
func restoreDeletedCollection(t *testing.T, s Store) {
	w := newWorld(t, s)
	w.create("one", at(0))
	w.must(w.DeleteCollection(t.Context(), w.col))
	w.must(w.RestoreCollection(t.Context(), w.lease, rewrite(w.col, sameCollection)))
	_, err := w.Collection(t.Context(), w.col.CollectionRef)
	w.fails(err, job.ErrNotFound)
}

func restoreFree(t *testing.T, s Store) {
	w := newWorld(t, s)
	w.must(w.RestoreCollection(t.Context(), w.leases[newCollection("first", "").Shard(s.Shards())], newCollection("first", job.Free)))
	w.conflicts(w.PutCollection(t.Context(), newCollection("second", job.Free), nil, false))

	// What the journal holds is restored, be it against the rule.
	third := newCollection("third", job.Free)
	w.must(w.RestoreCollection(t.Context(), w.leases[third.Shard(s.Shards())], third))
	_, err := w.Collection(t.Context(), third.CollectionRef)
	w.must(err)
}

func restoreJob(t *testing.T, s Store) {
	w := newWorld(t, s)
	w.empty()
	w.must(w.RestoreCollection(t.Context(), w.lease, w.col))
	j, off := w.newJob("One"), w.newJob("off")
	off.State = job.Disabled
	w.must(w.RestoreJob(t.Context(), w.lease, j))
	w.must(w.RestoreJob(t.Context(), w.lease, off))
	w.reopen()
	j.Status.State, off.Status.State = job.Enabled, job.Disabled
	equal(t, "job", w.read(j), j)
	equal(t, "disabled job", w.read(off), off)
	equal(t, "jobs due", w.agenda(whole()).Jobs, []job.Due{})
	w.settle(j, at(0))
	equal(t, "jobs due", w.agenda(whole()).Jobs, []job.Due{{ID: j.UID, At: at(0)}})
	list, _ := w.jobs(job.Query{Top: 9})
	equal(t, "jobs", list, []string{"off", "One"})
}

func restoreJobRevision(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	restore := func(rev int64, m string) {
		t.Helper()
		w.must(w.RestoreJob(t.Context(), w.lease, edit(j, func(j *job.Job) { j.Revision = rev; method(m)(j) })))
	}
	is := func(rev int64, m string) {
		t.Helper()
		got := w.read(j)
		equal(t, "revision", got.Revision, rev)
		equal(t, "method", got.Action.Request.Method, m)
		equal(t, "next", got.Status.NextExecutionAt, at(0)) // is for Settle to set
	}
	restore(3, "three")
	is(3, "three")
	restore(3, "another three")
	is(3, "three")
	restore(2, "two")
	is(3, "three")
	restore(10, "ten")
	is(10, "ten")
}

func restoreJobActive(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	w.must(w.RestoreJob(t.Context(), w.lease, edit(j, method("PUT"))))
	got := w.read(j)
	equal(t, "method", got.Action.Request.Method, "PUT")
	equal(t, "status", got.Status, job.Status{State: job.Enabled, NextExecutionAt: at(time.Hour), LastAt: at(0), Planned: 1})
	equal(t, "method of the run", w.run(job.Tag(j.UID, at(0))).Job.Action.Request.Method, "POST")
	equal(t, "occurrences since the update", w.plan(got, at(time.Hour), at(2*time.Hour)).Repeat, 1)
	w.record(result(j, at(0), job.Succeeded, job.FollowDone))
	equal(t, "method of the next run", w.run(job.Tag(j.UID, at(time.Hour))).Job.Action.Request.Method, "PUT")
}

func restoreJobSeries(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	w.record(result(j, at(0), job.Failed, job.FollowFault))
	w.must(w.RestoreJob(t.Context(), w.lease, edit(j, func(j *job.Job) { j.Series = 2 })))
	got := w.read(j)
	equal(t, "planned", got.Status.Planned, 0)
	equal(t, "newest nominal time", got.Status.LastAt, at(0))
	equal(t, "counters", got.Status.Counters, job.Counters{Executions: 1, Failures: 1, Faults: 1})
	w.settle(got, time.Time{})
	equal(t, "state", w.read(j).Status.State, job.Completed) // not how the old series ended
}

// A deletion may be in the store, and not yet in the journal.
func restoreDeletedJob(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.must(w.DeleteJob(t.Context(), w.col, j))
	w.must(w.RestoreJob(t.Context(), w.lease, j))
	_, _, err := w.Job(t.Context(), j.Ref)
	w.fails(err, job.ErrNotFound)
	w.create("one", at(0)) // the same uid, in the test only
	w.read(j)
}

func restoreLost(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	old := w.stolen()
	w.fails(w.RestoreCollection(t.Context(), old, rewrite(w.col, sameCollection)), job.ErrLeaseLost)
	w.fails(w.RestoreJob(t.Context(), old, edit(j, same)), job.ErrLeaseLost)
	w.fails(w.RestoreProgress(t.Context(), old, job.Position{}, j.UID, &job.Checkpoint{State: job.Completed, Planned: job.Planned{Series: 1}}), job.ErrLeaseLost)
	a := result(j, at(0), "", "").Attempt
	w.fails(w.Adopt(t.Context(), old, []job.Adoption{{Attempt: &a, Make: true, ActAt: at(0)}}), job.ErrLeaseLost)
	equal(t, "job", w.read(j), j)
	equal(t, "runs", w.agenda(whole()).Runs, []job.Due{})
	got, err := w.Collection(t.Context(), w.col.CollectionRef)
	w.must(err)
	equal(t, "revision", got.Revision, 1)
}

// What an interrupted rebuild left would be counted twice by the next.
func reset(t *testing.T, s Store) {
	w := newWorld(t, s)
	j, active := w.create("one", at(0)), w.create("active", at(0))
	w.plan(j, at(0), at(time.Hour))
	w.record(result(j, at(0), job.Failed, job.FollowFault))
	w.plan(active, at(0), at(time.Hour))
	final := w.newJob("final")
	final.Status.State = job.Completed
	w.put(final, time.Time{})
	left := w.collection("left", job.Standard)
	main := w.col
	w.col = left
	w.create("orphan", at(0))
	w.must(w.DeleteCollection(t.Context(), left))
	w.col = main

	w.empty()
	equal(t, "agenda", w.agenda(whole()), job.Agenda{Jobs: []job.Due{}, Runs: []job.Due{}})
	orphans, err := w.Orphans(t.Context(), left.Shard(s.Shards()), 9)
	w.must(err)
	if left.Shard(s.Shards()) == w.shard {
		equal(t, "orphans", len(orphans), 0)
	}
	expired, err := w.Expired(t.Context(), w.shard, s.Now().Add(time.Hour), 9)
	w.must(err)
	equal(t, "final jobs", len(expired), 0)
	w.reopen()
	_, err = w.Collection(t.Context(), w.col.CollectionRef)
	w.fails(err, job.ErrNotFound)

	w.must(w.RestoreCollection(t.Context(), w.lease, w.col))
	w.must(w.RestoreJob(t.Context(), w.lease, j))
	equal(t, "status", w.read(j).Status, job.Status{State: job.Enabled})
	list, _ := w.jobs(job.Query{Top: 9})
	equal(t, "jobs", list, []string{"one"})
	equal(t, "run", w.run(job.Tag(active.UID, at(0))), nil)
}

func resetReady(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.fails(w.Reset(t.Context(), w.lease), job.ErrChanged)
	w.must(w.SetProgress(t.Context(), w.lease, job.Progress{History: w.place}))
	old := w.stolen()
	w.fails(w.Reset(t.Context(), old), job.ErrLeaseLost)
	w.reopen()
	equal(t, "job", w.read(j), j)
}
