package storetest

import (
	"context"
	"testing"
	"time"
)

func wakeTests() []test {
	return []test{
		{"by what is earlier", wake},
		{"ping", func(t *testing.T, s Store) { (&world{T: t}).must(s.Ping(t.Context())) }},
	}
}

func wake(t *testing.T, s Store) {
	w := newWorld(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	woken, done := make(chan int, 100), make(chan error, 1)
	go func() { done <- s.Wake(ctx, func(n int) { woken <- n }) }()
	next := func(what string, want int) {
		t.Helper()
		select {
		case got := <-woken:
			equal(t, "woken by "+what, got, want)
		case <-time.After(10 * time.Second):
			t.Fatalf("not woken by %s", what)
		}
	}
	next("the beginning", -1)

	j := w.create("one", at(0))
	next("a new job", w.shard)
	w.must(w.PutJob(ctx, w.write(j, same))) // wakes nobody
	later := w.write(w.read(j), same)
	later.Reschedule = true
	w.must(w.PutJob(ctx, later)) // nor does a job that is due no more
	w.must(w.RunJob(ctx, w.col, w.read(j), request(w.read(j), "1", at(0))))
	next("a run request", w.shard)
	two := rewrite(w.col, sameCollection)
	w.must(w.PutCollection(ctx, two, w.col, false))
	next("a changed collection", w.shard)
	w.must(w.Release(ctx, w.shard, "planner"))
	next("a free lease", -1)
	w.must(w.DeleteCollection(ctx, two))
	next("a deleted collection", w.shard)

	cancel()
	select {
	case err := <-done:
		w.must(err)
	case <-time.After(10 * time.Second):
		t.Fatal("Wake goes on when its context has ended")
	}
}
