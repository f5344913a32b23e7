package queue_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/queue"
)

func bench(b *testing.B) *queue.Queue {
	b.Helper()
	return reopen(b, connect(b), queue.Config{DispatchMaxBytes: 64 << 30, Log: slog.New(slog.DiscardHandler)})
}

// BenchmarkDispatch sends 256 at once, as a planner does.
func BenchmarkDispatch(b *testing.B) {
	q := bench(b)
	ds := dispatchesOf(uid(1), 256)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		for i, d := range ds {
			d.Tag = fmt.Sprintf("%032x", n<<8+i)
		}
		send(b, q, ds...)
	}
	b.ReportMetric(float64(b.N*256)/b.Elapsed().Seconds(), "msgs/s")
}

// BenchmarkRecord records results from as many goroutines as a worker has.
func BenchmarkRecord(b *testing.B) {
	q := bench(b)
	var n atomic.Int64
	b.SetParallelism(64)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := int(n.Add(1))
			if err := q.Record(b.Context(), result(uid(i%1000), i, "p")); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
}

// BenchmarkConsume is what a worker can take that has nothing to do.
func BenchmarkConsume(b *testing.B) {
	for _, limit := range []int{1, 64, 1024} {
		b.Run(strconv.Itoa(limit), func(b *testing.B) {
			q := bench(b)
			ds := dispatchesOf(uid(1), 1000)
			total := int64(0)
			for ; total < int64(b.N); total += int64(len(ds)) {
				for i, d := range ds {
					d.Tag = fmt.Sprintf("%032x", total+int64(i))
				}
				send(b, q, ds...)
			}
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			var n atomic.Int64
			b.ResetTimer()
			err := q.Consume(ctx, limit, func(context.Context, *job.Dispatch, int) job.Verdict {
				if n.Add(1) == total {
					cancel()
				}
				return job.Verdict{}
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "msgs/s")
		})
	}
}

func BenchmarkHistory(b *testing.B) {
	q := bench(b)
	record(b, q, results(uid(1), 1000)...)
	b.ReportAllocs()
	for b.Loop() {
		if rows, err := q.History(b.Context(), 1, uid(1)); err != nil || len(rows) != 1000 {
			b.Fatalf("%d rows, %v", len(rows), err)
		}
	}
}

func BenchmarkEntries(b *testing.B) {
	q := bench(b)
	const n = 50_000
	list := make([]job.Entry, n)
	for i := range list {
		list[i] = jobEntry(uid(i), 1)
		list[i].Shard = i % 4
	}
	journal(b, q, list...)
	for b.Loop() {
		if list, _ := entries(b, q, 0); len(list) != n/4 {
			b.Fatalf("%d entries", len(list))
		}
	}
	b.ReportMetric(float64(b.N*n/4)/b.Elapsed().Seconds(), "entries/s")
}

func BenchmarkPresent(b *testing.B) {
	q := bench(b)
	sequences := send(b, q, dispatchesOf(uid(1), 20_000)...)
	b.Run("backlog", func(b *testing.B) {
		for b.Loop() {
			if _, err := q.Present(b.Context(), sequences[:256]); err != nil {
				b.Fatal(err)
			}
		}
	})
	consumeOneOf(b, q, sequences[10_000])
	b.Run("one by one", func(b *testing.B) {
		for b.Loop() {
			if _, err := q.Present(b.Context(), sequences[:256]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// consumeOneOf takes up all that waits, and finishes one of it.
func consumeOneOf(b *testing.B, q *queue.Queue, sequence uint64) {
	b.Helper()
	tag := ""
	err := q.Waiting(b.Context(), 1, func(d *job.Dispatch, s uint64) error {
		if s == sequence {
			tag = d.Tag
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	defer background(b, func(ctx context.Context) error {
		return q.Consume(ctx, 1024, func(_ context.Context, d *job.Dispatch, _ int) job.Verdict {
			if d.Tag == tag {
				return job.Verdict{}
			}
			return job.Verdict{Again: 1 << 40}
		})
	})()
	eventually(b, "one is gone", func() bool {
		there, err := q.Present(b.Context(), []uint64{sequence})
		return err == nil && !there[0]
	})
}
