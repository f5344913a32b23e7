package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// catchUp brings a shard's state up to what journal, history and dispatch
// stream say, before anything is planned. For a shard whose state is whole that
// is a look at their ends; for one that went back in time it is what the store
// forgot; for one that is empty it is everything.
func (o *owner) catchUp(ctx context.Context) error {
	began := time.Now()
	p, err := o.cfg.Store.Progress(ctx, o.shard)
	if err != nil {
		return err
	}
	r := &restore{owner: o, full: !p.Ready, newest: make(map[string]time.Time), seen: make(map[string]bool), touched: make(map[string]bool)}
	if r.full {
		p.Journal, p.History = 0, job.Position{}
	}
	journal, err := r.journal(ctx, p.Journal)
	if err != nil {
		return err
	}
	if err := r.begin(ctx, p); err != nil {
		return err
	}
	if err := r.replay(ctx); err != nil {
		return err
	}
	if err := r.dispatches(ctx); err != nil {
		return err
	}
	// What was taken from the dispatch stream before it was read has its result
	// in the history by now.
	if err := r.replay(ctx); err != nil {
		return err
	}
	if err := r.requests(ctx); err != nil {
		return err
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	o.journalSeen = 0
	if err := o.cfg.Store.SetProgress(ctx, r.lease(), job.Progress{Ready: true, Journal: journal, History: o.at}); err != nil {
		return err
	}
	if n := len(r.seen); r.full && (n > 0 || journal > 0) {
		o.log.InfoContext(ctx, "shard rebuilt", "jobs", r.restored, "results", n, "took", time.Since(began).Round(time.Millisecond))
	}
	return nil
}

// restore is one catching up.
type restore struct {
	*owner
	full bool // the store holds nothing

	restored int
	runs     []*job.Pending       // run requests and waiting runs that the journal knows of
	newest   map[string]time.Time // by job uid: newest nominal time that the store knew of at first
	seen     map[string]bool      // by tag: a result was replayed
	touched  map[string]bool      // jobs whose next time has to be worked out again
}

func (r *restore) lease() job.Lease { return *r.owner.lease.Load() }

// resource is what the journal says of one job or collection.
type resource struct {
	newest, gone *job.Entry
	checkpoints  []*job.Entry
}

// journal applies what was journaled after a place and returns the place of the
// last entry.
func (r *restore) journal(ctx context.Context, after uint64) (uint64, error) {
	all := make(map[string]*resource)
	last, err := r.cfg.Queue.Entries(ctx, r.shard, after, func(e job.Entry) error {
		res := all[e.UID]
		if res == nil {
			res = new(resource)
			all[e.UID] = res
		}
		switch {
		case e.Deleted:
			res.gone = &e
		case e.Run != nil:
			r.runs = append(r.runs, e.Run)
		case e.Checkpoint != nil:
			for i := range e.Checkpoint.Runs {
				r.runs = append(r.runs, &e.Checkpoint.Runs[i])
			}
			res.checkpoints = append(res.checkpoints, &e)
		case res.newest == nil || e.Revision >= res.newest.Revision:
			// Several API servers may journal out of order: the highest revision
			// is the newest.
			res.newest = &e
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if err := r.collections(ctx, all); err != nil {
		return 0, err
	}
	return max(last, after), r.jobs(ctx, all)
}

// collections restores the collections that were not deleted, and deletes
// those that were.
func (r *restore) collections(ctx context.Context, all map[string]*resource) error {
	for _, res := range all {
		switch {
		case res.gone != nil && res.gone.Collection != nil && !r.full:
			ref := res.gone.Collection.CollectionRef
			have, err := r.cfg.Store.ShardCollections(ctx, []job.CollectionRef{ref})
			if err != nil {
				return err
			}
			if len(have) == 1 && have[0].UID == res.gone.UID {
				if err := r.cfg.Store.DeleteCollection(ctx, have[0]); err != nil && !errors.Is(err, job.ErrChanged) {
					return err
				}
			}
		case res.gone == nil && res.newest != nil && res.newest.Collection != nil:
			if err := r.cfg.Store.RestoreCollection(ctx, r.lease(), res.newest.Collection); err != nil {
				return err
			}
		}
	}
	return nil
}

// parallel is how many restoring requests are under way at once.
const parallel = 16

// jobs restores the jobs that were not deleted, each with its checkpoints, and
// deletes those that were.
func (r *restore) jobs(ctx context.Context, all map[string]*resource) error {
	live := make(map[string]*resource)
	var refs []job.CollectionRef
	for uid, res := range all {
		if res.gone != nil && res.gone.Job != nil && !r.full {
			if err := r.cfg.Store.Clear(ctx, r.shard, res.gone.Job); err != nil && !errors.Is(err, job.ErrChanged) {
				return err
			}
		}
		if res.gone == nil && res.newest != nil && res.newest.Job != nil {
			live[uid] = res
			refs = append(refs, res.newest.Job.CollectionRef)
		}
	}
	present, err := r.present(ctx, refs)
	if err != nil {
		return err
	}
	// Of two jobs of one name the younger is the real one: the other's
	// tombstone was lost.
	named := make(map[string]*resource)
	for _, res := range live {
		j := res.newest.Job
		if !present[j.CollectionUID] {
			continue
		}
		name := j.CollectionUID + "/" + job.FoldName(j.Ref.Job)
		if other := named[name]; other == nil || other.newest.Job.CreatedAt.Before(j.CreatedAt) {
			named[name] = res
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, res := range named {
		r.touched[res.newest.UID] = true
		r.restored++
		g.Go(func() error { return r.job(ctx, res) })
	}
	return g.Wait()
}

func (r *restore) job(ctx context.Context, res *resource) error {
	if err := r.cfg.Store.RestoreJob(ctx, r.lease(), res.newest.Job); err != nil {
		return err
	}
	for _, e := range res.checkpoints {
		if err := r.cfg.Store.RestoreProgress(ctx, r.lease(), e.UID, e.Checkpoint); err != nil {
			return err
		}
	}
	return nil
}

// present returns the uids of those of the collections that exist.
func (r *restore) present(ctx context.Context, refs []job.CollectionRef) (map[string]bool, error) {
	slices.SortFunc(refs, func(a, b job.CollectionRef) int { return cmp.Compare(a.Key(), b.Key()) })
	refs = slices.CompactFunc(refs, func(a, b job.CollectionRef) bool { return a.Key() == b.Key() })
	uids := make(map[string]bool)
	for part := range slices.Chunk(refs, 500) {
		cols, err := r.cfg.Store.ShardCollections(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, c := range cols {
			uids[c.UID] = true
		}
	}
	return uids, nil
}

// begin sets the place in the history from which to read, and keeps the shard
// closed until it is up to date if it was empty.
func (r *restore) begin(ctx context.Context, p job.Progress) error {
	end, err := r.cfg.Queue.HistoryEnd(ctx, r.shard)
	if err != nil {
		return err
	}
	if p.History.History != end.History { // another history: a place in the old one means nothing
		p.History = job.Position{History: end.History}
	}
	r.at = p.History
	return r.cfg.Store.SetProgress(ctx, r.lease(), p)
}

// errEnd ends a replay.
var errEnd = errors.New("end of history") //nolint:gochecknoglobals // a sentinel

// replay applies the history up to its end as of now. Occurrences that the
// store does not know of are made known to it first.
func (r *restore) replay(ctx context.Context) error {
	end, err := r.cfg.Queue.HistoryEnd(ctx, r.shard)
	if err != nil {
		return err
	}
	if end.History != r.at.History {
		return fmt.Errorf("replay history: it is not the one it was: %w", job.ErrBehind)
	}
	if r.at.Sequence >= end.Sequence {
		return nil
	}
	err = r.cfg.Queue.Follow(ctx, r.shard, r.at, r.cfg.Batch, func(rs []job.Record) error {
		var list []job.Adoption
		if err := r.know(ctx, rs); err != nil {
			return err
		}
		for i := range rs {
			a := &rs[i].Attempt
			if r.seen[a.Tag] || rs[i].Missed > 0 {
				continue
			}
			r.seen[a.Tag] = true
			list = append(list, job.Adoption{Attempt: a, Make: r.forgotten(a), ActAt: r.watchAt()})
		}
		if err := r.cfg.Store.Adopt(ctx, r.lease(), list); err != nil {
			return err
		}
		// A retry waits from when the failure was stored.
		for i := range rs {
			if err := r.record(ctx, rs[i:i+1], rs[i].StoredAt); err != nil {
				return err
			}
		}
		if r.at.Sequence >= end.Sequence {
			return errEnd
		}
		return nil
	})
	if errors.Is(err, errEnd) {
		return nil
	}
	if err == nil {
		err = cmp.Or(context.Cause(ctx), errors.New("replay history: ended early"))
	}
	return err
}

// know remembers the newest nominal time that the store knew of for the jobs of
// results, before any of them is applied.
func (r *restore) know(ctx context.Context, rs []job.Record) error {
	var uids []string
	for i := range rs {
		if _, ok := r.newest[rs[i].UID]; !ok {
			r.newest[rs[i].UID] = time.Time{}
			uids = append(uids, rs[i].UID)
		}
	}
	if len(uids) == 0 {
		return nil
	}
	jobs, err := r.cfg.Store.ShardJobs(ctx, r.shard, uids)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if j != nil {
			r.newest[j.UID] = j.Status.LastAt
		}
	}
	return nil
}

// forgotten reports whether an attempt is of a run that the store lost, rather
// than one that it has finished.
func (r *restore) forgotten(a *job.Attempt) bool {
	lost := a.At.After(r.newest[a.UID])
	if a.Manual {
		lost = r.full
	}
	if lost {
		r.touched[a.UID] = true
	}
	return lost
}

// dispatches makes known to the store what waits in the dispatch stream.
func (r *restore) dispatches(ctx context.Context) error {
	var batch []job.Record
	var list []job.Adoption
	flush := func() error {
		if err := r.know(ctx, batch); err != nil {
			return err
		}
		for i := range list {
			list[i].Make = !r.seen[list[i].Tag] && r.forgotten(list[i].Attempt)
		}
		err := r.cfg.Store.Adopt(ctx, r.lease(), list)
		batch, list = batch[:0], list[:0]
		return err
	}
	err := r.cfg.Queue.Waiting(ctx, r.shard, func(d *job.Dispatch, sequence uint64) error {
		batch = append(batch, job.Record{Result: job.Result{Attempt: d.Attempt}})
		list = append(list, job.Adoption{Attempt: &d.Attempt, ActAt: r.watchAt(), Sequence: sequence, Resend: d.Resend})
		if len(list) < r.cfg.Batch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// oldest is the age from which a run request is taken for executed: history
// keeps no longer what would tell.
const oldest = 59 * 24 * time.Hour

// requests makes known to an empty store the run requests, and the runs that
// wait for long, of which history and dispatch stream know nothing.
func (r *restore) requests(ctx context.Context) error {
	if !r.full {
		return nil
	}
	var list []job.Adoption
	for _, p := range r.runs {
		if r.seen[p.Tag] || p.Manual && r.cfg.Store.Now().Sub(p.At) > oldest {
			continue
		}
		list = append(list, job.Adoption{Make: true, ActAt: p.DueAt, Attempt: &job.Attempt{Run: p.Run}})
	}
	return r.cfg.Store.Adopt(ctx, r.lease(), list)
}

// settle works out the next time of each job that was restored or whose
// progress was lost.
func (r *restore) settle(ctx context.Context) error {
	if len(r.touched) == 0 {
		return nil
	}
	if r.full {
		return r.cfg.Store.AllJobs(ctx, r.shard, func(c *job.Collection, jobs []*job.Job) error {
			return r.settleJobs(ctx, map[string]*job.Collection{c.UID: c}, jobs)
		})
	}
	for uids := range slices.Chunk(slices.Collect(maps.Keys(r.touched)), r.cfg.Batch) {
		jobs, err := r.cfg.Store.ShardJobs(ctx, r.shard, uids)
		if err != nil {
			return err
		}
		jobs = slices.DeleteFunc(jobs, func(j *job.Job) bool { return j == nil })
		refs := make([]job.CollectionRef, len(jobs))
		for i, j := range jobs {
			refs[i] = j.CollectionRef
		}
		read, err := r.cfg.Store.ShardCollections(ctx, refs)
		if err != nil {
			return err
		}
		cols := make(map[string]*job.Collection)
		for _, c := range read {
			cols[c.UID] = c
		}
		if err := r.settleJobs(ctx, cols, jobs); err != nil {
			return err
		}
	}
	return nil
}

func (r *restore) settleJobs(ctx context.Context, cols map[string]*job.Collection, jobs []*job.Job) error {
	steps := make([]job.Step, 0, len(jobs))
	for _, j := range jobs {
		c := cols[j.CollectionUID]
		if c == nil {
			continue
		}
		s := job.Step{Job: j, Collection: c}
		p := planned{Job: j}
		if j.Status.State == job.Enabled && !p.exhausted(0) {
			next, err := j.NextAfter(j.Status.LastAt, c.ActiveFrom)
			if err != nil {
				r.log.ErrorContext(ctx, "job has no valid schedule", "job", j.ID(), "err", err)
				continue
			}
			if next.IsZero() && c.State != job.CollectionEnabled {
				next = r.cfg.Store.Now().Add(hold)
			}
			s.NextAt = next
		}
		steps = append(steps, s)
	}
	return r.cfg.Store.Settle(ctx, r.lease(), steps)
}
