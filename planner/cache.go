package planner

import (
	"context"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// cache keeps what planning needs of the jobs of a shard, compiled. What it
// holds may be old: the store refuses a plan made from an old revision, and
// then the job is forgotten here and read again. Progress is kept by the owner,
// who alone makes it.
type cache struct {
	jobs        map[string]*planned
	collections map[string]*job.Collection // by key
}

// planned is a job with its timetable.
type planned struct {
	*job.Job
	timetable job.Timetable
	invalid   bool       // it has none
	action    job.Action // the main one, as dispatched
	retries   retries
}

// cacheSize is the most jobs a cache holds, so that a planner's memory is
// bounded.
const cacheSize = 20_000

func newCache() *cache {
	return &cache{jobs: make(map[string]*planned), collections: make(map[string]*job.Collection)}
}

func (c *cache) forget(j *job.Job) { delete(c.jobs, j.UID) }

// load returns what is planned of the jobs with these uids, and their
// collections; those that do not exist are left out.
func (o *owner) load(ctx context.Context, due []job.Due) ([]*planned, error) {
	var unknown []string
	for _, d := range due {
		if o.cache.jobs[d.ID] == nil {
			unknown = append(unknown, d.ID)
		}
	}
	if len(unknown) > 0 {
		if len(o.cache.jobs)+len(unknown) > cacheSize {
			o.cache = newCache()
			unknown = unknown[:0]
			for _, d := range due {
				unknown = append(unknown, d.ID)
			}
		}
		read, err := o.cfg.Store.ShardJobs(ctx, o.shard, unknown)
		if err != nil {
			return nil, err
		}
		for _, j := range read {
			if j == nil {
				continue
			}
			t, err := job.NewTimetable(&j.Definition, j.Anchor)
			if err != nil { // was valid when it was written
				o.log.ErrorContext(ctx, "job has no valid schedule", "job", j.ID(), "err", err)
			}
			a, r := prepared(&j.Action, job.MainAction)
			o.cache.jobs[j.UID] = &planned{Job: j, timetable: t, invalid: err != nil, action: a, retries: r}
		}
	}
	list := make([]*planned, 0, len(due))
	var refs []job.CollectionRef
	asked := make(map[string]bool)
	for _, d := range due {
		p := o.cache.jobs[d.ID]
		if p == nil {
			continue
		}
		list = append(list, p)
		// A collection of another uid is one that was deleted before this job's
		// was made, or made after it was deleted: only a new look can tell.
		if c := o.cache.collections[p.Key()]; (c == nil || c.UID != p.CollectionUID) && !asked[p.Key()] {
			asked[p.Key()] = true
			delete(o.cache.collections, p.Key())
			refs = append(refs, p.CollectionRef)
		}
	}
	if len(refs) > 0 {
		read, err := o.cfg.Store.ShardCollections(ctx, refs)
		if err != nil {
			return nil, err
		}
		for _, c := range read {
			o.cache.collections[c.Key()] = c
		}
	}
	return list, nil
}
