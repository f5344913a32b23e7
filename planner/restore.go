package planner

import (
	"context"
	"maps"
	"slices"
	"time"

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
	r := &restore{
		owner: o, full: !p.Ready, recorded: make(map[string]map[string]bool),
		seen: make(map[string]bool), faded: make(map[string]time.Time), touched: make(map[string]bool),
	}
	if r.full {
		// An earlier attempt may have left something, which would count twice.
		if err := o.cfg.Store.Reset(ctx, r.lease()); err != nil {
			return err
		}
		p.Journal, p.History = 0, job.Position{}
	}
	if o.journaled, err = r.journal(ctx, p.Journal); err != nil {
		return err
	}
	for _, stage := range []func(context.Context) error{
		func(ctx context.Context) error { return r.begin(ctx, p) },
		r.schedule,
		r.replay,
		r.dispatches,
		// What was taken from the dispatch stream before it was read has its
		// result in the history by now.
		r.replay,
		r.requests,
		// What is counted from the history must not be counted on top of these.
		r.progress,
		r.settle,
	} {
		if err := stage(ctx); err != nil {
			return err
		}
	}
	o.journalEnd = o.journaled
	if err := o.cfg.Store.SetProgress(ctx, r.lease(), job.Progress{Ready: true, Journal: o.journaled, History: o.at, From: o.at}); err != nil {
		return err
	}
	if n := len(r.seen); r.full && (n > 0 || o.journaled > 0) {
		o.log.InfoContext(ctx, "shard rebuilt", "jobs", r.restored, "runs", n, "took", time.Since(began).Round(time.Millisecond))
	}
	if err := o.checkpoint(ctx); err != nil && !full(err) {
		return err
	}
	return nil
}

// restore is one catching up.
type restore struct {
	*owner
	full bool // the store holds nothing

	// from is where the store was in the history. What comes after is new to it.
	from job.Position
	// replaced means that the store was in another history, of which nothing is
	// left to be asked.
	replaced bool

	restored    int
	checkpoints []*job.Entry
	requested   []*job.Pending             // runs that the journal knows of
	recorded    map[string]map[string]bool // by job uid: tags of runs of which history had something at from
	seen        map[string]bool            // by tag: a result was replayed
	faded       map[string]time.Time       // by job uid: what was before is no longer in the history
	touched     map[string]bool            // jobs whose next time has to be worked out again
}

func (r *restore) lease() job.Lease { return *r.owner.lease.Load() }

// begin sets the place in the history from which to read, and keeps the shard
// closed until it is up to date if it was empty.
func (r *restore) begin(ctx context.Context, p job.Progress) error {
	end, err := r.cfg.Queue.HistoryEnd(ctx, r.shard)
	if err != nil {
		return err
	}
	r.from = p.History
	if r.from.History != end.History { // a place in another history means nothing
		r.replaced = r.from.History != ""
		r.from = job.Position{History: end.History}
	}
	r.from.Sequence = min(r.from.Sequence, end.Sequence) // it may have lost its end
	p.From = p.History
	r.at, p.History = r.from, r.from
	return r.cfg.Store.SetProgress(ctx, r.lease(), p)
}

// schedule gives the restored jobs a next time where they have one, as far as is
// known yet: the replay of a result takes a job without one for finished.
func (r *restore) schedule(ctx context.Context) error {
	return r.steps(ctx, func(s *job.Step) bool { return !s.NextAt.IsZero() })
}

// settle works out the next time of each job that was restored or whose
// progress was lost.
func (r *restore) settle(ctx context.Context) error {
	return r.steps(ctx, func(*job.Step) bool { return true })
}

// steps settles those of the jobs touched for which it is so.
func (r *restore) steps(ctx context.Context, so func(*job.Step) bool) error {
	for uids := range slices.Chunk(slices.Sorted(maps.Keys(r.touched)), r.cfg.Batch) {
		jobs, err := r.cfg.Store.ShardJobs(ctx, r.shard, uids)
		if err != nil {
			return err
		}
		jobs = slices.DeleteFunc(jobs, func(j *job.Job) bool { return j == nil || j.Status.State.Final() })
		refs := make([]job.CollectionRef, len(jobs))
		for i, j := range jobs {
			refs[i] = j.CollectionRef
		}
		cols, err := r.collectionsOf(ctx, refs)
		if err != nil {
			return err
		}
		steps := make([]job.Step, 0, len(jobs))
		for _, j := range jobs {
			if c := cols[j.CollectionUID]; c != nil {
				s := job.Step{Job: j, Collection: c, NextAt: r.next(ctx, j, c)}
				if so(&s) {
					steps = append(steps, s)
				}
			}
		}
		if err := r.cfg.Store.Settle(ctx, r.lease(), steps); err != nil {
			return err
		}
	}
	return nil
}

// next returns when a job is to be looked at next; zero: never.
func (r *restore) next(ctx context.Context, j *job.Job, c *job.Collection) time.Time {
	if j.Status.State != job.Enabled || exhausted(j, 0) {
		return time.Time{}
	}
	next, err := j.NextAfter(newest(j), c.ActiveFrom)
	switch {
	case err != nil: // was valid when it was written
		r.log.ErrorContext(ctx, "job has no valid schedule", "job", j.ID(), "err", err)
		return job.Ceil(r.cfg.Store.Now().Add(postpone))
	case next.IsZero() && c.State != job.CollectionEnabled:
		return job.Ceil(r.cfg.Store.Now().Add(hold))
	}
	return next
}
