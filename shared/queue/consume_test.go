package queue_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/queue"
)

// delivered is one call of a handle.
type delivered struct {
	Tag      string
	Delivery int
}

// handles is what a worker was given, and how it answers.
type handles struct {
	mu    sync.Mutex
	calls []delivered
	now   int // running
	most  int // running at once

	verdict func(d *job.Dispatch, delivery int) job.Verdict
}

func (h *handles) handle(_ context.Context, d *job.Dispatch, delivery int) job.Verdict {
	h.mu.Lock()
	h.calls = append(h.calls, delivered{d.Tag, delivery})
	h.now++
	h.most = max(h.most, h.now)
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.now--
		h.mu.Unlock()
	}()
	if h.verdict == nil {
		return job.Verdict{}
	}
	return h.verdict(d, delivery)
}

func (h *handles) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.calls)
}

func consume(t *testing.T, q *queue.Queue, limit int, h *handles) {
	t.Helper()
	background(t, func(ctx context.Context) error { return q.Consume(ctx, limit, h.handle) })
}

// consumer returns the state of the workers' consumer.
func consumer(t *testing.T, nc *nats.Conn) *jetstream.ConsumerInfo {
	t.Helper()
	c, err := streams(t, nc).Consumer(t.Context(), "DISPATCH", "workers")
	if err != nil {
		t.Fatal(err)
	}
	return c.CachedInfo()
}

// left returns how many dispatches are on the stream.
func left(t *testing.T, nc *nats.Conn) uint64 {
	t.Helper()
	s, err := streams(t, nc).Stream(t.Context(), "DISPATCH")
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

func TestConsumeKeepsToTheLimit(t *testing.T) {
	q, nc := open(t)
	const limit = 5
	gate := make(chan struct{})
	h := &handles{verdict: func(*job.Dispatch, int) job.Verdict { <-gate; return job.Verdict{} }}
	send(t, q, dispatchesOf(uid(1), 60)...)
	consume(t, q, limit, h)
	eventually(t, "as many run as may", func() bool { return h.count() == limit })
	// What runs is all that was taken: the rest is there for other workers.
	if got := consumer(t, nc).NumAckPending; got != limit {
		t.Errorf("%d dispatches taken, want %d", got, limit)
	}
	gate <- struct{}{}
	eventually(t, "the next runs", func() bool { return h.count() == limit+1 })
	eventually(t, "the first is done", func() bool { return left(t, nc) == 59 })
	if c := consumer(t, nc); c.NumAckPending != limit || c.NumRedelivered != 0 {
		t.Errorf("%d dispatches taken, %d of them again, want %d and 0", c.NumAckPending, c.NumRedelivered, limit)
	}
	for range 59 {
		gate <- struct{}{}
	}
	eventually(t, "all are done", func() bool { return left(t, nc) == 0 })
	if h.most > limit || h.count() != 60 {
		t.Errorf("%d ran at once and %d in all, want %d and 60", h.most, h.count(), limit)
	}
	for _, c := range h.calls {
		if c.Delivery != 1 {
			t.Errorf("%s was taken %d times", c.Tag, c.Delivery)
		}
	}
}

func TestConsumeGivesWhatWasSent(t *testing.T) {
	q, _ := open(t)
	want := dispatch(uid(1), 1)
	got := make(chan *job.Dispatch, 1)
	stop := background(t, func(ctx context.Context) error {
		return q.Consume(ctx, 1, func(_ context.Context, d *job.Dispatch, _ int) job.Verdict {
			got <- d
			return job.Verdict{}
		})
	})
	defer stop()
	sent := *want
	sent.Skipped = 3 // not for workers
	send(t, q, &sent)
	if d := cmp.Diff(want, <-got); d != "" {
		t.Error(d)
	}
}

func TestVerdicts(t *testing.T) {
	q, nc := open(t)
	ds := dispatchesOf(uid(1), 3)
	done, again, drop := ds[0].Tag, ds[1].Tag, ds[2].Tag
	h := &handles{verdict: func(d *job.Dispatch, delivery int) job.Verdict {
		switch {
		case d.Tag == again && delivery < 3:
			return job.Verdict{Again: 30 * time.Millisecond}
		case d.Tag == drop:
			return job.Verdict{Drop: "no use"}
		}
		return job.Verdict{}
	}}
	began := time.Now()
	send(t, q, ds...)
	consume(t, q, 1, h)
	eventually(t, "all are gone", func() bool { return left(t, nc) == 0 })
	if d := time.Since(began); d < 60*time.Millisecond {
		t.Errorf("twice again after 30 ms took %v", d)
	}
	want := []delivered{{done, 1}, {again, 1}, {drop, 1}, {again, 2}, {again, 3}}
	if d := cmp.Diff(want, h.calls); d != "" {
		t.Error(d)
	}
}

func TestUnreadableDispatchIsDropped(t *testing.T) {
	nc := connect(t)
	var log logged
	q := reopen(t, nc, queue.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	js := streams(t, nc)
	for _, text := range []string{`{"v":`, `{"v":2,"tag":[]}`, `{"v":2}`, `{}`, ``} {
		if _, err := js.Publish(t.Context(), "dispatch.1.t", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	send(t, q, dispatch(uid(1), 1))
	h := &handles{}
	consume(t, q, 1, h)
	eventually(t, "all are gone", func() bool { return left(t, nc) == 0 })
	if h.count() != 1 {
		t.Errorf("%d were handled, want 1", h.count())
	}
	if got := strings.Count(log.String(), "dispatch dropped that cannot be read"); got != 5 {
		t.Errorf("%d log lines, want 5: %s", got, &log)
	}
	if got := strings.Count(log.String(), "message is of a newer version: 2, and this carillon knows 1"); got != 2 {
		t.Errorf("%d lines about versions, want 2: %s", got, &log)
	}
}

// logged is a buffer for concurrent use.
type logged struct {
	mu sync.Mutex
	strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.String()
}

func TestConsumeLimitIsChecked(t *testing.T) {
	q, _ := open(t)
	if err := q.Consume(t.Context(), 0, (&handles{}).handle); err == nil {
		t.Error("no error")
	}
}
