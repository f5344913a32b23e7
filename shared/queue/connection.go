package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// patience is how long an answer of the broker is waited for.
const patience = 10 * time.Second

// attempts are how long each time, patience in all.
var attempts = [...]time.Duration{time.Second, time.Second, 2 * time.Second, 2 * time.Second, 4 * time.Second} //nolint:gochecknoglobals // a constant

var (
	errOffline = errors.New("connection to nats was lost")
	errSlow    = errors.New("nats does not answer")
)

// connected returns an error if there is no connection. What is published then
// might be sent long after.
func (q *Queue) connected() error {
	switch s := q.nc.Status(); s {
	case nats.CONNECTED:
		return nil
	case nats.CLOSED:
		return nats.ErrConnectionClosed
	default:
		return fmt.Errorf("connection to nats is %s", s)
	}
}

// online returns a context that ends with ctx, or when the connection is lost.
// No answer comes after that.
func (q *Queue) online(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	lost := q.nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	if q.connected() != nil {
		cancel(errOffline)
	}
	go func() {
		select {
		case <-lost:
			cancel(errOffline)
		case <-ctx.Done():
		}
		q.nc.RemoveStatusListener(lost)
	}()
	return ctx, func() { cancel(nil) }
}

// ask calls f, which makes a request, and returns its error, or why there is no
// hope of an answer. In a cluster nobody answers while the leader changes, so f
// is called again when no answer has come for a while. To make the request twice
// must be harmless.
func (q *Queue) ask(ctx context.Context, f func(context.Context) error) error {
	if err := q.connected(); err != nil {
		return err
	}
	ctx, cancel := q.online(ctx)
	defer cancel()
	for _, wait := range attempts {
		err := askOnce(ctx, wait, f)
		if cause := context.Cause(ctx); err != nil && cause != nil {
			return cause
		}
		if !errors.Is(err, errSlow) {
			return err
		}
	}
	return errSlow
}

func askOnce(ctx context.Context, wait time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errSlow)
	defer cancel()
	err := f(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}
