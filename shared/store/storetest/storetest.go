// Package storetest holds the tests that a store must pass, whatever Redis it
// stands on. It knows no Redis and no keys: what it cannot see through the
// store's methods, nobody else sees either.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Store is everything that a store offers.
type Store interface {
	// The cluster.
	Shards() int
	Open(ctx context.Context) error
	Ping(ctx context.Context) error
	Ready(ctx context.Context) error
	Wake(ctx context.Context, woken func(shard int)) error
	Now() time.Time
	Offset() time.Duration
	SyncClock(ctx context.Context) error

	// Definitions.
	Collection(ctx context.Context, ref job.CollectionRef) (*job.Collection, error)
	Collections(ctx context.Context, subscription, group, after string, limit int) ([]*job.Collection, error)
	PutCollection(ctx context.Context, c, was *job.Collection, exact bool) error
	DeleteCollection(ctx context.Context, c *job.Collection) error
	Job(ctx context.Context, ref job.Ref) (*job.Collection, *job.Job, error)
	Jobs(ctx context.Context, c *job.Collection, q job.Query) (jobs []*job.Job, more bool, err error)
	PutJob(ctx context.Context, w job.Write) error
	DeleteJob(ctx context.Context, c *job.Collection, j *job.Job) error
	RunJob(ctx context.Context, c *job.Collection, j *job.Job, r *job.Pending) error

	// Planners.
	Heartbeat(ctx context.Context, planner string, term time.Duration) ([]string, error)
	Lease(ctx context.Context, shard int, planner string, term time.Duration) (job.Lease, error)
	Release(ctx context.Context, shard int, planner string) error

	// A shard's work.
	Agenda(ctx context.Context, shard int, now time.Time, limit int) (job.Agenda, error)
	ShardJobs(ctx context.Context, shard int, uids []string) ([]*job.Job, error)
	ShardCollections(ctx context.Context, refs []job.CollectionRef) ([]*job.Collection, error)
	Plan(ctx context.Context, l job.Lease, steps []job.Step) ([]job.Taken, error)
	Settle(ctx context.Context, l job.Lease, steps []job.Step) error
	Runs(ctx context.Context, shard int, due []job.Due) ([]*job.Waiting, error)
	Dispatched(ctx context.Context, l job.Lease, ds []*job.Dispatch, sequences []uint64, watchAt time.Time) error
	Record(ctx context.Context, l job.Lease, before, after job.Position, effects []job.Effect) error

	// Rebuilding a shard.
	Progress(ctx context.Context, shard int) (job.Progress, error)
	SetProgress(ctx context.Context, l job.Lease, p job.Progress) error
	Reset(ctx context.Context, l job.Lease) error
	RestoreCollection(ctx context.Context, l job.Lease, c *job.Collection) error
	RestoreJob(ctx context.Context, l job.Lease, j *job.Job) error
	RestoreProgress(ctx context.Context, l job.Lease, at job.Position, uid string, c *job.Checkpoint) error
	Adopt(ctx context.Context, l job.Lease, list []job.Adoption) error

	// Clearing away.
	Expired(ctx context.Context, shard int, before time.Time, limit int) ([]*job.Job, error)
	Orphans(ctx context.Context, shard, limit int) ([]*job.Job, error)
	Clear(ctx context.Context, shard int, j *job.Job) error
}

// test is one test of the suite, given an empty store.
type test struct {
	name string
	run  func(t *testing.T, s Store)
}

// Exercise runs the suite. open returns a store that is open and empty; it
// takes away what a store it returned before holds.
func Exercise(t *testing.T, open func(t *testing.T) Store) {
	for _, topic := range []struct {
		name  string
		tests []test
	}{
		{"collection", collectionTests()},
		{"free collection", freeTests()},
		{"listing", listTests()},
		{"not ready", readyTests()},
		{"job", jobTests()},
		{"job update", updateTests()},
		{"run request", requestTests()},
		{"lease", leaseTests()},
		{"wake", wakeTests()},
		{"agenda", agendaTests()},
		{"plan", planTests()},
		{"settle", settleTests()},
		{"run", runTests()},
		{"record", recordTests()},
		{"strange record", strangeTests()},
		{"final", finalTests()},
		{"restore", restoreTests()},
		{"progress", progressTests()},
		{"adopt", adoptTests()},
		{"clear", clearTests()},
		{"policy", policyTests()},
	} {
		t.Run(topic.name, func(t *testing.T) {
			for _, test := range topic.tests {
				t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
			}
		})
	}

	t.Run("lease/epoch grows though everything was lost", func(t *testing.T) {
		first, err := open(t).Lease(t.Context(), 0, "a", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var second job.Lease
		eventually(t, "a lease of a larger epoch", func() bool {
			second, err = open(t).Lease(t.Context(), 0, "a", time.Minute)
			return err == nil && second.Epoch > first.Epoch
		})
		if second.Beat != 1 {
			t.Errorf("beat = %d, want 1", second.Beat)
		}
	})
}
