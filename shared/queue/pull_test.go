package queue

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/shared/embedded"
	"github.com/carillon-scheduler/carillon/shared/job"
)

func TestPullHears(t *testing.T) {
	for _, tt := range []struct {
		name   string
		header nats.Header
		data   string
		mine   bool   // a message
		refuse int    // requests that were refused before
		asked  int    // of 10
		over   bool   // a request has ended
		lost   string // why the pull is of no more use
	}{
		{name: "message", data: "x", mine: true, asked: 10},
		{name: "empty message", mine: true, asked: 10},
		{name: "message with a header like that", header: nats.Header{"Status": {"404"}}, data: "x", mine: true, asked: 10},
		{name: "heartbeat", header: nats.Header{"Status": {"100"}}, asked: 10},
		{name: "request expired", header: nats.Header{"Status": {"408"}, "Nats-Pending-Messages": {"7"}}, asked: 3, over: true},
		{name: "request of a time before", header: nats.Header{"Status": {"408"}, "Nats-Pending-Messages": {"70"}}, asked: 0, over: true},
		{name: "bad request", header: nats.Header{"Status": {"408"}, "Description": {"No"}}, asked: 10, lost: "408 No"},
		{name: "consumer deleted", header: nats.Header{"Status": {"409"}, "Description": {"Consumer Deleted"}}, asked: 10, lost: "409 Consumer Deleted"},
		{name: "nobody there yet", header: nats.Header{"Status": {"503"}}, refuse: refusals - 1},
		{name: "nobody there", header: nats.Header{"Status": {"503"}}, refuse: refusals, lost: "no responders"},
	} {
		p := &pull{asked: 10, refused: tt.refuse, over: make(chan struct{}, 1), lost: make(chan error, 1)}
		if mine := p.hear(&nats.Msg{Header: tt.header, Data: []byte(tt.data)}); mine != tt.mine {
			t.Errorf("%s: is a message: %v, want %v", tt.name, mine, tt.mine)
		}
		if p.asked != tt.asked || len(p.over) == 1 != tt.over {
			t.Errorf("%s: asked for %d, ended %d; want %d, %v", tt.name, p.asked, len(p.over), tt.asked, tt.over)
		}
		lost := ""
		if len(p.lost) > 0 {
			lost = (<-p.lost).Error()
		}
		if (lost == "") != (tt.lost == "") || !strings.Contains(lost, tt.lost) {
			t.Errorf("%s: lost: %q, want %q", tt.name, lost, tt.lost)
		}
	}
}

// impatient returns a queue whose pulls expire, and find the broker silent,
// within a moment.
func impatient(t *testing.T) *Queue {
	t.Helper()
	nc, stop, err := embedded.NATS(embedded.NATSConfig{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	q, err := Open(t.Context(), nc, Config{Shards: 8})
	if err != nil {
		t.Fatal(err)
	}
	q.expiry, q.heartbeat = 200*time.Millisecond, 100*time.Millisecond
	return q
}

// handled consumes one dispatch at a time and counts them.
func handled(t *testing.T, q *Queue) *atomic.Int64 {
	t.Helper()
	var n atomic.Int64
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	returned := make(chan error, 1)
	go func() {
		returned <- q.Consume(ctx, 1, func(context.Context, *job.Dispatch, int) job.Verdict {
			n.Add(1)
			return job.Verdict{}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-returned; err != nil {
			t.Error(err)
		}
	})
	return &n
}

func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

// TestPullAsksAgain waits until requests have expired several times.
func TestPullAsksAgain(t *testing.T) {
	q := impatient(t)
	got := make(chan *nats.Msg, 1)
	p, err := q.newPull(dispatches, workers, func(m *nats.Msg) { got <- m })
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	for range 3 {
		p.want(5)
		select {
		case <-p.over:
		case err := <-p.lost:
			t.Fatal(err)
		}
	}
	if _, err := q.Dispatch(t.Context(), []*job.Dispatch{full()}); err != nil {
		t.Fatal(err)
	}
	p.want(5)
	select {
	case <-got:
	case err := <-p.lost:
		t.Fatal(err)
	}
}

// TestPullNoticesSilence has the broker ignore requests without a word, as it
// does when too many wait.
func TestPullNoticesSilence(t *testing.T) {
	q := impatient(t)
	config := q.cfg.consumer()
	config.MaxWaiting = 1
	if err := q.js.DeleteConsumer(t.Context(), dispatches, workers); err != nil {
		t.Fatal(err)
	}
	c, err := q.js.CreateConsumer(t.Context(), dispatches, config)
	if err != nil {
		t.Fatal(err)
	}
	greedy, err := q.nc.SubscribeSync(q.nc.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	request := []byte(`{"batch":1,"expires":60000000000}`)
	if err := q.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.DISPATCH.workers", greedy.Subject, request); err != nil {
		t.Fatal(err)
	}
	until(t, "another waits", func() bool {
		info, err := c.Info(t.Context())
		return err == nil && info.NumWaiting == 1
	})
	p, err := q.newPull(dispatches, workers, func(*nats.Msg) {})
	if err != nil {
		t.Fatal(err)
	}
	p.want(1)
	if err := <-p.lost; err == nil || !strings.Contains(err.Error(), "silent") {
		t.Errorf("lost: %v", err)
	}
	p.stop()

	n := handled(t, q)
	if err := greedy.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Dispatch(t.Context(), []*job.Dispatch{full()}); err != nil {
		t.Fatal(err)
	}
	until(t, "dispatch is handled", func() bool { return n.Load() == 1 })
}
