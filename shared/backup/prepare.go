package backup

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Opener is how shards come to be ready to be written to.
type Opener interface {
	Shards() int
	Ready(ctx context.Context) error
	Planners(ctx context.Context) (int, error)
	Progress(ctx context.Context, shard int) (job.Progress, error)
	Lease(ctx context.Context, shard int, owner string, term time.Duration) (job.Lease, error)
	SetProgress(ctx context.Context, l job.Lease, p job.Progress) error
	Release(ctx context.Context, shard int, owner string) error
}

// NotEmptyError is the refusal to restore into a cluster that holds something.
type NotEmptyError struct{ Collections int }

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("the cluster is not empty, it has job collections: %d", e.Collections)
}

// open opens shards that never held anything. Those that have yet to be rebuilt
// it leaves to planners, and waits for.
func (r *restoration) open(ctx context.Context) error {
	owner := "restore/" + rand.Text()
	for shard := range r.Store.Shards() {
		end, err := r.Queue.JournalEnd(ctx, shard)
		if err != nil {
			return err
		}
		r.heard = append(r.heard, end > 0)
		if end > 0 {
			continue
		}
		if err := r.openEmpty(ctx, shard, owner); err != nil {
			return err
		}
	}
	return r.await(ctx, func() error { return r.Store.Ready(ctx) })
}

// openEmpty opens a shard of which the journal has nothing, unless it is open or a
// planner is about it.
func (r *restoration) openEmpty(ctx context.Context, shard int, owner string) error {
	have, err := r.Store.Progress(ctx, shard)
	if err != nil || have.Ready {
		return err
	}
	l, err := r.Store.Lease(ctx, shard, owner, 3*time.Second)
	if err != nil || !l.Held() {
		return err
	}
	// What history there is, is not of what will be restored, or counted in it.
	end, err := r.Queue.HistoryEnd(ctx, shard)
	if err == nil {
		err = r.Store.SetProgress(ctx, l, job.Progress{Ready: true, History: end})
	}
	return errors.Join(err, r.Store.Release(ctx, shard, owner))
}

// patience is how long a restore waits for planners that are at work.
const patience = time.Minute

// await waits until something that planners do is done, for as long as it fails
// with [job.ErrNotReady] or [job.ErrChanged] and there are planners.
func (r *restoration) await(ctx context.Context, done func() error) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; {
		err := done()
		if !errors.Is(err, job.ErrNotReady) && !errors.Is(err, job.ErrChanged) || time.Now().After(end) {
			return err
		}
		if n, otherErr := r.Store.Planners(ctx); otherErr != nil || n == 0 {
			return cmp.Or(otherErr, err)
		}
		r.Progress("waiting for planners")
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// admit refuses a cluster that holds something, unless it is to be merged with,
// or this backup's restore into it was interrupted.
func (r *restoration) admit(ctx context.Context, id string) error {
	n, err := r.Store.Count(ctx)
	if err != nil {
		return err
	}
	if n == 0 {
		return r.Store.SetImporting(ctx, id)
	}
	begun, err := r.Store.Importing(ctx)
	if err != nil || r.Merge || begun == id {
		return err
	}
	return &NotEmptyError{n}
}
