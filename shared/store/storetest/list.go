package storetest

import (
	"testing"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func listTests() []test {
	return []test{
		{"by key over all shards", listCollections},
		{"neighbours with like names are not seen", listNeighbours},
		{"jobs by name, in pages", listJobs},
		{"jobs in a state, in pages", listState},
		{"more jobs than a page holds", listMany},
	}
}

func names[V any](list []V, name func(V) string) []string {
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = name(v)
	}
	return all
}

func collectionName(c *job.Collection) string { return c.ResourceGroup + "/" + c.Collection }

func (w *world) collections(sub, group, after string, limit int) []string {
	w.Helper()
	list, err := w.Collections(w.Context(), sub, group, after, limit)
	w.must(err)
	return names(list, collectionName)
}

func listCollections(t *testing.T, s Store) {
	w := newWorld(t, s)
	shards := make(map[int]bool)
	var last *job.Collection
	for _, n := range []string{"d", "B", "a", "C", "e"} {
		last = w.collection(n, job.Standard)
		shards[last.Shard(s.Shards())] = true
	}
	if len(shards) < 2 {
		t.Fatal("the names of this test are all of one shard")
	}
	key := func(n string) string { return newCollection(n, "").Key() }
	for _, c := range []struct {
		name, group, after string
		limit              int
		want               []string
	}{
		{"all", "", "", 10, []string{"Group/a", "Group/B", "Group/C", "Group/d", "Group/e", "Group/main"}},
		{"the first", "", "", 2, []string{"Group/a", "Group/B"}},
		{"after one", "", key("b"), 2, []string{"Group/C", "Group/d"}},
		{"after what is not there", "GROUP", key("bb"), 10, []string{"Group/C", "Group/d", "Group/e", "Group/main"}},
		{"after the last", "", key("main"), 10, []string{}},
		{"after another subscription's", "", "a", 1, []string{"Group/a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			equal(t, "collections", w.on(t).collections("SUB", c.group, c.after, c.limit), c.want)
		})
	}
}

func listNeighbours(t *testing.T, s Store) {
	w := newWorld(t, s)
	for _, r := range []job.CollectionRef{
		{Subscription: "a", ResourceGroup: "g", Collection: "1"},
		{Subscription: "a", ResourceGroup: "g1", Collection: "2"},
		{Subscription: "a", ResourceGroup: "G", Collection: "3"},
		{Subscription: "ab", ResourceGroup: "g", Collection: "4"},
		{Subscription: "A", ResourceGroup: "h", Collection: "5"},
	} {
		c := newCollection(r.Collection, job.Standard)
		c.CollectionRef = r
		w.must(w.PutCollection(w.Context(), c, nil, false))
	}
	equal(t, "of a", w.collections("a", "", "", 10), []string{"g/1", "G/3", "g1/2", "h/5"})
	equal(t, "of a, g", w.collections("a", "g", "", 10), []string{"g/1", "G/3"})
	equal(t, "of a, g1", w.collections("a", "g1", "", 10), []string{"g1/2"})
	equal(t, "of ab", w.collections("ab", "", "", 10), []string{"g/4"})
	equal(t, "of nobody", w.collections("abc", "", "", 10), []string{})
}

func (w *world) jobs(q job.Query) (list []string, more bool) {
	w.Helper()
	jobs, more, err := w.Jobs(w.Context(), w.col, q)
	w.must(err)
	return names(jobs, func(j *job.Job) string { return j.Ref.Job }), more
}

type page struct {
	name string
	q    job.Query
	want []string
	more bool
}

func (w *world) pages(pages []page) {
	for _, p := range pages {
		w.Run(p.name, func(t *testing.T) {
			got, more := w.on(t).jobs(p.q)
			equal(t, "jobs", got, p.want)
			equal(t, "more", more, p.more)
		})
	}
}

func listJobs(t *testing.T, s Store) {
	w := newWorld(t, s)
	for _, n := range []string{"d", "B", "a", "ab", "C"} {
		w.create(n, at(0))
	}
	w.pages([]page{
		{"all", job.Query{Top: 5}, []string{"a", "ab", "B", "C", "d"}, false},
		{"the first", job.Query{Top: 2}, []string{"a", "ab"}, true},
		{"the next", job.Query{Skip: 2, Top: 2}, []string{"B", "C"}, true},
		{"the last", job.Query{Skip: 4, Top: 2}, []string{"d"}, false},
		{"none", job.Query{Skip: 1}, []string{}, true},
		{"beyond", job.Query{Skip: 5, Top: 2}, []string{}, false},
	})
}

func listState(t *testing.T, s Store) {
	w := newWorld(t, s)
	for i, n := range []string{"a", "b", "c", "d", "e"} {
		j := w.newJob(n)
		if i%2 == 0 {
			j.State = job.Disabled
		}
		w.put(j, at(0))
	}
	w.pages([]page{
		{"enabled", job.Query{State: job.Enabled, Top: 2}, []string{"b", "d"}, false},
		{"disabled", job.Query{State: job.Disabled, Top: 2}, []string{"a", "c"}, true},
		{"after the first", job.Query{State: job.Disabled, Skip: 1, Top: 1}, []string{"c"}, true},
		{"after the second", job.Query{State: job.Disabled, Skip: 2, Top: 1}, []string{"e"}, false},
		{"completed", job.Query{State: job.Completed, Top: 2}, []string{}, false},
	})
}

// Jobs are read 500 at a time.
func listMany(t *testing.T, s Store) {
	w := newWorld(t, s)
	const many = 1003
	for _, err := range rush(many, func(i int) error {
		j := w.newJob(name(i))
		if i%2 == 1 {
			j.State = job.Disabled
		}
		return w.PutJob(w.Context(), job.Write{Collection: w.col, Job: j, MaxJobs: many})
	}) {
		w.must(err)
	}
	all := make([]string, many)
	for i := range all {
		all[i] = name(i)
	}
	w.pages([]page{
		{"all", job.Query{Top: 2000}, all, false},
		{"as many as there are", job.Query{Top: many}, all, false},
		{"a page of reading", job.Query{Top: 500}, all[:500], true},
		{"beyond a page", job.Query{Skip: 499, Top: 502}, all[499:1001], true},
		{"the last enabled", job.Query{State: job.Enabled, Skip: 501, Top: 9}, all[1002:], false},
		{"enabled beyond a page", job.Query{State: job.Enabled, Skip: 300, Top: 1}, all[600:601], true},
	})
}
