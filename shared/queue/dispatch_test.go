package queue_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/queue"
)

func TestDispatchFoldsDuplicates(t *testing.T) {
	q, _ := open(t)
	ds := dispatchesOf(uid(1), 3)
	first := send(t, q, ds...)
	if first[0] == 0 || first[1] != first[0]+1 || first[2] != first[0]+2 {
		t.Errorf("sequences are %v", first)
	}
	if again := send(t, q, ds...); !slices.Equal(again, first) {
		t.Errorf("sequences of the same again are %v, want %v", again, first)
	}
	resent := *ds[0]
	resent.Resend++
	retried := *ds[0]
	retried.RetryCount++
	if other := send(t, q, &resent, &retried); other[0] != first[2]+1 || other[1] != first[2]+2 {
		t.Errorf("another resend and another retry have sequences %v after %v", other, first)
	}
}

// TestDispatchOfWhatWasConsumed shows that a duplicate's sequence is that of the
// first even when that is gone, so that it counts as dispatched, and is then
// found to be gone.
func TestDispatchOfWhatWasConsumed(t *testing.T) {
	q, _ := open(t)
	first := send(t, q, dispatch(uid(1), 1))
	consumeAll(t, q, first)
	again := send(t, q, dispatch(uid(1), 1))
	if again[0] != first[0] {
		t.Errorf("sequence %d, want %d", again[0], first[0])
	}
	if there, err := q.Present(t.Context(), again); err != nil || there[0] {
		t.Errorf("present: %v, %v", there, err)
	}
}

func TestDispatchFromManyAtOnce(t *testing.T) {
	nc := connect(t)
	q := reopen(t, nc, queue.Config{MaxPending: 8}) // far fewer than are sent
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		all []uint64
	)
	for n := range 4 {
		wg.Go(func() {
			got, err := q.Dispatch(t.Context(), dispatchesOf(uid(n), 300))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, got...)
		})
	}
	wg.Wait()
	slices.Sort(all)
	if got := len(slices.Compact(all)); got != 1200 {
		t.Errorf("%d sequences, want 1200", got)
	}
}

func TestDispatchTellsWhichFailed(t *testing.T) {
	q, _ := open(t)
	ds := dispatchesOf(uid(1), 5)
	ds[0].Tag = "a.b"
	ds[2].Shard = 4
	ds[3].Action.Request.Body = strings.Repeat("x", 2<<20)
	sequences, err := q.Dispatch(t.Context(), ds)
	if err == nil {
		t.Fatal("no error")
	}
	for i, want := range []bool{false, true, false, false, true} {
		if got := sequences[i] != 0; got != want {
			t.Errorf("%d dispatched: %v, want %v", i, got, want)
		}
	}
	for _, want := range []string{"3 of 5 failed", `execution tag "a.b"`, "no shard 4 of 4", "maximum payload exceeded"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q: %v", want, err)
		}
	}
}

func TestDispatchGivesUpWithContext(t *testing.T) {
	q, _ := open(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	sequences, err := q.Dispatch(ctx, dispatchesOf(uid(1), 2))
	if !errors.Is(err, context.Canceled) || !slices.Equal(sequences, []uint64{0, 0}) {
		t.Errorf("got %v, %v", sequences, err)
	}
}

// TestFullStreamRefuses fills the stream, and shows that it takes nothing more,
// keeps all it took, and takes more when there is room.
func TestFullStreamRefuses(t *testing.T) {
	nc := connect(t)
	q := reopen(t, nc, queue.Config{DispatchMaxBytes: 64 << 10})
	ds := dispatchesOf(uid(1), 200)
	sequences, err := q.Dispatch(t.Context(), ds)
	if err == nil || !strings.Contains(err.Error(), "maximum bytes exceeded") {
		t.Fatalf("error is %v", err)
	}
	var taken []uint64
	var refused []*job.Dispatch
	for i, s := range sequences {
		if s != 0 {
			taken = append(taken, s)
		} else {
			refused = append(refused, ds[i])
		}
	}
	if len(taken) < 20 || len(refused) < 20 {
		t.Fatalf("%d taken, %d refused", len(taken), len(refused))
	}
	there, err := q.Present(t.Context(), taken)
	if err != nil || slices.Contains(there, false) {
		t.Fatalf("what was taken is there: %v, %v", there, err)
	}
	consumeAll(t, q, taken)
	send(t, q, refused[:20]...)
}

// TestMissingStreamIsMadeAnew deletes the stream under a running system. What
// was in it is gone, and its sequences do not come to mean what is sent then.
func TestMissingStreamIsMadeAnew(t *testing.T) {
	q, nc := open(t)
	ds := dispatchesOf(uid(1), 10)
	before := send(t, q, ds...)
	if err := streams(t, nc).DeleteStream(t.Context(), "DISPATCH"); err != nil {
		t.Fatal(err)
	}
	after := send(t, q, ds...)
	if after[0] <= before[9] {
		t.Errorf("sequences go on with %d after %d", after[0], before[9])
	}
	there, err := q.Present(t.Context(), append(before, after...))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(append(make([]bool, 10), slices.Repeat([]bool{true}, 10)...), there); d != "" {
		t.Error(d)
	}
}

func TestFind(t *testing.T) {
	q, _ := open(t)
	ds := dispatchesOf(uid(1), 3)
	sequences := send(t, q, ds...)
	d, sequence, err := q.Find(t.Context(), 1, ds[1].Tag)
	if err != nil || sequence != sequences[1] {
		t.Fatalf("found at %d, %v; want %d", sequence, err, sequences[1])
	}
	if diff := cmp.Diff(ds[1], d); diff != "" {
		t.Error(diff)
	}
	for _, tt := range []struct {
		name  string
		shard int
		tag   string
		fails bool
	}{
		{"other shard", 2, ds[1].Tag, false},
		{"other tag", 1, uid(9), false},
		{"no shard", -1, ds[1].Tag, true},
		{"wildcard", 1, "*", true},
		{"no tag", 1, "", true},
	} {
		if d, sequence, err := q.Find(t.Context(), tt.shard, tt.tag); d != nil || sequence != 0 || (err != nil) != tt.fails {
			t.Errorf("%s: %v, %d, %v", tt.name, d, sequence, err)
		}
	}
	retried := *ds[1]
	retried.RetryCount = 1
	send(t, q, &retried)
	if d, _, err := q.Find(t.Context(), 1, ds[1].Tag); err != nil || d.RetryCount != 1 {
		t.Errorf("of two attempts, found %+v, %v; want the newer", d, err)
	}
}

func TestWaiting(t *testing.T) {
	q, _ := open(t)
	var want []uint64
	for n := range 3 { // of three shards, mixed, more than a batch each
		ds := dispatchesOf(uid(n), 2100)
		for i, d := range ds {
			d.Shard = i % 3
		}
		for i, s := range send(t, q, ds...) {
			if ds[i].Shard == 1 {
				want = append(want, s)
			}
		}
	}
	taken := want[3]
	consumeOne(t, q, taken)
	want = slices.Delete(want, 3, 4)
	var got []uint64
	err := q.Waiting(t.Context(), 1, func(d *job.Dispatch, sequence uint64) error {
		if d.Shard != 1 || d.Action.Request == nil {
			t.Fatalf("visited %+v", d)
		}
		got = append(got, sequence)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	err = q.Waiting(t.Context(), 3, func(*job.Dispatch, uint64) error { return errors.New("visited an empty shard") })
	if err != nil {
		t.Error(err)
	}
	stop := errors.New("stop")
	visits := 0
	err = q.Waiting(t.Context(), 1, func(*job.Dispatch, uint64) error { visits++; return stop })
	if !errors.Is(err, stop) || visits != 1 {
		t.Errorf("visit's error: %v after %d visits", err, visits)
	}
}

// consumeAll has workers see to what is waiting until the given is gone.
func consumeAll(t *testing.T, q *queue.Queue, sequences []uint64) {
	t.Helper()
	stop := background(t, func(ctx context.Context) error {
		return q.Consume(ctx, 64, func(context.Context, *job.Dispatch, int) job.Verdict { return job.Verdict{} })
	})
	defer stop()
	eventually(t, "dispatches are consumed", func() bool {
		there, err := q.Present(t.Context(), sequences)
		return err == nil && !slices.Contains(there, true)
	})
}

// consumeOne has workers see to one of what is waiting, and keep the rest.
func consumeOne(t *testing.T, q *queue.Queue, sequence uint64) {
	t.Helper()
	stop := background(t, func(ctx context.Context) error {
		return q.Consume(ctx, 64, func(_ context.Context, d *job.Dispatch, _ int) job.Verdict {
			if _, s, err := q.Find(ctx, d.Shard, d.Tag); err == nil && s == sequence {
				return job.Verdict{}
			}
			return job.Verdict{Again: time.Hour}
		})
	})
	defer stop()
	eventually(t, "one dispatch is consumed", func() bool {
		there, err := q.Present(t.Context(), []uint64{sequence})
		return err == nil && !there[0]
	})
}
