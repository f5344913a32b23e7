package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/recur"
	"github.com/carillon-scheduler/carillon/shared/store"
)

// A fixture is a collection in a shard that is ready and leased.
type fixture struct {
	testing.TB
	*store.Store
	collection *job.Collection
	lease      job.Lease
	place      job.Position
}

func newFixture(t testing.TB, s *store.Store) *fixture {
	t.Helper()
	f := &fixture{TB: t, Store: s, collection: newCollection("c"), place: job.Position{History: "h"}}
	for n := range s.Shards() {
		l, err := s.Lease(t.Context(), n, "planner", 24*time.Hour)
		f.must(err)
		f.must(s.SetProgress(t.Context(), l, job.Progress{Ready: true, History: f.place}))
		if n == f.collection.Shard(s.Shards()) {
			f.lease = l
		}
	}
	f.must(s.PutCollection(t.Context(), f.collection, nil, false))
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func newCollection(name string) *job.Collection {
	return &job.Collection{
		UID: "c-" + name, Revision: 1, CollectionRef: job.CollectionRef{Subscription: "s", ResourceGroup: "g", Collection: name},
		SKU: job.Standard, State: job.CollectionEnabled, CreatedAt: time.UnixMilli(1_800_000_000_000).UTC(),
	}
}

func (f *fixture) job(i int) *job.Job {
	return &job.Job{
		UID: fmt.Sprintf("%032x", i), Revision: 1, CollectionUID: f.collection.UID,
		Ref: job.Ref{CollectionRef: f.collection.CollectionRef, Job: fmt.Sprint("job", i)},
		Definition: job.Definition{
			Action:     job.Action{Type: job.HTTPS, Request: &job.Request{URI: "https://example.test/", Method: "POST"}},
			Recurrence: &recur.Spec{Frequency: recur.Minute},
			State:      job.Enabled,
		},
		Series: 1,
	}
}

func (f *fixture) create(j *job.Job, next time.Time) {
	f.Helper()
	f.must(f.PutJob(f.Context(), job.Write{Collection: f.collection, Job: j, MaxJobs: 1e6, Reschedule: true, NextAt: next}))
}
