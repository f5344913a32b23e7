package queue_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func TestPresent(t *testing.T) {
	q, nc := open(t)
	stream, err := streams(t, nc).Stream(t.Context(), "DISPATCH")
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, sequences []uint64, want func(i int) bool) {
		t.Helper()
		got, err := q.Present(t.Context(), sequences)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		wants := make([]bool, len(sequences))
		for i := range wants {
			wants[i] = want(i)
		}
		if d := cmp.Diff(wants, got); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	no := func(int) bool { return false }
	yes := func(int) bool { return true }

	check("nothing asked", nil, no)
	check("empty stream", []uint64{0, 1, 1 << 60}, no)
	ds := dispatchesOf(uid(1), 40)
	s := send(t, q, ds[:20]...)
	check("never delivered", s, yes)
	check("never sent", []uint64{0, s[0] - 1, s[19] + 1}, no)

	// Every third is done, the others are to be delivered again much later, and
	// as many more wait.
	handled := make(chan struct{}, 100)
	stop := background(t, func(ctx context.Context) error {
		return q.Consume(ctx, 4, func(_ context.Context, d *job.Dispatch, _ int) job.Verdict {
			defer func() { handled <- struct{}{} }()
			if d.Repeat%3 == 1 {
				return job.Verdict{}
			}
			return job.Verdict{Again: time.Hour}
		})
	})
	for range 20 {
		<-handled
	}
	eventually(t, "7 of 20 are gone", func() bool {
		info, err := stream.Info(t.Context())
		return err == nil && info.State.Msgs == 13
	})
	stop()
	s = append(s, send(t, q, ds[20:]...)...)
	expect := func(i int) bool { return i >= 20 || i%3 != 0 }
	check("some done", s, expect)

	// Somebody takes out one that was never delivered, and then more.
	if err := stream.DeleteMsg(t.Context(), s[30]); err != nil {
		t.Fatal(err)
	}
	check("one deleted", s, func(i int) bool { return expect(i) && i != 30 })
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("dispatch.1."+ds[39].Tag)); err != nil {
		t.Fatal(err)
	}
	check("the last purged", s, func(i int) bool { return expect(i) && i != 30 && i != 39 })
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(s[10])); err != nil {
		t.Fatal(err)
	}
	check("the first purged", s, func(i int) bool { return expect(i) && i != 30 && i != 39 && i >= 10 })
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("all purged", s, no)
	if err := streams(t, nc).DeleteStream(t.Context(), "DISPATCH"); err != nil {
		t.Fatal(err)
	}
	check("stream deleted", s, no)
}

// TestPresentWhilePublishing asks for what is there while more is sent.
func TestPresentWhilePublishing(t *testing.T) {
	q, _ := open(t)
	sequences := send(t, q, dispatchesOf(uid(1), 50)...)
	background(t, func(ctx context.Context) error {
		for n := 2; ctx.Err() == nil; n++ {
			_, _ = q.Dispatch(ctx, dispatchesOf(uid(n), 50))
		}
		return nil
	})
	for range 50 {
		there, err := q.Present(t.Context(), sequences)
		if err != nil || slices.Contains(there, false) {
			t.Fatalf("%v, %v", there, err)
		}
	}
}
