package queue_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/pressure"
	"github.com/carillon-scheduler/carillon/shared/queue"
)

// TestFullStreams fills each stream: it refuses, which is said once, forgets
// nothing, and takes what it refused when there is room.
func TestFullStreams(t *testing.T) {
	for _, test := range []struct {
		stream string
		put    func(ctx context.Context, q *queue.Queue, n int) error
		waits  bool // rather than fail
	}{
		{"DISPATCH", func(ctx context.Context, q *queue.Queue, n int) error {
			_, err := q.Dispatch(ctx, dispatchesOf(uid(n), 10))
			return err
		}, false},
		{"DEFINITIONS", func(ctx context.Context, q *queue.Queue, n int) error {
			return q.Journal(ctx, job.Entry{UID: uid(n), Revision: 1, Job: &job.Job{UID: uid(n), Revision: 1}})
		}, false},
		{"HISTORY", func(ctx context.Context, q *queue.Queue, n int) error { return q.Record(ctx, result(uid(n), 1, "p")) }, true},
	} {
		t.Run(test.stream, func(t *testing.T) {
			var log bytes.Buffer
			board := pressure.New(slog.New(slog.NewTextHandler(&log, nil)))
			nc := connect(t)
			q := reopen(t, nc, queue.Config{Pressure: board})
			if err := test.put(t.Context(), q, 1); err != nil {
				t.Fatal(err)
			}
			before := bound(t, streams(t, nc), test.stream, 1)
			done := make(chan error, 1)
			if test.waits {
				go func() { done <- test.put(t.Context(), q, 2) }()
			} else {
				for n := range 3 {
					if err := test.put(t.Context(), q, 2+n); !errors.Is(err, job.ErrFull) {
						t.Errorf("error is %v", err)
					}
				}
			}
			held := func() string { return strings.Join(board.Conditions(t.Context()), "\n") }
			for end := time.Now().Add(10 * time.Second); held() == "" && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
			if c := held(); !strings.HasPrefix(c, "nats "+test.stream+": full, maximum bytes exceeded, for ") {
				t.Errorf("conditions %q", c)
			}
			after := bound(t, streams(t, nc), test.stream, -1)
			if after != before {
				t.Errorf("it held %d messages and holds %d", before, after)
			}
			if !test.waits {
				done <- test.put(t.Context(), q, 2)
			}
			if err := <-done; err != nil {
				t.Errorf("with room: %v", err)
			}
			if n := strings.Count(log.String(), "\n"); n != 1 {
				t.Errorf("%d lines:\n%s", n, &log)
			}
		})
	}
}

// bound sets how many bytes a stream may hold, and returns how many messages it
// holds.
func bound(t *testing.T, js jetstream.JetStream, stream string, bytes int64) uint64 {
	t.Helper()
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	if cfg.MaxBytes = bytes; bytes > 0 {
		cfg.MaxBytes += int64(s.CachedInfo().State.Bytes)
	}
	if _, err = js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}
