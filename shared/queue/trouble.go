package queue

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// trouble logs a fault when it begins and when it is over, however often it is
// met in between. It is safe for concurrent use.
type trouble struct {
	log *slog.Logger

	mu    sync.Mutex
	since time.Time // zero: all is well
}

// met is told of a fault.
func (t *trouble) met(ctx context.Context, what string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		t.since = time.Now()
		t.log.WarnContext(ctx, "queue is in trouble, trying again until it works", "doing", what, "err", err)
	}
}

// over is told that it works.
func (t *trouble) over(ctx context.Context, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.since.IsZero() {
		t.log.InfoContext(ctx, "queue works again", "doing", what, "after", time.Since(t.since))
		t.since = time.Time{}
	}
}

const (
	firstWait = 50 * time.Millisecond
	maxWait   = 2 * time.Second
)

// backoff is how long was waited before. Its zero value is ready.
type backoff time.Duration

// wait blocks for a while, longer each time, or until the connection is made
// anew or ctx is done.
func (q *Queue) wait(ctx context.Context, b *backoff) {
	d := min(max(2*time.Duration(*b), firstWait), maxWait)
	*b = backoff(d)
	connected := q.nc.StatusChanged(nats.CONNECTED)
	defer q.nc.RemoveStatusListener(connected)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-connected:
	case <-t.C:
	}
}

// fatal is an error that will not pass.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

// keep runs round again and again until ctx is done, when it returns nil, or
// round returns a [fatal] error, which it returns: faults of the broker pass.
// round's context ends with ctx, or when the connection is lost; round calls
// works when it does.
func (q *Queue) keep(ctx context.Context, what string, round func(ctx context.Context, works func()) error) error {
	t := &trouble{log: q.log}
	var b backoff
	for {
		began := time.Now()
		err := q.connected()
		if err == nil {
			online, cancel := q.online(ctx)
			err = round(online, func() { t.over(ctx, what) })
			cause := context.Cause(online)
			cancel()
			if err == nil {
				err = cause
			}
		}
		if f, ok := errors.AsType[fatal](err); ok {
			return f.error
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it failed because ctx ended
		}
		if time.Since(began) > 2*maxWait {
			b = 0
		}
		t.met(ctx, what, err)
		q.wait(ctx, &b)
	}
}
