package worker

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// errShutdown is the cause with which contexts end when the grace period is
// over.
var errShutdown = fmt.Errorf("worker shuts down: %w", context.Canceled)

// deriveFunc derives from a context one that ends earlier.
type deriveFunc = func(context.Context) (context.Context, context.CancelFunc)

// grace is the time that what is under way has left when Run's context ends.
type grace struct {
	// acting and recording derive contexts that end, with errShutdown as their
	// cause, when there is no time left for it. Acting ends a little earlier, so
	// that an action that is over in time is recorded too.
	acting, recording deriveFunc
	// stop releases what grace holds. It returns when that is done.
	stop func()
}

// newGrace returns a grace period of length d that begins when run ends.
func newGrace(run context.Context, d time.Duration) *grace {
	base := context.WithoutCancel(run)
	act, cutActing := context.WithCancelCause(base)
	record, cutRecording := context.WithCancelCause(base)

	var wg sync.WaitGroup
	finished := make(chan struct{})
	wait := func(over <-chan time.Time) bool {
		select {
		case <-over:
			return true
		case <-finished:
			return false
		}
	}
	wg.Go(func() {
		select {
		case <-run.Done():
		case <-finished:
			return
		}
		reserve := min(d/10, 2*time.Second)
		if !wait(time.After(d - reserve)) {
			return
		}
		cutActing(errShutdown)
		if wait(time.After(reserve)) {
			cutRecording(errShutdown)
		}
	})
	return &grace{
		acting:    until(act),
		recording: until(record),
		stop: func() {
			close(finished)
			wg.Wait()
			cutActing(nil)
			cutRecording(nil)
		},
	}
}

// until returns a function that derives contexts that end, at the latest, when
// end does, and with its cause.
func until(end context.Context) deriveFunc {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		release := context.AfterFunc(end, func() { cancel(context.Cause(end)) })
		return ctx, func() {
			release()
			cancel(nil)
		}
	}
}
