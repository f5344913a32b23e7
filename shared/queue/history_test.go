package queue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/queue"
)

func rows(t *testing.T, q *queue.Queue, uid string) []job.Record {
	t.Helper()
	rows, err := q.History(t.Context(), 1, uid)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestRecordKeepsEveryPerformanceOnce(t *testing.T) {
	q, _ := open(t)
	for range 3 {
		for _, performance := range []string{"first", "second"} {
			if err := q.Record(t.Context(), result(uid(1), 1, performance)); err != nil {
				t.Fatal(err)
			}
		}
	}
	retried := result(uid(1), 1, "first")
	retried.RetryCount = 1
	record(t, q, retried)
	got := rows(t, q, uid(1))
	want := []*job.Result{retried, result(uid(1), 1, "second"), result(uid(1), 1, "first")} // all started at once: newest first
	if len(got) != 3 {
		t.Fatalf("%d rows, want 3", len(got))
	}
	for i := range got {
		if d := cmp.Diff(*want[i], got[i].Result); d != "" {
			t.Errorf("row %d: %s", i, d)
		}
		if age := time.Since(got[i].StoredAt); age < 0 || age > time.Minute {
			t.Errorf("row %d: stored %v ago", i, age)
		}
	}
}

func TestHistoryIsNewestFirst(t *testing.T) {
	q, _ := open(t)
	rs := results(uid(1), 5)
	rs[2].StartedAt = rs[4].StartedAt.Add(time.Hour) // was slow to end
	record(t, q, rs...)
	record(t, q, results(uid(2), 5)...)
	var got []int64
	for _, r := range rows(t, q, uid(1)) {
		got = append(got, r.Repeat)
	}
	if d := cmp.Diff([]int64{3, 5, 4, 2, 1}, got); d != "" {
		t.Error(d)
	}
	if got := rows(t, q, uid(3)); len(got) != 0 {
		t.Errorf("%d rows of a job that never ran", len(got))
	}
	for _, name := range []string{"", "*", "A", strings.Repeat("a", 65)} {
		if _, err := q.History(t.Context(), 1, name); err == nil {
			t.Errorf("uid %q: no error", name)
		}
	}
	if err := q.Record(t.Context(), result("*", 1, "p")); err == nil {
		t.Error("record of a uid that is none: no error")
	}
}

func TestHistoryDropsTheOldestRow(t *testing.T) {
	q, _ := open(t)
	record(t, q, results(uid(1), 1001)...)
	record(t, q, result(uid(2), 0, "p"))
	got := rows(t, q, uid(1))
	if len(got) != 1000 || got[0].Repeat != 1001 || got[999].Repeat != 2 {
		t.Errorf("%d rows, from %d to %d", len(got), got[0].Repeat, got[len(got)-1].Repeat)
	}
	if got := rows(t, q, uid(2)); len(got) != 1 {
		t.Errorf("%d rows of another job", len(got))
	}
}

// TestHistoryWhileRowsAreAdded reads a job at the bound of its rows while more
// are added, and finds no hole between the newest and the oldest it is given.
func TestHistoryWhileRowsAreAdded(t *testing.T) {
	q, _ := open(t)
	record(t, q, results(uid(1), 1000)...)
	background(t, func(ctx context.Context) error {
		for n := 1000; ctx.Err() == nil; n++ {
			if err := q.Record(ctx, result(uid(1), n, "p")); err != nil && ctx.Err() == nil {
				return err
			}
		}
		return nil
	})
	for range 10 {
		got := rows(t, q, uid(1))
		if len(got) < 900 {
			t.Errorf("%d rows", len(got))
		}
		for i := 1; i < len(got); i++ {
			// Between two batches the oldest may go away, but none in between.
			if got[i].Repeat != got[i-1].Repeat-1 {
				t.Fatalf("row %d is of occurrence %d, and that before it of %d", i, got[i].Repeat, got[i-1].Repeat)
			}
		}
	}
}

func TestDone(t *testing.T) {
	q, _ := open(t)
	rs := results(uid(1), 700) // more than a batch after the first
	rs[1].Outcome, rs[1].Missed, rs[1].Performance = job.Skipped, 5, "missed"
	record(t, q, rs...)
	for _, tt := range []struct {
		name string
		d    *job.Dispatch
		edit func(*job.Dispatch)
		want bool
	}{
		{"newest", dispatch(uid(1), 699), func(*job.Dispatch) {}, true},
		{"oldest", dispatch(uid(1), 0), func(*job.Dispatch) {}, true},
		{"sent again", dispatch(uid(1), 300), func(d *job.Dispatch) { d.Resend = 1 }, true},
		{"not yet", dispatch(uid(1), 700), func(*job.Dispatch) {}, false},
		{"next retry", dispatch(uid(1), 699), func(d *job.Dispatch) { d.RetryCount = 1 }, false},
		{"error action", dispatch(uid(1), 699), func(d *job.Dispatch) { d.Phase = job.ErrorAction }, false},
		{"those before it were missed", dispatch(uid(1), 1), func(*job.Dispatch) {}, false},
		{"other job", dispatch(uid(2), 1), func(*job.Dispatch) {}, false},
		{"without times", dispatch(uid(1), 5), func(d *job.Dispatch) { d.At, d.DueAt = time.Time{}, time.Time{} }, true},
	} {
		tt.edit(tt.d)
		if got, err := q.Done(t.Context(), tt.d); err != nil || got != tt.want {
			t.Errorf("%s: done is %v, %v; want %v", tt.name, got, err, tt.want)
		}
	}
	bad := dispatch(uid(1), 1)
	bad.Shard = 9
	if _, err := q.Done(t.Context(), bad); err == nil {
		t.Error("no such shard: no error")
	}
}

// TestDoneLooksAtNewRows has an attempt that is due now, as all are, in a job
// whose rows are of now.
func TestDoneLooksAtNewRows(t *testing.T) {
	q, _ := open(t)
	rs := results(uid(1), 3)
	for _, r := range rs {
		r.DueAt = time.Now()
	}
	record(t, q, rs...)
	d := &job.Dispatch{Attempt: rs[0].Attempt}
	if got, err := q.Done(t.Context(), d); err != nil || !got {
		t.Errorf("done is %v, %v", got, err)
	}
	d.DueAt = time.Now().Add(time.Hour) // so what is in the history is of something else
	if got, err := q.Done(t.Context(), d); err != nil || got {
		t.Errorf("done is %v, %v", got, err)
	}
}

func TestHistoryEnd(t *testing.T) {
	q, nc := open(t)
	end := func(shard int) job.Position {
		t.Helper()
		p, err := q.HistoryEnd(t.Context(), shard)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	empty := end(1)
	if empty.Sequence != 0 || empty.History == "" {
		t.Errorf("end of an empty history is %+v", empty)
	}
	record(t, q, results(uid(1), 3)...)
	last := rows(t, q, uid(1))[0].Sequence
	other := result(uid(2), 1, "p")
	other.Shard = 2
	record(t, q, other)
	if got := end(1); got.Sequence != last || got.History != empty.History {
		t.Errorf("end is %+v, want %d of %s", got, last, empty.History)
	}
	if got := end(2); got.Sequence != last+1 {
		t.Errorf("end of shard 2 is %+v, want %d", got, last+1)
	}
	if got := end(3); got != empty {
		t.Errorf("end of a shard without records is %+v", got)
	}
	if err := streams(t, nc).DeleteStream(t.Context(), "HISTORY"); err != nil {
		t.Fatal(err)
	}
	if got := end(1); got.Sequence != 0 || got.History == empty.History {
		t.Errorf("end of a new history is %+v, and the old one was %s", got, empty.History)
	}
	if _, err := q.HistoryEnd(t.Context(), 4); err == nil {
		t.Error("no such shard: no error")
	}
}

// TestRecordOutlastsFaults takes the stream away, for a while for good, while
// results come in from many.
func TestRecordOutlastsFaults(t *testing.T) {
	q, nc := open(t)
	js := streams(t, nc)
	if err := js.DeleteStream(t.Context(), "HISTORY"); err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), "DEFINITIONS"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for n := range 20 {
		wg.Go(func() {
			if err := q.Record(t.Context(), result(uid(n), 1, "p")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for n := range 20 {
		if got := rows(t, q, uid(n)); len(got) != 1 {
			t.Errorf("job %d has %d rows", n, len(got))
		}
	}
}

func TestRecordStopsWithContext(t *testing.T) {
	q, nc := open(t)
	s, err := streams(t, nc).Stream(t.Context(), "HISTORY")
	if err != nil {
		t.Fatal(err)
	}
	sealed := s.CachedInfo().Config
	sealed.Sealed = true // refuses all for good
	if _, err := streams(t, nc).UpdateStream(t.Context(), sealed); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("shutting down"))
	defer cancel()
	err = q.Record(ctx, result(uid(1), 1, "p"))
	if err == nil || !strings.Contains(err.Error(), "shutting down") || !strings.Contains(err.Error(), "sealed") {
		t.Errorf("error is %v", err)
	}
	huge := result(uid(1), 1, "p")
	huge.Message = strings.Repeat("x", 2<<20)
	if err := q.Record(t.Context(), huge); err == nil || !strings.Contains(err.Error(), "maximum payload exceeded") {
		t.Errorf("huge result: %v", err)
	}
	nc.Close()
	if err := q.Record(t.Context(), result(uid(1), 1, "p")); err == nil {
		t.Error("closed connection: no error")
	}
}

func TestUnreadableRowIsLeftOut(t *testing.T) {
	q, nc := open(t)
	js := streams(t, nc)
	record(t, q, result(uid(1), 1, "p"))
	subject := "history.1." + uid(1)
	if _, err := js.Publish(t.Context(), subject, []byte("{")); err != nil {
		t.Fatal(err)
	}
	record(t, q, result(uid(1), 2, "p"))
	if got := rows(t, q, uid(1)); len(got) != 2 {
		t.Errorf("%d rows, want 2", len(got))
	}
	if _, err := js.Publish(t.Context(), subject, fmt.Appendf(nil, `{"v":%d}`, 2)); err != nil {
		t.Fatal(err)
	}
	if _, err := q.History(t.Context(), 1, uid(1)); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("row of a newer version: %v", err)
	}
}
