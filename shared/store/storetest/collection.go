package storetest

import (
	"strings"
	"testing"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/recur"
)

func collectionTests() []test {
	return []test{
		{"create and read", createCollection},
		{"case does not matter", foldCollection},
		{"create only once", createCollectionTwice},
		{"replace what was read", replaceCollection},
		{"replace what is gone", replaceGone},
		{"exact write sees every job written", exactCollection},
		{"delete", deleteCollection},
		{"a new one of the name is another", recreateCollection},
	}
}

func createCollection(t *testing.T, s Store) {
	w := newWorld(t, s)
	c := newCollection("other", job.P10Premium)
	c.Tags = map[string]string{"team": "a"}
	c.Quota = &job.Quota{MaxJobCount: 7, MaxRecurrence: &job.MaxRecurrence{Frequency: recur.Hour, Interval: 2}}
	w.must(w.PutCollection(w.Context(), c, nil, false))

	got, err := w.Collection(w.Context(), c.CollectionRef)
	w.must(err)
	equal(t, "collection", got, c)

	_, err = w.Collection(w.Context(), newCollection("absent", job.Standard).CollectionRef)
	w.fails(err, job.ErrNotFound)

	some, err := w.ShardCollections(w.Context(), []job.CollectionRef{newCollection("absent", "").CollectionRef, c.CollectionRef})
	w.must(err)
	equal(t, "collections by name", some, []*job.Collection{c})
}

func foldCollection(t *testing.T, s Store) {
	w := newWorld(t, s)
	c := w.collection("MixedCase", job.Standard)
	got, err := w.Collection(w.Context(), job.CollectionRef{Subscription: "SUB", ResourceGroup: "group", Collection: "mixedCASE"})
	w.must(err)
	equal(t, "collection", got, c)

	other := newCollection("mixedcase", job.Standard)
	w.fails(w.PutCollection(w.Context(), other, nil, false), job.ErrChanged)
}

func createCollectionTwice(t *testing.T, s Store) {
	w := newWorld(t, s)
	other := newCollection("main", job.P20Premium)
	other.UID = "c-other"
	w.fails(w.PutCollection(w.Context(), other, nil, false), job.ErrChanged)
	got, err := w.Collection(w.Context(), w.col.CollectionRef)
	w.must(err)
	equal(t, "collection", got, w.col)
}

func replaceCollection(t *testing.T, s Store) {
	w := newWorld(t, s)
	two := rewrite(w.col, func(c *job.Collection) { c.State = job.CollectionDisabled; c.Location = "East US" })
	w.must(w.PutCollection(w.Context(), two, w.col, false))

	stale := rewrite(w.col, func(c *job.Collection) { c.Location = "stale" })
	w.fails(w.PutCollection(w.Context(), stale, w.col, false), job.ErrChanged)

	another := rewrite(two, func(c *job.Collection) { c.UID = "c-another" })
	w.fails(w.PutCollection(w.Context(), another, two, false), job.ErrChanged)

	got, err := w.Collection(w.Context(), w.col.CollectionRef)
	w.must(err)
	equal(t, "collection", got, two)
}

func replaceGone(t *testing.T, s Store) {
	w := newWorld(t, s)
	c := newCollection("gone", job.Standard)
	w.fails(w.PutCollection(w.Context(), rewrite(c, sameCollection), c, false), job.ErrChanged)
	_, err := w.Collection(w.Context(), c.CollectionRef)
	w.fails(err, job.ErrNotFound)
}

func exactCollection(t *testing.T, s Store) {
	w := newWorld(t, s)
	read := func() *job.Collection {
		t.Helper()
		c, err := w.Collection(w.Context(), w.col.CollectionRef)
		w.must(err)
		return c
	}
	replace := func(was *job.Collection, exact bool) error {
		return w.PutCollection(w.Context(), rewrite(was, sameCollection), was, exact)
	}

	was := read()
	j := w.create("one", at(0))
	w.fails(replace(was, true), job.ErrChanged) // a job was created since

	was = read()
	equal(t, "writes after one", was.Writes, 1)
	equal(t, "jobs", was.Jobs, 1)
	w.must(w.PutJob(w.Context(), job.Write{Collection: w.col, Was: j, Job: edit(j, func(*job.Job) {}), MaxJobs: 1}))
	w.fails(replace(was, true), job.ErrChanged) // updated since

	was = read()
	w.must(w.DeleteJob(w.Context(), w.col, w.read(j)))
	w.fails(replace(was, true), job.ErrChanged) // deleted since

	w.must(replace(was, false)) // whatever was written
	was = read()
	equal(t, "writes after three", was.Writes, 3)
	equal(t, "jobs", was.Jobs, 0)
	w.must(replace(was, true))
}

func deleteCollection(t *testing.T, s Store) {
	w := newWorld(t, s)
	two := rewrite(w.col, sameCollection)
	w.must(w.PutCollection(w.Context(), two, w.col, false))
	w.fails(w.DeleteCollection(w.Context(), w.col), job.ErrChanged)
	w.fails(w.DeleteCollection(w.Context(), rewrite(w.col, func(c *job.Collection) { c.UID = "c-other" })), job.ErrChanged)
	got, err := w.Collection(w.Context(), two.CollectionRef)
	w.must(err)
	equal(t, "collection that was not deleted", got, two)

	w.must(w.DeleteCollection(w.Context(), two))
	_, err = w.Collection(w.Context(), two.CollectionRef)
	w.fails(err, job.ErrNotFound)
	list, err := w.Collections(w.Context(), "sub", "", "", 10)
	w.must(err)
	equal(t, "listed", len(list), 0)
	w.fails(w.DeleteCollection(w.Context(), two), job.ErrChanged)
}

// A collection that is deleted takes its jobs with it; one of the same name
// made anew does not find them, and their clearing away does not touch it.
func recreateCollection(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	old, err := w.Collection(w.Context(), w.col.CollectionRef)
	w.must(err)
	w.must(w.DeleteCollection(w.Context(), old))
	c, _, err := w.Job(w.Context(), j.Ref)
	w.fails(err, job.ErrNotFound)
	equal(t, "collection of an unreachable job", c, nil)

	anew := newCollection(strings.ToUpper(w.col.Collection), job.Standard)
	w.must(w.PutCollection(w.Context(), anew, nil, false))
	got, _, err := w.Job(w.Context(), j.Ref)
	w.fails(err, job.ErrNotFound)
	equal(t, "collection of a job that is not", got, anew)
	w.fails(w.PutJob(w.Context(), job.Write{Collection: w.col, Was: j, Job: edit(j, func(*job.Job) {}), MaxJobs: 9}), job.ErrChanged)
	w.fails(w.RunJob(w.Context(), w.col, j, request(j, "1", at(0))), job.ErrChanged)

	orphans, err := w.Orphans(w.Context(), w.shard, 10)
	w.must(err)
	equal(t, "orphans", orphans, []*job.Job{j})
	w.must(w.Clear(w.Context(), w.shard, j))
	got, err = w.Collection(w.Context(), anew.CollectionRef)
	w.must(err)
	equal(t, "the new collection", got, anew)
	equal(t, "agenda", w.agenda(whole()).Jobs, []job.Due{})
}
