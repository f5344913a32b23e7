package queue_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/queue"
)

func TestZZChaos(t *testing.T) {
	urls := os.Getenv("CHAOS")
	if urls == "" {
		t.Skip()
	}
	nc, err := nats.Connect(urls, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js := streams(t, nc)
	for _, n := range []string{"DISPATCH", "HISTORY", "DEFINITIONS"} {
		_ = js.DeleteStream(t.Context(), n)
	}
	q := reopen(t, nc, queue.Config{})
	e := &emitted{}
	follow(t, q, job.Position{}, 50, e)
	var performed, dups, doneHits atomic.Int64
	background(t, func(ctx context.Context) error {
		return q.Consume(ctx, 16, func(ctx context.Context, d *job.Dispatch, delivery int) job.Verdict {
			if delivery > 1 {
				dups.Add(1)
				done, err := q.Done(ctx, d)
				if err != nil {
					return job.Verdict{Again: time.Second}
				}
				if done {
					doneHits.Add(1)
					return job.Verdict{}
				}
			}
			performed.Add(1)
			time.Sleep(5 * time.Millisecond)
			if err := q.Record(ctx, &job.Result{Attempt: d.Attempt, Performance: d.Tag[:8], Outcome: job.Succeeded}); err != nil {
				t.Error(err)
			}
			return job.Verdict{}
		})
	})
	want := map[string]bool{}
	end := time.Now().Add(60 * time.Second)
	worst := time.Duration(0)
	n := 0
	for time.Now().Before(end) {
		ds := dispatchesOf(uid(n), 20)
		n++
		for _, d := range ds {
			want[d.Tag] = true
		}
		began := time.Now()
		for {
			_, err := q.Dispatch(t.Context(), ds)
			if err == nil {
				break
			}
			t.Log("dispatch:", err)
			time.Sleep(200 * time.Millisecond)
		}
		worst = max(worst, time.Since(began))
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("%d dispatched, worst dispatch %v", len(want), worst)
	deadline := time.Now().Add(60 * time.Second)
	for {
		seen := map[string]int{}
		e.mu.Lock()
		last := uint64(0)
		for _, r := range e.records {
			seen[r.Tag]++
			if r.Sequence <= last {
				t.Fatalf("order: %d after %d", r.Sequence, last)
			}
			last = r.Sequence
		}
		e.mu.Unlock()
		missing, twice := 0, 0
		for tag := range want {
			if seen[tag] == 0 {
				missing++
			}
			if seen[tag] > 1 {
				twice++
			}
		}
		if missing == 0 || time.Now().After(deadline) {
			t.Logf("missing %d, twice %d, performed %d, redelivered %d, found done %d", missing, twice, performed.Load(), dups.Load(), doneHits.Load())
			if missing > 0 {
				t.Fail()
			}
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
}
