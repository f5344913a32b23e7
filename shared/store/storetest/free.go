package storetest

import (
	"errors"
	"sync"
	"testing"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Azure documentation, Scheduler plans and billing: one free job collection a
// subscription.
func freeTests() []test {
	return []test{
		{"one a subscription", oneFree},
		{"one under a rush", freeRush},
		{"the same name in a rush", freeNamesakes},
		{"kept over a change", keepFree},
		{"given back on deletion", freeDeleted},
		{"given back with another plan", freeUpgraded},
		{"taken by a change of plan", freeDowngraded},
	}
}

func oneFree(t *testing.T, s Store) {
	w := newWorld(t, s)
	w.collection("first", job.Free)
	w.conflicts(w.PutCollection(w.Context(), newCollection("second", job.Free), nil, false))
	w.collection("paid", job.Standard)

	elsewhere := newCollection("third", job.Free)
	elsewhere.Subscription = "Sub2"
	w.must(w.PutCollection(w.Context(), elsewhere, nil, false))
}

func freeRush(t *testing.T, s Store) {
	w := newWorld(t, s)
	errs := rush(50, func(i int) error {
		return w.PutCollection(w.Context(), newCollection(name(i), job.Free), nil, false)
	})
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else {
			w.conflicts(err)
		}
	}
	equal(t, "collections made", made, 1)
	list, err := w.Collections(w.Context(), "sub", "", "", 100)
	w.must(err)
	equal(t, "collections there", len(list), 2)
}

// Of many who make the same collection one does, and the others are told that
// it is there.
func freeNamesakes(t *testing.T, s Store) {
	w := newWorld(t, s)
	errs := rush(20, func(i int) error {
		c := newCollection("same", job.Free)
		c.UID = name(i)
		return w.PutCollection(w.Context(), c, nil, false)
	})
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else {
			w.fails(err, job.ErrChanged)
		}
	}
	equal(t, "collections made", made, 1)
}

// rush calls do n times at once and returns what it returned.
func rush(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-begin
			errs[i] = do(i)
		})
	}
	close(begin)
	wg.Wait()
	return errs
}

func keepFree(t *testing.T, s Store) {
	w := newWorld(t, s)
	one := w.collection("first", job.Free)
	two := rewrite(one, func(c *job.Collection) { c.Location = "East US" })
	w.must(w.PutCollection(w.Context(), two, one, false))
	w.conflicts(w.PutCollection(w.Context(), newCollection("second", job.Free), nil, false))
}

func freeDeleted(t *testing.T, s Store) {
	w := newWorld(t, s)
	one := w.collection("first", job.Free)
	w.fails(w.DeleteCollection(w.Context(), rewrite(one, sameCollection)), job.ErrChanged)
	w.conflicts(w.PutCollection(w.Context(), newCollection("second", job.Free), nil, false))
	w.must(w.DeleteCollection(w.Context(), w.collection("paid", job.Standard)))
	w.conflicts(w.PutCollection(w.Context(), newCollection("second", job.Free), nil, false))
	w.must(w.DeleteCollection(w.Context(), one))
	w.collection("second", job.Free)
}

func freeUpgraded(t *testing.T, s Store) {
	w := newWorld(t, s)
	one := w.collection("first", job.Free)
	paid := rewrite(one, func(c *job.Collection) { c.SKU = job.Standard })
	w.must(w.PutCollection(w.Context(), paid, one, false))
	w.collection("second", job.Free)
	w.conflicts(w.PutCollection(w.Context(), rewrite(paid, func(c *job.Collection) { c.SKU = job.Free }), paid, false))
}

func freeDowngraded(t *testing.T, s Store) {
	w := newWorld(t, s)
	one := w.collection("first", job.Standard)
	w.must(w.PutCollection(w.Context(), rewrite(one, func(c *job.Collection) { c.SKU = job.Free }), one, false))
	err := w.PutCollection(w.Context(), newCollection("second", job.Free), nil, false)
	w.conflicts(err)
	if errors.Is(err, job.ErrChanged) {
		t.Errorf("error = %v: reading again will not help", err)
	}
}
