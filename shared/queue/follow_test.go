package queue_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/queue"
)

// emitted is what Follow emitted.
type emitted struct {
	mu      sync.Mutex
	records []job.Record
	batches []int
}

func (e *emitted) emit(rs []job.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.records = append(e.records, rs...)
	e.batches = append(e.batches, len(rs))
	return nil
}

func (e *emitted) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.records)
}

// repeats returns of which occurrences the records are.
func (e *emitted) repeats() []int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []int64
	for i := range e.records {
		list = append(list, e.records[i].Repeat)
	}
	return list
}

func upTo(from, to int64) (list []int64) {
	for ; from <= to; from++ {
		list = append(list, from)
	}
	return list
}

func follow(t *testing.T, q *queue.Queue, after job.Position, limit int, e *emitted) (stop func()) {
	t.Helper()
	return background(t, func(ctx context.Context) error { return q.Follow(ctx, 1, after, limit, e.emit) })
}

func TestFollow(t *testing.T) {
	q, _ := open(t)
	rs := results(uid(1), 100)
	for i, r := range rs {
		r.Tag = job.Tag(r.UID, r.At)
		r.UID = uid(i % 7) // of many jobs
	}
	record(t, q, rs[:60]...)
	other := result(uid(8), 1, "p")
	other.Shard = 2
	record(t, q, other)

	e := &emitted{}
	stop := follow(t, q, job.Position{}, 25, e)
	eventually(t, "what there was is emitted", func() bool { return e.count() >= 60 })
	for _, r := range rs[60:] { // one after the other
		record(t, q, r)
	}
	eventually(t, "what was added is emitted", func() bool { return e.count() >= 100 })
	stop()
	if d := cmp.Diff(upTo(1, 100), e.repeats()); d != "" {
		t.Error(d)
	}
	for _, n := range e.batches {
		if n < 1 || n > 25 {
			t.Errorf("batches of %v", e.batches)
			break
		}
	}
	if d := cmp.Diff(*rs[42], e.records[42].Result); d != "" {
		t.Error(d)
	}
	own := rows(t, q, rs[42].UID)
	for _, r := range own {
		if r.Tag == rs[42].Tag {
			if d := cmp.Diff(r, e.records[42]); d != "" {
				t.Errorf("history has it otherwise: %s", d)
			}
		}
	}

	// From a place in the middle.
	end, err := q.HistoryEnd(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	middle := job.Position{Sequence: e.records[69].Sequence, History: end.History}
	later := &emitted{}
	stop = follow(t, q, middle, 1000, later)
	eventually(t, "what came after is emitted", func() bool { return later.count() >= 30 })
	stop()
	if d := cmp.Diff(upTo(71, 100), later.repeats()); d != "" {
		t.Error(d)
	}

	// A place in another history is the beginning.
	all := &emitted{}
	stop = follow(t, q, job.Position{Sequence: middle.Sequence, History: "another"}, 1000, all)
	eventually(t, "all is emitted", func() bool { return all.count() >= 100 })
	stop()
	if d := cmp.Diff(upTo(1, 100), all.repeats()); d != "" {
		t.Error(d)
	}

	// The end, and what comes after it.
	tail := &emitted{}
	follow(t, q, end, 1, tail)
	record(t, q, result(uid(1), 200, "p"))
	eventually(t, "the newest is emitted", func() bool { return tail.count() == 1 })
	if d := cmp.Diff([]int64{201}, tail.repeats()); d != "" {
		t.Error(d)
	}
}

// TestFollowEmitsWhatIsAtHand has emit take long, so that the next batch holds
// all that came in meanwhile.
func TestFollowEmitsWhatIsAtHand(t *testing.T) {
	q, _ := open(t)
	entered, release := make(chan int), make(chan struct{})
	background(t, func(ctx context.Context) error {
		return q.Follow(ctx, 1, job.Position{}, 8, func(rs []job.Record) error {
			select {
			case entered <- len(rs):
				<-release
			case <-ctx.Done():
			}
			return nil
		})
	})
	record(t, q, result(uid(1), 0, "p"))
	if n := <-entered; n != 1 {
		t.Errorf("first batch has %d records", n)
	}
	record(t, q, results(uid(2), 20)...)
	close(release)
	sum := 0
	for sum < 20 {
		n := <-entered
		if sum += n; n > 8 {
			t.Errorf("batch of %d records", n)
		}
	}
}

func TestFollowReturnsWhatEmitReturns(t *testing.T) {
	q, _ := open(t)
	record(t, q, results(uid(1), 3)...)
	stop := errors.New("lease lost")
	calls := 0
	err := q.Follow(t.Context(), 1, job.Position{}, 1, func([]job.Record) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("error is %v after %d calls", err, calls)
	}
	if err := q.Follow(t.Context(), 7, job.Position{}, 1, nil); err == nil {
		t.Error("no such shard: no error")
	}
	if err := q.Follow(t.Context(), 1, job.Position{}, 0, nil); err == nil {
		t.Error("limit 0: no error")
	}
}
