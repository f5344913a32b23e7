package storetest

import (
	"context"
	"testing"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func readyTests() []test {
	return []test{
		{"a store that holds nothing", emptyStore},
		{"every write is refused, and reads say so", closedShard},
		{"progress", progress},
	}
}

func emptyStore(t *testing.T, s Store) {
	ctx := t.Context()
	for n := range s.Shards() {
		p, err := s.Progress(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "progress", p, job.Progress{})
	}
	w := &world{T: t, Store: s}
	w.fails(s.Ready(ctx), job.ErrNotReady)
	_, err := s.Collection(ctx, newCollection("main", "").CollectionRef)
	w.fails(err, job.ErrNotReady)
	w.fails(s.PutCollection(ctx, newCollection("main", job.Standard), nil, false), job.ErrNotReady)
}

func closedShard(t *testing.T, s Store) {
	w := newWorld(t, s)
	ctx := t.Context()
	j := w.create("one", at(0))
	was, err := w.Collection(ctx, w.col.CollectionRef)
	w.must(err)

	w.must(s.Ready(ctx))
	w.must(w.SetProgress(ctx, w.lease, job.Progress{History: w.place}))
	w.fails(s.Ready(ctx), job.ErrNotReady)
	for _, c := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"read collection", func(ctx context.Context) error { _, err := s.Collection(ctx, was.CollectionRef); return err }},
		{"list collections", func(ctx context.Context) error { _, err := s.Collections(ctx, "sub", "", "", 9); return err }},
		{"list jobs", func(ctx context.Context) error { _, _, err := s.Jobs(ctx, was, job.Query{Top: 9}); return err }},
		{"read job", func(ctx context.Context) error { _, _, err := s.Job(ctx, j.Ref); return err }},
		{"create collection", func(ctx context.Context) error {
			c := newCollection("MAIN", job.Standard)
			return s.PutCollection(ctx, c, nil, false)
		}},
		{"replace collection", func(ctx context.Context) error {
			return s.PutCollection(ctx, rewrite(was, sameCollection), was, false)
		}},
		{"delete collection", func(ctx context.Context) error { return s.DeleteCollection(ctx, was) }},
		{"create job", func(ctx context.Context) error {
			return s.PutJob(ctx, job.Write{Collection: was, Job: w.newJob("two"), MaxJobs: 9})
		}},
		{"update job", func(ctx context.Context) error {
			return s.PutJob(ctx, job.Write{Collection: was, Was: j, Job: edit(j, func(*job.Job) {}), MaxJobs: 9})
		}},
		{"run job", func(ctx context.Context) error { return s.RunJob(ctx, was, j, request(j, "1", at(0))) }},
		{"delete job", func(ctx context.Context) error { return s.DeleteJob(ctx, was, j) }},
		{"clear job", func(ctx context.Context) error { return s.Clear(ctx, w.shard, j) }},
	} {
		t.Run(c.name, func(t *testing.T) { w.on(t).fails(c.do(t.Context()), job.ErrNotReady) })
	}

	w.must(w.SetProgress(ctx, w.lease, job.Progress{Ready: true, History: w.place}))
	got, err := w.Collection(ctx, was.CollectionRef)
	w.must(err)
	equal(t, "collection", got, was)
	equal(t, "job", w.read(j), j)
	equal(t, "runs", w.agenda(whole()).Runs, []job.Due{})
	list, more := w.jobs(job.Query{Top: 9})
	equal(t, "jobs", list, []string{"one"})
	equal(t, "more", more, false)
}

func progress(t *testing.T, s Store) {
	w := newWorld(t, s)
	want := job.Progress{Ready: true, Journal: 1 << 60, History: job.Position{Sequence: 1<<60 + 1, History: "h2"}}
	w.must(w.SetProgress(t.Context(), w.lease, want))
	got, err := w.Progress(t.Context(), w.shard)
	w.must(err)
	equal(t, "progress", got, want)

	next := want
	next.History.Sequence++
	next.From = next.History // a store that went back in time is before it
	w.fails(w.SetProgress(t.Context(), w.lease, next), job.ErrBehind)
	got, err = w.Progress(t.Context(), w.shard)
	w.must(err)
	equal(t, "progress of a store that is elsewhere", got, want)
	next.From = want.History
	w.must(w.SetProgress(t.Context(), w.lease, next))
	next.From = job.Position{}
	want = next

	old := w.stolen()
	w.fails(w.SetProgress(t.Context(), old, job.Progress{}), job.ErrLeaseLost)
	got, err = w.Progress(t.Context(), w.shard)
	w.must(err)
	equal(t, "progress after a lost lease", got, want)
}
