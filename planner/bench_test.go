package planner_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/planner"
	"github.com/carillon-scheduler/carillon/shared/job"
)

// BenchmarkPass measures 256 jobs that are due at one instant, from that instant
// until all results are recorded: plan, dispatch, execute, record.
func BenchmarkPass(b *testing.B) {
	b.Run("stand-in", func(b *testing.B) { benchmarkPass(b, newWorld(b)) })
	b.Run("redis", func(b *testing.B) { benchmarkPass(b, newWorldOn(b, redisServer(b))) })
}

func benchmarkPass(b *testing.B, w *world) {
	const jobs = 256
	counted := &counter{Store: w.store}
	cfg := w.settings("p1")
	cfg.Store, cfg.Log, cfg.Term = counted, slog.New(slog.DiscardHandler), 3*time.Second
	w.planAs(cfg)
	w.ready()
	w.background(func(ctx context.Context) error {
		return w.queue.Consume(ctx, jobs, func(ctx context.Context, d *job.Dispatch, _ int) job.Verdict {
			r := job.Result{Attempt: d.Attempt, Performance: uid(), StartedAt: d.At, EndedAt: d.At, Outcome: job.Succeeded}
			if err := w.queue.Record(ctx, &r); err != nil {
				return job.Verdict{Again: time.Second}
			}
			return job.Verdict{}
		})
	})
	start := w.store.Now().Add(5 * time.Second).Truncate(time.Second)
	for i := range jobs {
		w.create(fmt.Sprintf("job%d", i), job.Definition{StartAt: start, Recurrence: every(1, 0)})
	}
	b.ReportAllocs()
	var busy time.Duration
	passes := 0
	for due := start; b.Loop(); due = due.Add(time.Second) {
		b.StopTimer()
		w.passed(due.Add(-20 * time.Millisecond))
		time.Sleep(due.Sub(w.store.Now()))
		b.StartTimer()
		began := time.Now()
		passes++
		for counted.results.Load() < int64(passes*jobs) {
			time.Sleep(100 * time.Microsecond)
		}
		busy += time.Since(began)
	}
	b.ReportMetric(float64(passes*jobs)/busy.Seconds(), "occurrences/s")
}

// counter is a store that counts the results recorded.
type counter struct {
	planner.Store
	results atomic.Int64
}

func (c *counter) Record(ctx context.Context, l job.Lease, before, after job.Position, effects []job.Effect) error {
	err := c.Store.Record(ctx, l, before, after, effects)
	if err == nil {
		c.results.Add(int64(len(effects)))
	}
	return err
}

// redisServer runs a real one, and skips the benchmark if there is none.
func redisServer(b *testing.B) (addr string) {
	b.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		b.Skip("no redis-server in PATH")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr = ln.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	ln.Close()
	cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", b.TempDir())
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	for rdb.Ping(b.Context()).Err() != nil {
		time.Sleep(20 * time.Millisecond)
	}
	return addr
}
