package storetest

import (
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func jobTests() []test {
	return []test{
		{"create and read", createJob},
		{"case does not matter", foldJob},
		{"a longer name is another", longerName},
		{"create only once", createJobTwice},
		{"collection must be as read", jobOfChangedCollection},
		{"quota", quota},
		{"quota under a rush", quotaRush},
		{"created final", createFinal},
		{"delete", deleteJob},
		{"a new one of the name is another", recreateJob},
	}
}

func createJob(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.newJob("One")
	w.must(w.PutJob(w.Context(), job.Write{Collection: w.col, Job: j, MaxJobs: 1, Reschedule: true, NextAt: at(time.Minute)}))

	c, got, err := w.Job(w.Context(), j.Ref)
	w.must(err)
	want := *j
	want.Status = job.Status{State: job.Enabled, NextExecutionAt: at(time.Minute)}
	equal(t, "job", got, &want)
	equal(t, "its collection", c.UID, w.col.UID)
	equal(t, "its collection's writes", c.Writes, 1)
	equal(t, "agenda", w.agenda(at(time.Minute)).Jobs, []job.Due{{ID: j.UID, At: at(time.Minute)}})

	some, err := w.ShardJobs(w.Context(), w.shard, []string{"absent", j.UID})
	w.must(err)
	equal(t, "jobs by uid", some, []*job.Job{nil, &want})

	c, got, err = w.Job(w.Context(), job.Ref{CollectionRef: w.col.CollectionRef, Job: "absent"})
	w.fails(err, job.ErrNotFound)
	equal(t, "job that is not", got, nil)
	equal(t, "the collection of a job that is not", c.UID, w.col.UID)

	idle := w.create("idle", time.Time{})
	equal(t, "next of a job that has none", idle.Status.NextExecutionAt, time.Time{})
	equal(t, "agenda", len(w.agenda(whole()).Jobs), 1)
}

func foldJob(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("MixedCase", at(0))
	ref := j.Ref
	ref.Subscription, ref.Job = "SUB", "mixedCASE"
	_, got, err := w.Job(w.Context(), ref)
	w.must(err)
	equal(t, "job", got, j)
}

func longerName(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("ab", at(0))
	_, _, err := w.Job(w.Context(), job.Ref{CollectionRef: w.col.CollectionRef, Job: "a"})
	w.fails(err, job.ErrNotFound)
	short := w.create("a", at(0))
	equal(t, "the shorter", w.read(short).UID, short.UID)
	equal(t, "the longer", w.read(j).UID, j.UID)
}

func createJobTwice(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	other := w.newJob("ONE")
	w.fails(w.PutJob(w.Context(), job.Write{Collection: w.col, Job: other, MaxJobs: 9, Reschedule: true, NextAt: at(time.Hour)}), job.ErrChanged)
	equal(t, "job", w.read(j), j)
	equal(t, "agenda", w.agenda(whole()).Jobs, []job.Due{{ID: j.UID, At: at(0)}})
}

func jobOfChangedCollection(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	for _, c := range []struct {
		name   string
		change func(*job.Collection)
	}{
		{"another revision", func(c *job.Collection) { c.Revision++ }},
		{"another uid", func(c *job.Collection) { c.UID = "c-other" }},
		{"another name", func(c *job.Collection) { c.Collection = "other" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := w.on(t)
			col := *w.col
			c.change(&col)
			w.fails(w.PutJob(t.Context(), job.Write{Collection: &col, Job: w.newJob("two"), MaxJobs: 9}), job.ErrChanged)
			w.fails(w.PutJob(t.Context(), job.Write{Collection: &col, Was: j, Job: edit(j, func(*job.Job) {}), MaxJobs: 9}), job.ErrChanged)
			w.fails(w.RunJob(t.Context(), &col, j, request(j, "1", at(0))), job.ErrChanged)
		})
	}
	equal(t, "job", w.read(j), j)
	equal(t, "runs", w.agenda(whole()).Runs, []job.Due{})
}

func quota(t *testing.T, s Store) {
	w := newWorld(t, s)
	create := func(name string, most int) error {
		return w.PutJob(w.Context(), job.Write{Collection: w.col, Job: w.newJob(name), MaxJobs: most})
	}
	w.must(create("one", 2))
	w.must(create("two", 2))
	w.conflicts(create("three", 2))
	w.conflicts(create("three", 1)) // lowered meanwhile

	j := w.read(w.newJob("two")) // what is there may be changed
	w.must(w.PutJob(w.Context(), job.Write{Collection: w.col, Was: j, Job: edit(j, func(*job.Job) {}), MaxJobs: 1}))
	w.must(w.DeleteJob(w.Context(), w.col, w.read(j)))
	w.must(create("three", 2))
}

func quotaRush(t *testing.T, s Store) {
	w := newWorld(t, s)
	const most = 10
	made := 0
	for _, err := range rush(100, func(i int) error {
		return w.PutJob(w.Context(), job.Write{Collection: w.col, Job: w.newJob(name(i)), MaxJobs: most, Reschedule: true, NextAt: at(0)})
	}) {
		if err == nil {
			made++
		} else {
			w.conflicts(err)
		}
	}
	equal(t, "jobs made", made, most)
	c, err := w.Collection(w.Context(), w.col.CollectionRef)
	w.must(err)
	equal(t, "jobs there", c.Jobs, most)
	equal(t, "writes", c.Writes, most)
	equal(t, "jobs due", len(w.agenda(whole()).Jobs), most)
}

// A job that has no occurrence at all may be made completed.
func createFinal(t *testing.T, s Store) {
	w := newWorld(t, s)
	for _, state := range []job.State{job.Completed, job.Faulted} {
		j := w.newJob(string(state))
		j.Status.State = state
		j = w.put(j, time.Time{})
		equal(t, "state", j.Status.State, state)
		equal(t, "state asked for", j.State, job.Enabled)
	}
	list, err := w.Expired(w.Context(), w.shard, s.Now().Add(time.Hour), 9)
	w.must(err)
	equal(t, "final jobs", len(list), 2)
}

func deleteJob(t *testing.T, s Store) {
	w := newWorld(t, s)
	one, two := w.create("one", at(0)), w.create("two", at(0))
	w.fails(w.DeleteJob(w.Context(), w.col, edit(one, func(*job.Job) {})), job.ErrChanged)
	equal(t, "job that was not deleted", w.read(one), one)

	w.must(w.DeleteJob(w.Context(), w.col, one))
	_, _, err := w.Job(w.Context(), one.Ref)
	w.fails(err, job.ErrNotFound)
	list, _ := w.jobs(job.Query{Top: 9})
	equal(t, "jobs", list, []string{"two"})
	equal(t, "agenda", w.agenda(whole()).Jobs, []job.Due{{ID: two.UID, At: at(0)}})
	w.fails(w.DeleteJob(w.Context(), w.col, one), job.ErrChanged)

	final := w.newJob("final")
	final.Status.State = job.Completed
	w.must(w.DeleteJob(w.Context(), w.col, w.put(final, time.Time{})))
	some, err := w.Expired(w.Context(), w.shard, s.Now().Add(time.Hour), 9)
	w.must(err)
	equal(t, "final jobs", len(some), 0)
}

func recreateJob(t *testing.T, s Store) {
	w := newWorld(t, s)
	one := w.create("one", at(0))
	w.must(w.DeleteJob(w.Context(), w.col, one))
	anew := w.newJob("one")
	anew.UID = "j-anew"
	w.put(anew, at(time.Hour))
	w.fails(w.DeleteJob(w.Context(), w.col, one), job.ErrChanged)
	equal(t, "job", w.read(anew).UID, "j-anew")
}
