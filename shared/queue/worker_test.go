package queue_test

// What happens to dispatches when workers come, go and fall silent.

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/queue"
)

// TestSlowHandleKeepsItsDispatch has handles take far longer than a worker may
// be silent, while another worker waits for work.
func TestSlowHandleKeepsItsDispatch(t *testing.T) {
	nc := connect(t)
	q := reopen(t, nc, queue.Config{AckWait: time.Second})
	h := &handles{verdict: func(*job.Dispatch, int) job.Verdict { time.Sleep(3 * time.Second); return job.Verdict{} }}
	send(t, q, dispatchesOf(uid(1), 3)...)
	consume(t, q, 2, h)
	consume(t, q, 2, h)
	eventually(t, "all are done", func() bool { return left(t, nc) == 0 })
	if h.count() != 3 {
		t.Errorf("handled %d times, want 3: %+v", h.count(), h.calls)
	}
}

// TestSilentWorkerLosesItsDispatch shows that what a worker took and never spoke
// of again goes to another.
func TestSilentWorkerLosesItsDispatch(t *testing.T) {
	nc := connect(t)
	q := reopen(t, nc, queue.Config{AckWait: 200 * time.Millisecond})
	send(t, q, dispatch(uid(1), 1))
	c, err := streams(t, nc).Consumer(t.Context(), "DISPATCH", "workers")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Next(jetstream.FetchMaxWait(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	h := &handles{}
	consume(t, q, 1, h)
	eventually(t, "all are done", func() bool { return left(t, nc) == 0 })
	if d := cmp.Diff([]delivered{{dispatch(uid(1), 1).Tag, 2}}, h.calls); d != "" {
		t.Error(d)
	}
}

func TestConsumeDrains(t *testing.T) {
	q, nc := open(t)
	release, started := make(chan struct{}), make(chan context.Context, 10)
	send(t, q, dispatchesOf(uid(1), 10)...)
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan error, 1)
	go func() {
		returned <- q.Consume(ctx, 2, func(ctx context.Context, _ *job.Dispatch, _ int) job.Verdict {
			started <- ctx
			<-release
			return job.Verdict{}
		})
	}()
	handle := <-started
	<-started
	cancel()
	// Another worker is given the others at once, long before AckWait.
	h := &handles{}
	consume(t, q, 100, h)
	eventually(t, "the others are done", func() bool { return left(t, nc) == 2 })
	if err := handle.Err(); err != nil {
		t.Errorf("handle's context: %v", err)
	}
	select {
	case err := <-returned:
		t.Errorf("consume returned before its handles: %v", err)
	default:
	}
	close(release)
	if err := <-returned; err != nil {
		t.Error(err)
	}
	eventually(t, "what ran is done", func() bool { return left(t, nc) == 0 })
	if h.count() != 8 {
		t.Errorf("the other worker handled %d, want 8", h.count())
	}
}

// TestConsumeLeavesNothingBehind has workers come and go. What is on its way to
// one when it goes is given back, and not only found to be missing after AckWait.
func TestConsumeLeavesNothingBehind(t *testing.T) {
	q, nc := open(t)
	stop := background(t, func(ctx context.Context) error {
		for n := 0; ctx.Err() == nil && n < 200; n++ {
			if _, err := q.Dispatch(ctx, dispatchesOf(uid(n), 20)); err != nil && ctx.Err() == nil {
				return err
			}
		}
		return nil
	})
	h := &handles{}
	for range 60 {
		seen := h.count()
		ctx, cancel := context.WithCancel(t.Context())
		returned := make(chan error, 1)
		go func() { returned <- q.Consume(ctx, 50, h.handle) }()
		for h.count() == seen && left(t, nc) > 0 { // until it is at work
		}
		cancel()
		if err := <-returned; err != nil {
			t.Error(err)
		}
	}
	stop()
	began := time.Now()
	consume(t, q, 50, h)
	eventually(t, "the rest is done", func() bool { return left(t, nc) == 0 })
	if d := time.Since(began); d > 20*time.Second {
		t.Errorf("the rest took %v", d)
	}
}

// TestConsumeSurvives takes away what Consume stands on, while nothing, and then
// while something, is being worked on.
func TestConsumeSurvives(t *testing.T) {
	for _, tt := range []struct {
		name string
		harm func(t *testing.T, js jetstream.JetStream) error
	}{
		{"consumer deleted", func(t *testing.T, js jetstream.JetStream) error {
			return js.DeleteConsumer(t.Context(), "DISPATCH", "workers")
		}},
		{"stream deleted", func(t *testing.T, js jetstream.JetStream) error { return js.DeleteStream(t.Context(), "DISPATCH") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q, nc := open(t)
			js := streams(t, nc)
			h := &handles{}
			consume(t, q, 4, h)
			for round := 1; round <= 3; round++ {
				eventually(t, "consumer is asked for dispatches", func() bool {
					c, err := js.Consumer(t.Context(), "DISPATCH", "workers")
					return err == nil && c.CachedInfo().NumWaiting > 0
				})
				send(t, q, dispatch(uid(1), round))
				eventually(t, "dispatch is handled", func() bool { return h.count() == round })
				eventually(t, "dispatch is done", func() bool { return left(t, nc) == 0 })
				if err := tt.harm(t, js); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestRedeliveryOfWhatIsRunning has the broker deliver a dispatch again to the
// worker that is working on it, as it does when a connection was lost for long.
func TestRedeliveryOfWhatIsRunning(t *testing.T) {
	nc := connect(t)
	q := reopen(t, nc, queue.Config{AckWait: 300 * time.Millisecond})
	answers := make(chan *nats.Msg, 100)
	sub, err := nc.ChanSubscribe("$JS.ACK.DISPATCH.workers.>", answers)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	release := make(chan struct{})
	h := &handles{verdict: func(*job.Dispatch, int) job.Verdict { <-release; return job.Verdict{} }}
	send(t, q, dispatch(uid(1), 1))
	consume(t, q, 4, h)
	first := <-answers // that it is in progress
	if err := nc.Publish(first.Subject, []byte("-NAK")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "progress is told of the second delivery", func() bool {
		m := <-answers
		return m.Subject != first.Subject && string(m.Data) == "+WPI"
	})
	close(release)
	eventually(t, "it is done", func() bool { return left(t, nc) == 0 })
	if h.count() != 1 {
		t.Errorf("handled %d times, want once", h.count())
	}
}
