package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func clearTests() []test {
	return []test{
		{"expired jobs, the longest final first", expired},
		{"orphans of many collections", orphans},
		{"clear", clearJob},
	}
}

func expired(t *testing.T, s Store) {
	w := newWorld(t, s)
	for _, n := range []string{"b", "a", "c"} {
		j := w.newJob(n)
		j.Status.State = job.Completed
		w.put(j, time.Time{})
		made := s.Now()
		eventually(t, "the next millisecond", func() bool { return s.Now().Sub(made) > 2*time.Millisecond })
	}
	w.create("enabled", at(0))
	uids := func(before time.Time, limit int) []string {
		t.Helper()
		list, err := w.Expired(t.Context(), w.shard, before, limit)
		w.must(err)
		return names(list, func(j *job.Job) string { return j.Ref.Job })
	}
	now := s.Now()
	equal(t, "an hour ago", uids(now.Add(-time.Hour), 9), []string{})
	equal(t, "all", uids(now, 9), []string{"b", "a", "c"})
	equal(t, "two", uids(now, 2), []string{"b", "a"})
}

func orphans(t *testing.T, s Store) {
	w := newWorld(t, s)
	list := func(limit int) []string {
		t.Helper()
		jobs, err := w.Orphans(t.Context(), w.shard, limit)
		w.must(err)
		uids := names(jobs, func(j *job.Job) string { return j.UID })
		slices.Sort(uids)
		return uids
	}
	equal(t, "orphans of none", list(9), []string{})

	var cols []*job.Collection
	for i := 0; len(cols) < 4; i++ {
		if c := newCollection(name(i), job.Standard); c.Shard(s.Shards()) == w.shard {
			cols = append(cols, w.collection(name(i), job.Standard))
		}
	}
	var want []string
	for i, c := range cols {
		w.col = c
		for k := range i { // the first has no job
			want = append(want, w.create(name(10*i+k), at(0)).UID)
		}
	}
	equal(t, "orphans before", list(9), []string{})
	for _, c := range cols {
		w.must(w.DeleteCollection(t.Context(), c))
	}
	equal(t, "orphans of all collections", list(9), want)
	equal(t, "some orphans", len(list(2)), 2)
	for left := len(want); left > 0; {
		jobs, err := w.Orphans(t.Context(), w.shard, 4)
		w.must(err)
		equal(t, "orphans at once", len(jobs), min(4, left))
		for _, j := range jobs {
			w.must(w.Clear(t.Context(), w.shard, j))
		}
		left -= len(jobs)
	}
	equal(t, "orphans after", list(9), []string{})
	equal(t, "jobs due", w.agenda(whole()).Jobs, []job.Due{})
}

func clearJob(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.fails(w.Clear(t.Context(), w.shard, edit(j, same)), job.ErrChanged)
	w.must(w.Clear(t.Context(), w.shard, j))
	_, _, err := w.Job(t.Context(), j.Ref)
	w.fails(err, job.ErrNotFound)
	equal(t, "jobs due", w.agenda(whole()).Jobs, []job.Due{})
	got, err := w.Collection(t.Context(), w.col.CollectionRef)
	w.must(err)
	equal(t, "writes", got.Writes, 2)
	w.fails(w.Clear(t.Context(), w.shard, j), job.ErrChanged)
}
