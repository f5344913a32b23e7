package planner

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func TestEffect(t *testing.T) {
	const interval = time.Minute
	attempt := func(p job.Phase, retry int, fallback bool) job.Attempt {
		return job.Attempt{Run: job.Run{Phase: p, RetryCount: retry}, Retries: 2, Interval: interval, Fallback: fallback}
	}
	first, last := attempt(job.MainAction, 0, false), attempt(job.MainAction, 2, false)
	for _, tt := range []struct {
		name    string
		attempt job.Attempt
		result  job.Result
		follow  job.Follow
		after   time.Duration // never: nothing is due
	}{
		{"success", first, job.Result{Outcome: job.Succeeded}, job.FollowDone, never},
		{"success of a retry, error action or not", attempt(job.MainAction, 2, true), job.Result{Outcome: job.Succeeded}, job.FollowDone, never},
		{"success of the error action", attempt(job.ErrorAction, 0, false), job.Result{Outcome: job.Succeeded}, job.FollowEnd, never},
		{"failure", first, job.Result{Outcome: job.Failed}, job.FollowRetry, interval},
		{"failure, error action or not", attempt(job.MainAction, 1, true), job.Result{Outcome: job.Failed}, job.FollowRetry, interval},
		{"failure of the error action", attempt(job.ErrorAction, 1, false), job.Result{Outcome: job.Failed}, job.FollowRetry, interval},
		{"last failure", last, job.Result{Outcome: job.Failed}, job.FollowFault, never},
		{"last failure, then the error action", attempt(job.MainAction, 2, true), job.Result{Outcome: job.Failed}, job.FollowError, 0},
		{"last failure of the error action", attempt(job.ErrorAction, 2, false), job.Result{Outcome: job.Failed}, job.FollowEnd, never},
		{"postponed for longer than the interval", first, job.Result{Outcome: job.Postponed, RetryAfter: time.Hour}, job.FollowRetry, time.Hour},
		{"postponed for less", first, job.Result{Outcome: job.Postponed, RetryAfter: time.Second}, job.FollowRetry, interval},
		{"postponed to the last", last, job.Result{Outcome: job.Postponed, RetryAfter: time.Hour}, job.FollowFault, never},
		{"skipped", first, job.Result{Outcome: job.Skipped}, job.FollowDrop, never},
		{"skipped retry", last, job.Result{Outcome: job.Skipped}, job.FollowDrop, never},
		{"missed", first, job.Result{Outcome: job.Skipped, Missed: 3}, job.FollowNone, never},
	} {
		r := job.Record{Result: tt.result, Sequence: 9}
		r.Attempt = tt.attempt
		e := effect(&r, noon)
		if diff := cmp.Diff(job.Effect{Record: r, Follow: tt.follow, DueAt: from(tt.after)}, e); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	// What is due in fractions of a millisecond is not due early.
	r := job.Record{Result: job.Result{Outcome: job.Failed, Attempt: first}}
	if e := effect(&r, noon.Add(time.Nanosecond)); !e.DueAt.Equal(noon.Add(interval + time.Millisecond)) {
		t.Errorf("due at %v", e.DueAt)
	}
}

// ledger is a store that takes results.
type ledger struct {
	shelf
	before, after job.Position
	effects       []job.Effect
	refuse        error
}

func (l *ledger) Record(_ context.Context, _ job.Lease, before, after job.Position, effects []job.Effect) error {
	l.before, l.after, l.effects = before, after, effects
	return l.refuse
}

func record(seq uint64, uid string, d time.Duration) job.Record {
	r := job.Record{Sequence: seq, StoredAt: noon.Add(-time.Hour)}
	r.UID, r.Outcome, r.Phase, r.Retries, r.Interval = uid, job.Failed, job.MainAction, 1, time.Minute
	r.Revision, r.Repeat = 1, int64(seq)
	r.Planned.NextAt = from(d)
	return r
}

func TestRecord(t *testing.T) {
	l := &ledger{}
	o := newTestOwner(t, l, new(diary))
	o.at = job.Position{History: "h", Sequence: 3}
	rs := []job.Record{record(5, "a", time.Hour), record(9, "b", time.Hour)}
	if err := o.record(t.Context(), rs, noon); err != nil {
		t.Fatal(err)
	}
	if l.before.Sequence != 3 || l.after != (job.Position{History: "h", Sequence: 9}) || o.at != l.after {
		t.Errorf("from %v to %v", l.before, l.after)
	}
	if due := l.effects[1].DueAt; !due.Equal(noon.Add(time.Minute)) {
		t.Errorf("retry is due at %v", due)
	}
	// Without a time, a retry waits from when the failure was stored.
	rs[0].Sequence, rs[1].Sequence, rs[1].StoredAt = 10, 11, noon
	if err := o.record(t.Context(), rs, time.Time{}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []time.Time{noon.Add(-59 * time.Minute), noon.Add(time.Minute)} {
		if due := l.effects[i].DueAt; !due.Equal(want) {
			t.Errorf("replayed retry is due at %v, want %v", due, want)
		}
	}
	l.refuse = job.ErrBehind
	rs[1].Sequence = 20
	if err := o.record(t.Context(), rs, noon); !errors.Is(err, job.ErrBehind) || o.at.Sequence != 11 {
		t.Errorf("refused: %v, at %d", err, o.at.Sequence)
	}
}

func TestCheckpoint(t *testing.T) {
	const day = 24 * time.Hour
	l, q := &ledger{}, new(diary)
	l.jobs = make(map[string]*job.Job)
	for _, uid := range []string{"soon", "far", "last", "retry", "new"} {
		j := minutely(0)
		j.UID, j.Series, j.Status = uid, 4, job.Status{State: job.Enabled, Planned: 5, LastAt: noon, Counters: job.Counters{Executions: 6}}
		l.jobs[uid] = j
	}
	l.jobs["new"].Revision = 2
	far := record(1, "retry", day)
	far.Interval = 60 * day
	rs := []job.Record{
		far, record(2, "soon", 29*day), record(3, "far", 31*day), record(4, "last", never),
		record(5, "new", never), record(6, "gone", never),
	}
	o := newTestOwner(t, l, q)
	if err := o.record(t.Context(), rs, noon); err != nil {
		t.Fatal(err)
	}
	q.err = errors.New("no journal")
	if err := o.checkpoint(t.Context()); err == nil {
		t.Error("a journal that fails is no error")
	}
	q.err = nil
	if err := o.checkpoint(t.Context()); err != nil { // it stayed noted
		t.Fatal(err)
	}
	got := make(map[string]*job.Checkpoint)
	for _, e := range q.entries {
		got[e.UID] = e.Checkpoint
	}
	checkpoint := func(repeat int64) *job.Checkpoint {
		return &job.Checkpoint{
			State: job.Enabled, LastAt: noon, Repeat: repeat,
			Planned: job.Planned{Series: 4, Count: 5, Counters: job.Counters{Executions: 6}},
		}
	}
	want := map[string]*job.Checkpoint{"retry": checkpoint(1), "far": checkpoint(3), "last": checkpoint(4), "new": checkpoint(0)}
	want["retry"].Runs = []job.Pending{{Run: far.Run, DueAt: noon.Add(60 * day)}}
	want["retry"].Runs[0].RetryCount = 1
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("checkpoints (-want +got):\n%s", diff)
	}
	q.entries = nil
	if err := o.checkpoint(t.Context()); err != nil || len(q.entries) > 0 {
		t.Errorf("journaled again: %v, %v", q.entries, err)
	}
}
