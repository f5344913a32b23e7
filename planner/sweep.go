package planner

import (
	"context"
	"errors"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// sweepEvery is how often an owner clears away what is no longer needed.
const sweepEvery = 10 * time.Second

// sweep now and then deletes jobs that have been final for long enough (Azure
// documentation: completed and faulted jobs are deleted after 60 days) and what
// is left of deleted collections, and notes how much of the journal the store
// is sure to hold.
func (o *owner) sweep(ctx context.Context, now time.Time) error {
	if now.Sub(o.swept) < sweepEvery {
		return nil
	}
	o.swept = now
	expired, err := o.cfg.Store.Expired(ctx, o.shard, now.Add(-o.cfg.KeepFinal), o.cfg.Batch)
	if err != nil {
		return err
	}
	orphans, err := o.cfg.Store.Orphans(ctx, o.shard, o.cfg.Batch)
	if err != nil {
		return err
	}
	if len(expired) == o.cfg.Batch || len(orphans) == o.cfg.Batch {
		o.swept = time.Time{} // there is more
	}
	for _, j := range append(expired, orphans...) {
		if err := o.clear(ctx, j); err != nil {
			return err
		}
	}
	if err := o.checkpoint(ctx); err != nil {
		return err
	}
	return o.advance(ctx)
}

// clear deletes a job for good. Its tombstone comes first: a job that is in the
// store but not in the journal is cleared again.
func (o *owner) clear(ctx context.Context, j *job.Job) error {
	gone := *j
	gone.Revision++
	entry := job.Entry{Shard: o.shard, UID: j.UID, Revision: gone.Revision, Job: &gone, Deleted: true}
	if err := o.cfg.Queue.Journal(ctx, entry); err != nil {
		return err
	}
	if err := o.cfg.Store.Clear(ctx, o.shard, j); err != nil && !errors.Is(err, job.ErrChanged) {
		return err
	}
	return nil
}

// advance moves the shard's place in the journal to where the journal ended at
// the sweep before. Writers write to the store first, then to the journal, so
// the store holds all of that; unless it came back older.
func (o *owner) advance(ctx context.Context) error {
	if err := o.whole(ctx); err != nil {
		return err
	}
	end, err := o.cfg.Queue.JournalEnd(ctx, o.shard)
	if err != nil {
		return err
	}
	if o.journalEnd > o.journaled {
		p := job.Progress{Ready: true, Journal: o.journalEnd, History: o.at, From: o.at}
		if err := o.cfg.Store.SetProgress(ctx, *o.lease.Load(), p); err != nil {
			return err
		}
		o.journaled = o.journalEnd
	}
	o.journalEnd = end
	return nil
}
