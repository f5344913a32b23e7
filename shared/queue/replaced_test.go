package queue_test

// What becomes of those who follow a history that changes under them.

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/shared/job"
)

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
