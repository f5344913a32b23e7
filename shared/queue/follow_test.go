package queue_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

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

// TestFollowSurvivesItsConsumer deletes whatever consumer there is.
func TestFollowSurvivesItsConsumer(t *testing.T) {
	q, nc := open(t)
	e := &emitted{}
	stop := follow(t, q, job.Position{}, 10, e)
	s, err := streams(t, nc).Stream(t.Context(), "HISTORY")
	if err != nil {
		t.Fatal(err)
	}
	names := func() (list []string) {
		l := s.ConsumerNames(t.Context())
		for name := range l.Name() {
			list = append(list, name)
		}
		return list
	}
	for n := range 3 {
		record(t, q, result(uid(1), n, "p"))
		eventually(t, "record is emitted", func() bool { return e.count() == n+1 })
		for _, name := range names() {
			if err := s.DeleteConsumer(t.Context(), name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
				t.Fatal(err)
			}
		}
		record(t, q, result(uid(1), n, "again")) // nobody may be listening
		eventually(t, "record is emitted after all", func() bool { return e.count() == n+2 })
		e.mu.Lock()
		e.records = e.records[:n+1]
		e.mu.Unlock()
	}
	stop()
	eventually(t, "no consumer is left behind", func() bool { return len(names()) == 0 })
}

func TestFollowOfAPurgedHistoryGoesOn(t *testing.T) {
	q, nc := open(t)
	e := &emitted{}
	follow(t, q, job.Position{}, 10, e)
	record(t, q, results(uid(1), 5)...)
	eventually(t, "records are emitted", func() bool { return e.count() == 5 })
	s, err := streams(t, nc).Stream(t.Context(), "HISTORY")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	record(t, q, result(uid(1), 5, "p"))
	eventually(t, "what came after is emitted", func() bool { return e.count() == 6 })
	if d := cmp.Diff(upTo(1, 6), e.repeats()); d != "" {
		t.Error(d)
	}
}

// TestFollowOfAReplacedHistoryEnds deletes the stream. A place in it, which the
// follower's caller keeps, means nothing from then on.
func TestFollowOfAReplacedHistoryEnds(t *testing.T) {
	q, nc := open(t)
	e := &emitted{}
	failed := make(chan error, 1)
	go func() { failed <- q.Follow(t.Context(), 1, job.Position{}, 10, e.emit) }()
	record(t, q, results(uid(1), 5)...)
	eventually(t, "records are emitted", func() bool { return e.count() == 5 })
	if err := streams(t, nc).DeleteStream(t.Context(), "HISTORY"); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "history was replaced") {
		t.Errorf("error is %v", err)
	}
	record(t, q, result(uid(1), 9, "p"))
	end, err := q.HistoryEnd(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if last := e.records[4].Sequence; end.Sequence <= last {
		t.Errorf("new history has sequence %d, and the old one ended at %d", end.Sequence, last)
	}
	fresh := &emitted{}
	follow(t, q, job.Position{Sequence: e.records[4].Sequence, History: "the old one"}, 10, fresh)
	eventually(t, "the new history is emitted from its beginning", func() bool { return fresh.count() == 1 })
}

// TestFollowOfAShortenedHistory has a caller that saw more than there is: the
// broker came back older. What is new must not be taken for what was seen.
func TestFollowOfAShortenedHistory(t *testing.T) {
	q, nc := open(t)
	record(t, q, results(uid(1), 3)...)
	end, err := q.HistoryEnd(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	end.Sequence += 5
	e := &emitted{}
	background(t, func(ctx context.Context) error { return q.Follow(ctx, 1, end, 10, e.emit) })
	s, err := streams(t, nc).Stream(t.Context(), "HISTORY")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "history is followed", func() bool {
		info, err := s.Info(t.Context())
		return err == nil && info.State.Consumers == 1
	})
	record(t, q, results(uid(2), 3)...)
	eventually(t, "new records are emitted", func() bool { return e.count() == 3 })
}

func TestFollowAndUnreadableRecords(t *testing.T) {
	q, nc := open(t)
	js := streams(t, nc)
	e := &emitted{}
	failed := make(chan error, 1)
	go func() { failed <- q.Follow(t.Context(), 1, job.Position{}, 10, e.emit) }()
	for _, text := range []string{"", "{", `{"v":0}`} {
		if _, err := js.Publish(t.Context(), "history.1."+uid(1), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	record(t, q, result(uid(1), 1, "p"))
	eventually(t, "what can be read is emitted", func() bool { return e.count() == 1 })
	if _, err := js.Publish(t.Context(), "history.1."+uid(1), []byte(`{"v":7}`)); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("record of a newer version: %v", err)
	}
}
