package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Importer takes what a backup holds, and never changes what it holds already.
type Importer interface {
	Count(ctx context.Context) (int, error)
	Importing(ctx context.Context) (string, error)
	SetImporting(ctx context.Context, id string) error
	ShardCollections(ctx context.Context, refs []job.CollectionRef) ([]*job.Collection, error)
	ImportCollection(ctx context.Context, c *job.Collection) (*job.Collection, error)
	Snapshots(ctx context.Context, shard int, uids []string) ([]*job.Snapshot, error)
	Import(ctx context.Context, o *job.Snapshot) error
}

// Store is all that a restore needs of the store.
type Store interface {
	Opener
	Importer
}

// Queue holds the journal, and the history.
type Queue interface {
	Journal(ctx context.Context, entries ...job.Entry) error
	JournalEnd(ctx context.Context, shard int) (uint64, error)
	Deleted(ctx context.Context, shard int, uids []string) ([]bool, error)
	Forget(ctx context.Context, shard int, uid string) error
	HistoryEnd(ctx context.Context, shard int) (job.Position, error)
}

// Target is a cluster to restore into.
type Target struct {
	Store    Store
	Queue    Queue
	Merge    bool // into a cluster that is not empty
	Progress Progress
	Jobs     int // of the backup, as Progress shows it
}

// A Report says what a restore did.
type Report struct {
	Added, There Contents // restored, and there already
	Left         []string // sentences, sorted: what was left out, and why
}

// Contents counts collections and jobs.
type Contents struct{ Collections, Jobs int }

// Restore puts into a cluster what a backup holds, as it was: revisions, counters,
// next times, runs under way. Planners and API servers may be at work meanwhile.
// Each job comes into being whole, in the store and then in the journal, as one
// that an API server takes; Restore returns when both hold all of them.
//
// What the cluster holds already is never changed. So a restore that was
// interrupted can be run again, and completes.
//
// It fails with a [NotEmptyError], with [job.ErrNotReady] if the cluster has yet to
// be brought up to date and no planner does, and as [Reader.Next] does.
func Restore(ctx context.Context, to Target, in io.Reader) (*Report, error) {
	from, err := NewReader(in)
	if err != nil {
		return nil, err
	}
	r := &restoration{Target: to}
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	if err := r.admit(ctx, from.Header().ID); err != nil {
		return nil, err
	}
	if err := r.all(ctx, from); err != nil {
		return nil, fmt.Errorf("%w. What was restored stays; run the command again to complete it", err)
	}
	slices.Sort(r.report.Left)
	return &r.report, r.Store.SetImporting(ctx, "")
}

// restoration is one restore.
type restoration struct {
	Target
	// heard is whether a shard's journal has anything: only then can it say that
	// something was deleted.
	heard []bool

	mu     sync.Mutex
	report Report
}

// together is how many collections and jobs are restored together.
const together = 512

// all restores everything in a backup.
func (r *restoration) all(ctx context.Context, from *Reader) error {
	var cols []*job.Collection
	jobs := make([][]*job.Snapshot, r.Store.Shards())
	for n := 1; ; n++ {
		rec, err := from.Next()
		ended := errors.Is(err, io.EOF)
		switch {
		case err != nil && !ended:
			return err
		case rec.Collection != nil:
			cols = append(cols, rec.Collection)
		case rec.Job != nil:
			shard := rec.Job.Job.Shard(len(jobs))
			jobs[shard] = append(jobs[shard], rec.Job)
		}
		if !ended && n%together != 0 {
			continue
		}
		if err := r.some(ctx, cols, jobs); err != nil || ended {
			return err
		}
		cols = nil
		clear(jobs)
	}
}

// some restores collections, then jobs, which are by shard.
func (r *restoration) some(ctx context.Context, cols []*job.Collection, jobs [][]*job.Snapshot) error {
	if err := r.collections(ctx, cols); err != nil {
		return err
	}
	err := each(ctx, len(jobs), 4, func(ctx context.Context, shard int) error { return r.jobs(ctx, shard, jobs[shard]) })
	if err != nil {
		return err
	}
	r.Progress("%d of %d jobs restored", r.report.Added.Jobs+r.report.There.Jobs, r.Target.Jobs)
	return nil
}

// parallel is how many requests of a shard are under way at once.
const parallel = 16

// each calls f with 0 to n-1, some at once.
func each(ctx context.Context, n, atOnce int, f func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i := range n {
		g.Go(func() error { return f(ctx, i) })
	}
	return g.Wait()
}

// collections restores collections.
func (r *restoration) collections(ctx context.Context, list []*job.Collection) error {
	entries := make([][]job.Entry, len(list))
	err := each(ctx, len(list), parallel, func(ctx context.Context, i int) (err error) {
		entries[i], err = r.collection(ctx, list[i])
		return err
	})
	if err != nil {
		return err
	}
	return r.Queue.Journal(ctx, slices.Concat(entries...)...)
}

// collection restores a collection and returns what is to be journaled of it.
func (r *restoration) collection(ctx context.Context, c *job.Collection) ([]job.Entry, error) {
	shard := c.Shard(r.Store.Shards())
	have, err := r.Store.ShardCollections(ctx, []job.CollectionRef{c.CollectionRef})
	if err != nil {
		return nil, err
	}
	if len(have) == 0 {
		got, err := r.importCollection(ctx, shard, c)
		if err != nil {
			return nil, err
		}
		have = []*job.Collection{got}
	}
	got := have[0]
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case got == c:
		r.report.Added.Collections++
	case got.UID != c.UID:
		r.report.Left = append(r.report.Left, fmt.Sprintf("job collection %s: another of its name is there", c.ID()))
		return nil, nil
	default:
		r.report.There.Collections++
	}
	if got.Revision != c.Revision {
		return nil, nil // journaled by whoever wrote that one
	}
	return []job.Entry{{Shard: shard, UID: c.UID, Revision: c.Revision, Collection: got}}, nil
}

// importCollection returns what stands there then: c, or what was made meanwhile.
func (r *restoration) importCollection(ctx context.Context, shard int, c *job.Collection) (got *job.Collection, err error) {
	if err := r.recall(ctx, shard, []string{c.UID}); err != nil {
		return nil, err
	}
	err = r.await(ctx, func() (err error) {
		got, err = r.Store.ImportCollection(ctx, c)
		return err
	})
	if errors.Is(err, job.ErrChanged) {
		err = fmt.Errorf("job collection %s was deleted, and planners have yet to clear it away: start one (%w)", c.ID(), err)
	}
	return got, err
}

// jobs restores jobs of a shard.
func (r *restoration) jobs(ctx context.Context, shard int, list []*job.Snapshot) error {
	if len(list) == 0 {
		return nil
	}
	uids := make([]string, len(list))
	for i, o := range list {
		uids[i] = o.Job.UID
	}
	have, err := r.Store.Snapshots(ctx, shard, uids)
	if err != nil {
		return err
	}
	var absent []string
	for i, o := range have {
		if o == nil {
			absent = append(absent, uids[i])
		}
	}
	if err := r.recall(ctx, shard, absent); err != nil {
		return err
	}
	entries := make([][]job.Entry, len(list))
	err = each(ctx, len(list), parallel, func(ctx context.Context, i int) (err error) {
		entries[i], err = r.job(ctx, shard, list[i], have[i])
		return err
	})
	if err != nil {
		return err
	}
	return r.Queue.Journal(ctx, slices.Concat(entries...)...)
}

// job restores a job, unless the cluster has it, and returns what is to be
// journaled of it: an attempt that was interrupted may not have come to that.
func (r *restoration) job(ctx context.Context, shard int, o, have *job.Snapshot) ([]job.Entry, error) {
	put, err := have == nil, error(nil)
	if put {
		have = o
		err = r.Store.Import(ctx, o)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case errors.Is(err, job.ErrChanged):
		r.report.Left = append(r.report.Left, fmt.Sprintf("job %s: another of its name, or of its collection's, is there", o.Job.ID()))
		return nil, nil
	case err != nil:
		return nil, err
	case put:
		r.report.Added.Jobs++
	default:
		r.report.There.Jobs++
	}
	if have.Job.Revision != o.Job.Revision {
		return nil, nil // journaled by whoever wrote that one
	}
	return journaled(shard, have), nil
}

// runsTogether is how many runs a journal entry may have: a message of NATS has at
// most 1 MB unless set otherwise, and a run some 240 bytes.
const runsTogether = 3000

// journaled returns what is to be journaled of a job. The journal keeps the newest
// entries of a kind, 8 of them: of more runs under way than these hold the store
// alone knows.
func journaled(shard int, o *job.Snapshot) []job.Entry {
	e := job.Entry{Shard: shard, UID: o.Job.UID, Revision: o.Job.Revision}
	definition := e
	definition.Job = o.Job
	list := []job.Entry{definition}
	for runs := o.Progress.Runs; ; {
		n := min(len(runs), runsTogether)
		part := o.Progress
		part.Runs, runs = runs[:n], runs[n:]
		e.Checkpoint = &part
		list = append(list, e)
		if len(runs) == 0 {
			return list
		}
	}
}

// recall has the journal forget that jobs or collections were deleted, which are
// about to be restored: deletions are final there.
func (r *restoration) recall(ctx context.Context, shard int, uids []string) error {
	if !r.heard[shard] || len(uids) == 0 {
		return nil
	}
	gone, err := r.Queue.Deleted(ctx, shard, uids)
	if err != nil {
		return err
	}
	return each(ctx, len(uids), parallel, func(ctx context.Context, i int) error {
		if !gone[i] {
			return nil
		}
		return r.Queue.Forget(ctx, shard, uids[i])
	})
}
