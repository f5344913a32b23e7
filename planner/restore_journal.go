package planner

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// resource is what the journal says of one job or collection.
type resource struct {
	uid          string
	newest, gone *job.Entry
	checkpoints  []*job.Entry
}

// journal applies what was journaled after a place and returns the place of the
// last entry.
func (r *restore) journal(ctx context.Context, after uint64) (uint64, error) {
	var all []*resource // in the order in which they were journaled first
	known := make(map[string]*resource)
	last, err := r.cfg.Queue.Entries(ctx, r.shard, after, func(e job.Entry) error {
		res := known[e.UID]
		if res == nil {
			res = &resource{uid: e.UID}
			known[e.UID], all = res, append(all, res)
		}
		switch {
		case e.Deleted:
			res.gone = &e
		case e.Run != nil:
			r.requested = append(r.requested, e.Run)
		case e.Checkpoint != nil:
			for i := range e.Checkpoint.Runs {
				r.requested = append(r.requested, &e.Checkpoint.Runs[i])
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
func (r *restore) collections(ctx context.Context, all []*resource) error {
	for _, res := range all {
		switch {
		case res.gone != nil && res.gone.Collection != nil && !r.full:
			have, err := r.collectionsOf(ctx, []job.CollectionRef{res.gone.Collection.CollectionRef})
			if err != nil {
				return err
			}
			if c := have[res.uid]; c != nil {
				if err := r.cfg.Store.DeleteCollection(ctx, c); err != nil && !errors.Is(err, job.ErrChanged) {
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

// jobs restores the jobs that were not deleted, and deletes those that were.
func (r *restore) jobs(ctx context.Context, all []*resource) error {
	var gone []string
	var live []*resource
	var refs []job.CollectionRef
	for _, res := range all {
		switch {
		case res.gone != nil:
			gone = append(gone, res.uid)
			continue
		case res.newest != nil && res.newest.Job != nil:
			live = append(live, res)
			refs = append(refs, res.newest.Job.CollectionRef)
		}
		// Of what the store holds already, or not at all, these change nothing.
		r.checkpoints = append(r.checkpoints, res.checkpoints...)
	}
	if err := r.remove(ctx, gone); err != nil {
		return err
	}
	cols, err := r.collectionsOf(ctx, refs)
	if err != nil {
		return err
	}
	// Of two jobs of one name the younger is the real one: the other's
	// tombstone was lost.
	live = slices.DeleteFunc(live, func(res *resource) bool { return cols[res.newest.Job.CollectionUID] == nil })
	nameOf := func(j *job.Job) string { return j.CollectionUID + "/" + job.FoldName(j.Job) }
	named := make(map[string]*job.Job)
	for _, res := range live {
		j, name := res.newest.Job, nameOf(res.newest.Job)
		if other := named[name]; other == nil || other.CreatedAt.Before(j.CreatedAt) {
			named[name] = j
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, res := range live {
		j := res.newest.Job
		if named[nameOf(j)] != j {
			continue
		}
		r.touched[j.UID] = true
		r.restored++
		g.Go(func() error { return r.cfg.Store.RestoreJob(ctx, r.lease(), j) })
	}
	return g.Wait()
}

// remove removes those of the jobs that the store holds, in whatever revision.
func (r *restore) remove(ctx context.Context, uids []string) error {
	if r.full {
		return nil
	}
	for part := range slices.Chunk(uids, r.cfg.Batch) {
		jobs, err := r.cfg.Store.ShardJobs(ctx, r.shard, part)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			if j == nil {
				continue
			}
			if err := r.cfg.Store.Clear(ctx, r.shard, j); err != nil && !errors.Is(err, job.ErrChanged) {
				return err
			}
		}
	}
	return nil
}

// collectionsOf returns those of the collections that exist, by their uids.
func (r *restore) collectionsOf(ctx context.Context, refs []job.CollectionRef) (map[string]*job.Collection, error) {
	slices.SortFunc(refs, func(a, b job.CollectionRef) int { return cmp.Compare(a.Key(), b.Key()) })
	refs = slices.CompactFunc(refs, func(a, b job.CollectionRef) bool { return a.Key() == b.Key() })
	cols := make(map[string]*job.Collection)
	for part := range slices.Chunk(refs, r.cfg.Batch) {
		read, err := r.cfg.Store.ShardCollections(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, c := range read {
			cols[c.UID] = c
		}
	}
	return cols, nil
}

// progress raises the jobs' counters to what was journaled of them.
func (r *restore) progress(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, e := range r.checkpoints {
		r.touched[e.UID] = true
		g.Go(func() error { return r.cfg.Store.RestoreProgress(ctx, r.lease(), r.at, e.UID, e.Checkpoint) })
	}
	return g.Wait()
}
