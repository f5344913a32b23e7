// Package planner finds the jobs that are due, plans their occurrences,
// dispatches them to the workers, records the results and watches over runs
// that have none. It never performs an action, and knows nothing of Redis or
// NATS.
//
// Planners share the shards by leases. An owner of a shard, one goroutine at
// work on it, does everything for that shard in turn, so that no lock is needed
// between planning and recording; the lease's epoch, checked by the store with
// every change, keeps two owners from ever both succeeding.
package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Members is how planners share the shards.
type Members interface {
	Heartbeat(ctx context.Context, planner string, term time.Duration) ([]string, error)
	Lease(ctx context.Context, shard int, planner string, term time.Duration) (job.Lease, error)
	Release(ctx context.Context, shard int, planner string) error
	Wake(ctx context.Context, woken func(shard int)) error
	SyncClock(ctx context.Context) error
	Offset() time.Duration
	Backlog(ctx context.Context, shards []int, now time.Time) (int64, error)
}

// Schedule is a shard's jobs and runs, as an owner works on them.
type Schedule interface {
	Now() time.Time
	Agenda(ctx context.Context, shard int, now time.Time, limit int) (job.Agenda, error)
	ShardJobs(ctx context.Context, shard int, uids []string) ([]*job.Job, error)
	ShardCollections(ctx context.Context, refs []job.CollectionRef) ([]*job.Collection, error)
	Plan(ctx context.Context, l job.Lease, steps []job.Step) ([]job.Taken, error)
	Settle(ctx context.Context, l job.Lease, steps []job.Step) error
	Runs(ctx context.Context, shard int, due []job.Due) ([]*job.Waiting, error)
	Dispatched(ctx context.Context, l job.Lease, ds []*job.Dispatch, sequences []uint64, watchAt time.Time) error
	Record(ctx context.Context, l job.Lease, before, after job.Position, effects []job.Effect) error
}

// Restorer brings a shard's state up to what journal and history say.
type Restorer interface {
	Progress(ctx context.Context, shard int) (job.Progress, error)
	Reset(ctx context.Context, l job.Lease) error
	SetProgress(ctx context.Context, l job.Lease, p job.Progress) error
	RestoreCollection(ctx context.Context, l job.Lease, c *job.Collection) error
	RestoreJob(ctx context.Context, l job.Lease, j *job.Job) error
	RestoreProgress(ctx context.Context, l job.Lease, at job.Position, uid string, c *job.Checkpoint) error
	Adopt(ctx context.Context, l job.Lease, list []job.Adoption) error
	DeleteCollection(ctx context.Context, c *job.Collection) error
}

// Clearer removes what is no longer needed.
type Clearer interface {
	Expired(ctx context.Context, shard int, before time.Time, limit int) ([]*job.Job, error)
	Orphans(ctx context.Context, shard, limit int) ([]*job.Job, error)
	Clear(ctx context.Context, shard int, j *job.Job) error
}

// Store is all that a planner needs of the store.
type Store interface {
	Members
	Schedule
	Restorer
	Clearer
}

// Queue carries dispatches to the workers and results back, and holds the
// journal.
type Queue interface {
	Dispatch(ctx context.Context, ds []*job.Dispatch) (sequences []uint64, err error)
	Present(ctx context.Context, sequences []uint64) ([]bool, error)
	Waiting(ctx context.Context, shard int, visit func(d *job.Dispatch, sequence uint64) error) error

	Follow(ctx context.Context, shard int, after job.Position, limit int, emit func([]job.Record) error) error
	HistoryEnd(ctx context.Context, shard int) (job.Position, error)
	History(ctx context.Context, shard int, uid string) ([]job.Record, error)
	RecordAll(ctx context.Context, rs []*job.Result) error

	Entries(ctx context.Context, shard int, after uint64, visit func(job.Entry) error) (last uint64, err error)
	JournalEnd(ctx context.Context, shard int) (uint64, error)
	Journal(ctx context.Context, entries ...job.Entry) error
}

// Pressure is told of what holds a planner up. Over means that it does not at
// this moment.
type Pressure interface {
	Met(ctx context.Context, name, words, advice string)
	Over(ctx context.Context, name string)
}

// Config configures a Planner. Store, Queue, Log, ID and Shards are required.
type Config struct {
	Store Store
	Queue Queue
	Log   *slog.Logger
	ID    string // names this planner among its peers; no two may share it
	// Shards is how many there are.
	Shards int

	Pressure Pressure // told of a backlog; default: nobody

	Term        time.Duration // of a lease; default 3 s; renewed every third of it
	Batch       int           // jobs, runs or results handled at once; default 256
	WatchAfter  time.Duration // after which a dispatch without a result is looked for; default 30 s
	MissedAfter time.Duration // after which an occurrence counts as missed; default 60 s
	KeepFinal   time.Duration // after which completed and faulted jobs are deleted; default 60 days
}

// Planner plans. Create one with New; run it with Run, once.
type Planner struct {
	cfg    Config
	log    *slog.Logger
	shards []shard
	round  chan struct{} // a lease may be free

	// Of Run's goroutine.
	owners map[int]*owner // by shard
	skewed bool           // the local clock is far from redis's
}

// shard is how an owner learns of what happens elsewhere.
type shard struct {
	woken chan struct{} // there is something earlier to do
	doubt atomic.Bool   // the store may have lost its last writes
}

// New returns a Planner, or an error that names every field that is wrong.
func New(cfg Config) (*Planner, error) {
	var errs []error
	if cfg.Store == nil {
		errs = append(errs, errors.New("store is required"))
	}
	if cfg.Queue == nil {
		errs = append(errs, errors.New("queue is required"))
	}
	if cfg.Log == nil {
		errs = append(errs, errors.New("log is required"))
	}
	if cfg.ID == "" {
		errs = append(errs, errors.New("id is required"))
	}
	if cfg.Shards < 1 {
		errs = append(errs, errors.New("shards must be at least 1"))
	}
	if cfg.Term < 0 || cfg.Batch < 0 || cfg.WatchAfter < 0 || cfg.MissedAfter < 0 || cfg.KeepFinal < 0 {
		errs = append(errs, errors.New("term, batch, watch after, missed after and keep final must not be negative"))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("planner config: %w", errors.Join(errs...))
	}
	cfg.Term = cmp.Or(cfg.Term, 3*time.Second)
	cfg.Batch = cmp.Or(cfg.Batch, 256)
	cfg.WatchAfter = cmp.Or(cfg.WatchAfter, 30*time.Second)
	cfg.MissedAfter = cmp.Or(cfg.MissedAfter, time.Minute)
	cfg.KeepFinal = cmp.Or(cfg.KeepFinal, 60*24*time.Hour)
	p := &Planner{
		cfg: cfg, log: cfg.Log, owners: make(map[int]*owner),
		shards: make([]shard, cfg.Shards), round: make(chan struct{}, 1),
	}
	for n := range p.shards {
		p.shards[n].woken = make(chan struct{}, 1)
	}
	return p, nil
}
