package servicebus

import (
	"context"
	"sync/atomic"
	"time"
)

// once is the context of sending a message that must be sent once.
//
// It is needed because azservicebus, whatever its RetryOptions say, sends a
// message again by itself if the link was detached meanwhile (its
// AMQPLinks.Retry, "quick reconnect"), though the service may have taken the
// first one. Before that it closes what is left of the link, and for that it
// derives a context with a bound; sending alone never derives one. So this
// context ends when another is to be derived from it, and the second sending
// does not come about.
//
// It also tells whether sending was tried at all: that begins with Done, to
// wait for the link to take the message, while a link that is already lost is
// found before.
type once struct {
	context.Context //nolint:containedctx // it is one
	cancel          context.CancelFunc
	first           atomic.Int32 // which use came first
}

// The first use of a once.
const (
	unused int32 = iota
	sent         // it was waited for
	derived
)

func newOnce(ctx context.Context) *once {
	ctx, cancel := context.WithCancel(ctx)
	return &once{Context: ctx, cancel: cancel}
}

// tried reports whether the message may have been sent.
func (o *once) tried() bool { return o.first.Load() == sent }

// Done is asked for by whoever waits: sending, or deriving a context.
func (o *once) Done() <-chan struct{} {
	o.first.CompareAndSwap(unused, sent)
	return o.Context.Done()
}

// Deadline is the first that deriving a context with a bound asks for. Sending
// asks for it too, but later.
func (o *once) Deadline() (deadline time.Time, ok bool) {
	if o.first.CompareAndSwap(unused, derived) {
		o.cancel()
	}
	return o.Context.Deadline()
}

// Value is asked for only by what derives a context.
func (o *once) Value(key any) any {
	o.cancel()
	return o.Context.Value(key)
}
