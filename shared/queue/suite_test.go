package queue_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/carillon-scheduler/carillon/shared/embedded"
	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// remote is the URL of a nats-server to test against in place of embedded ones.
// Its streams are deleted by every test, so none of them may run in parallel.
func remote() string { return os.Getenv("CARILLON_TEST_NATS") }

// connect returns a connection to a broker that holds none of our streams.
func connect(tb testing.TB) *nats.Conn {
	tb.Helper()
	if remote() == "" {
		nc, stop, err := embedded.NATS(embedded.NATSConfig{Dir: tb.TempDir()})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(stop)
		return nc
	}
	nc, err := nats.Connect(remote(), nats.ReconnectBufSize(-1))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	js := streams(tb, nc)
	for _, name := range []string{"DISPATCH", "HISTORY", "DEFINITIONS"} {
		if err := js.DeleteStream(tb.Context(), name); err != nil && !strings.Contains(err.Error(), "not found") {
			tb.Fatal(err)
		}
	}
	return nc
}

func streams(tb testing.TB, nc *nats.Conn) jetstream.JetStream {
	tb.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		tb.Fatal(err)
	}
	return js
}

// open returns a queue of 4 shards on a new broker.
func open(tb testing.TB) (*queue.Queue, *nats.Conn) {
	tb.Helper()
	nc := connect(tb)
	return reopen(tb, nc, queue.Config{}), nc
}

// reopen returns a queue on nc, of 4 shards unless cfg says otherwise. A cluster
// is tested with as many copies as CARILLON_TEST_REPLICAS says.
func reopen(tb testing.TB, nc *nats.Conn, cfg queue.Config) *queue.Queue {
	tb.Helper()
	if cfg.Shards == 0 {
		cfg.Shards = 4
	}
	if cfg.Replicas == 0 {
		cfg.Replicas, _ = strconv.Atoi(os.Getenv("CARILLON_TEST_REPLICAS"))
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	q, err := queue.Open(tb.Context(), nc, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return q
}

// eventually waits until cond holds.
func eventually(tb testing.TB, what string, cond func() bool) {
	tb.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("%s: not within 20 s", what)
		}
	}
}

// background runs f until the test ends or stop is called, which waits for f
// and fails the test if it returns an error.
func background(tb testing.TB, f func(context.Context) error) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	failed := make(chan error, 1)
	go func() { failed <- f(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-failed; err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(stop)
	return stop
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// uid returns the uid of the nth job of these tests.
func uid(n int) string { return fmt.Sprintf("%032x", n) }

// attempt returns the attempt of the nth occurrence of a job, in shard 1.
func attempt(uid string, n int) job.Attempt {
	at := noon.Add(time.Duration(n) * time.Minute)
	return job.Attempt{
		Run:      job.Run{Tag: job.Tag(uid, at), UID: uid, Revision: 3, At: at, Repeat: int64(n + 1), Phase: job.MainAction},
		Shard:    1,
		Ref:      job.Ref{CollectionRef: job.CollectionRef{Subscription: "sub", ResourceGroup: "Group", Collection: "A.*.>"}, Job: "Job 1 €"},
		Location: "West US", DueAt: at, Retries: 4, Interval: 30 * time.Second, Fallback: true,
		Planned: job.Planned{Series: 2, Count: 7, NextAt: at.Add(time.Minute), Counters: job.Counters{Executions: 6, Failures: 1}},
	}
}

func dispatch(uid string, n int) *job.Dispatch {
	return &job.Dispatch{Attempt: attempt(uid, n), Action: job.Action{
		Type:    job.HTTPS,
		Request: &job.Request{URI: "https://example.com/", Method: "POST", Body: strings.Repeat("x", 200), Headers: map[string]string{"a": "b"}},
	}}
}

func dispatchesOf(uid string, n int) []*job.Dispatch {
	ds := make([]*job.Dispatch, n)
	for i := range ds {
		ds[i] = dispatch(uid, i)
	}
	return ds
}

// send dispatches and returns the sequences.
func send(tb testing.TB, q *queue.Queue, ds ...*job.Dispatch) []uint64 {
	tb.Helper()
	sequences, err := q.Dispatch(tb.Context(), ds)
	if err != nil {
		tb.Fatal(err)
	}
	return sequences
}

func result(uid string, n int, performance string) *job.Result {
	a := attempt(uid, n)
	return &job.Result{
		Attempt: a, Performance: performance, StartedAt: a.At.Add(time.Millisecond), EndedAt: a.At.Add(time.Second),
		Outcome: job.Failed, Message: "503", RetryAfter: time.Second,
	}
}

func results(uid string, n int) []*job.Result {
	rs := make([]*job.Result, n)
	for i := range rs {
		rs[i] = result(uid, i, "p")
	}
	return rs
}

func record(tb testing.TB, q *queue.Queue, rs ...*job.Result) {
	tb.Helper()
	if err := q.RecordAll(tb.Context(), rs); err != nil {
		tb.Fatal(err)
	}
}
