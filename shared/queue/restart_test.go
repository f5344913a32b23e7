package queue_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/shared/embedded"
	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/queue"
)

// broker is a server that a test stops and starts, with a client that connects
// to it over the network.
type broker struct {
	cfg embedded.NATSConfig
	srv *embedded.Broker
	nc  *nats.Conn
}

func start(t *testing.T) *broker {
	t.Helper()
	b := &broker{cfg: embedded.NATSConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"}}
	b.start(t)
	b.cfg.Listen = strings.TrimPrefix(b.srv.URL, "nats://")
	t.Cleanup(func() { b.srv.Stop() })
	var err error
	b.nc, err = nats.Connect(b.srv.URL, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.nc.Close)
	return b
}

func (b *broker) start(t *testing.T) {
	t.Helper()
	var err error
	if b.srv, err = embedded.Start(b.cfg); err != nil {
		t.Fatal(err)
	}
}

// stop stops the server, and waits until the client knows.
func (b *broker) stop(t *testing.T) {
	t.Helper()
	b.srv.Stop()
	eventually(t, "client knows", func() bool { return !b.nc.IsConnected() })
}

func (b *broker) connected(t *testing.T) {
	t.Helper()
	eventually(t, "client is connected", b.nc.IsConnected)
}

func TestRestartKeepsEverything(t *testing.T) {
	b := start(t)
	q := reopen(t, b.nc, queue.Config{Replicas: 1})
	ds := dispatchesOf(uid(1), 20)
	sequences := send(t, q, ds...)
	consumeOne(t, q, sequences[4])
	record(t, q, results(uid(1), 30)...)
	journal(t, q, jobEntry(uid(1), 1), jobEntry(uid(2), 1))
	type state struct {
		Waiting []uint64
		Present []bool
		Rows    []job.Record
		End     job.Position
		Entries []job.Entry
	}
	read := func() (s state) {
		t.Helper()
		err := q.Waiting(t.Context(), 1, func(_ *job.Dispatch, sequence uint64) error {
			s.Waiting = append(s.Waiting, sequence)
			return nil
		})
		if err == nil {
			s.Present, err = q.Present(t.Context(), sequences)
		}
		if err == nil {
			s.End, err = q.HistoryEnd(t.Context(), 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		s.Rows = rows(t, q, uid(1))
		s.Entries, _ = entries(t, q, 0)
		return s
	}
	before := read()
	if len(before.Waiting) != 19 || before.Present[4] || len(before.Rows) != 30 || len(before.Entries) != 2 {
		t.Fatalf("before: %+v", before)
	}
	for range 2 {
		b.stop(t)
		b.start(t)
		b.connected(t)
		q = reopen(t, b.nc, queue.Config{Replicas: 1})
		if d := cmp.Diff(before, read()); d != "" {
			t.Error(d)
		}
	}
	// What was consumed is not remembered any more, as the duplicate window of a
	// work queue does not outlive a restart: what counts is the run's state.
	again := send(t, q, ds...)
	if again[4] == sequences[4] || !slices.Equal(slices.Delete(again, 4, 5), before.Waiting) {
		t.Errorf("dispatched again with sequences %v, before %v", again, before.Waiting)
	}
}

// TestRestartUnderWork restarts the broker while attempts are performed and
// results are followed, and while there is no broker a dispatch fails at once
// and a result waits.
func TestRestartUnderWork(t *testing.T) {
	b := start(t)
	q := reopen(t, b.nc, queue.Config{Replicas: 1})
	e := &emitted{}
	stopFollow := follow(t, q, job.Position{}, 10, e)
	stopConsume := background(t, func(ctx context.Context) error {
		return q.Consume(ctx, 4, func(ctx context.Context, d *job.Dispatch, _ int) job.Verdict {
			r := &job.Result{Attempt: d.Attempt, Performance: "p", Outcome: job.Succeeded}
			if err := q.Record(ctx, r); err != nil {
				t.Error(err)
			}
			return job.Verdict{}
		})
	})
	ds := dispatchesOf(uid(1), 40)
	send(t, q, ds[:10]...)
	eventually(t, "results are emitted", func() bool { return e.count() == 10 })
	for round := 1; round <= 3; round++ {
		b.stop(t)
		sequences, err := q.Dispatch(t.Context(), ds[round*10:round*10+1])
		if err == nil || sequences[0] != 0 {
			t.Errorf("dispatched without a broker: %v, %v", sequences, err)
		}
		if err := q.Ready(t.Context()); err == nil {
			t.Error("ready without a broker")
		}
		recorded := make(chan error, 1)
		go func() { recorded <- q.Record(t.Context(), result(uid(2), round, "p")) }()
		b.start(t)
		b.connected(t)
		if err := <-recorded; err != nil {
			t.Error(err)
		}
		send(t, q, ds[round*10:round*10+10]...)
		eventually(t, "results are emitted", func() bool { return e.count() == (round+1)*10+round })
	}
	stopConsume()
	stopFollow()
	seen := make(map[string]int)
	last := uint64(0)
	for _, r := range e.records {
		seen[r.Tag]++
		if r.Sequence <= last {
			t.Errorf("record %d after %d", r.Sequence, last)
		}
		last = r.Sequence
	}
	for _, d := range ds {
		if seen[d.Tag] != 1 {
			t.Errorf("occurrence %d has %d results", d.Repeat, seen[d.Tag])
		}
	}
}
