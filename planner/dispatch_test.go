package planner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// desk is a store of runs that notes what is said of dispatches.
type desk struct {
	Store
	runs  []*job.Waiting
	noted map[string]uint64 // by id of the dispatch
}

func (*desk) Now() time.Time { return noon }

func (d *desk) Runs(context.Context, int, []job.Due) ([]*job.Waiting, error) { return d.runs, nil }

func (d *desk) Dispatched(_ context.Context, _ job.Lease, ds []*job.Dispatch, sequences []uint64, watchAt time.Time) error {
	if d.noted == nil {
		d.noted = make(map[string]uint64)
	}
	for i := range ds {
		if sequences[i] != 0 {
			d.noted[ds[i].ID()] = sequences[i]
		}
	}
	if !watchAt.Equal(noon.Add(30 * time.Second)) {
		return errors.New("watched at another time")
	}
	return nil
}

func (*desk) Record(context.Context, job.Lease, job.Position, job.Position, []job.Effect) error {
	return nil
}

// mailbox is a queue whose dispatches with these sequences are still there.
type mailbox struct {
	diary
	present []uint64
	end     job.Position
	log     []string // what was done, in order
	refuse  int      // so many dispatches, from the first
}

func (m *mailbox) Present(_ context.Context, sequences []uint64) ([]bool, error) {
	there := make([]bool, len(sequences))
	for i, s := range sequences {
		there[i] = slices.Contains(m.present, s)
	}
	return there, nil
}

func (m *mailbox) HistoryEnd(context.Context, int) (job.Position, error) { return m.end, nil }

func (m *mailbox) RecordAll(ctx context.Context, rs []*job.Result) error {
	m.log = append(m.log, "record")
	return m.diary.RecordAll(ctx, rs)
}

func (m *mailbox) Dispatch(_ context.Context, ds []*job.Dispatch) ([]uint64, error) {
	m.log = append(m.log, "dispatch")
	sequences := make([]uint64, len(ds))
	for i := m.refuse; i < len(ds); i++ {
		sequences[i] = uint64(100 + i)
	}
	if m.refuse > 0 {
		return sequences, fmt.Errorf("some were refused: %w", job.ErrFull)
	}
	return sequences, nil
}

// run returns a run that waits, of a job and a collection that are there.
func run(tag string) *job.Waiting {
	w := &job.Waiting{
		Job:        &job.Job{UID: "j", Ref: job.Ref{Job: "name"}, Status: job.Status{State: job.Enabled}},
		Collection: &job.Collection{UID: "c", State: job.CollectionEnabled, Location: "West US"},
	}
	w.Tag, w.UID, w.Phase, w.DueAt = tag, "j", job.MainAction, noon
	w.Job.Action = job.Action{Type: job.HTTP, Retry: &job.RetryPolicy{Fixed: true, Count: new(2), Interval: time.Minute}}
	return w
}

func TestEnded(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(w *job.Waiting)
		why    string
	}{
		{"goes on", func(*job.Waiting) {}, ""},
		{"deleted", func(w *job.Waiting) { w.Job, w.Collection = nil, nil }, "the job was deleted"},
		{"collection deleted", func(w *job.Waiting) { w.Collection = nil }, "the job collection was deleted"},
		{"collection disabled", func(w *job.Waiting) { w.Collection.State = job.CollectionDisabled }, "the job collection was disabled"},
		{"collection suspended", func(w *job.Waiting) { w.Collection.State = job.CollectionSuspended }, "the job collection was disabled"},
		{"disabled", func(w *job.Waiting) { w.Job.Status.State = job.Disabled }, "the job was disabled"},
		{"disabled, asked for", func(w *job.Waiting) { w.Job.Status.State, w.Manual = job.Disabled, true }, ""},
		{"no error action", func(w *job.Waiting) { w.Phase = job.ErrorAction }, "the job has no such action any more"},
		{"final", func(w *job.Waiting) { w.Job.Status.State = job.Completed }, ""},
	} {
		w := run("t")
		tt.change(w)
		if why := ended(w); why != tt.why {
			t.Errorf("%s: %q, want %q", tt.name, why, tt.why)
		}
	}
}

func TestAttempt(t *testing.T) {
	o := newTestOwner(t, &desk{}, &mailbox{})
	w := run("t")
	w.Missed, w.Planned.Count = 3, 9
	w.Job.Action.Error = &job.Action{Type: job.StorageQueue}
	d := o.attempt(w)
	if d.Skipped != 3 || d.Retries != 2 || d.Interval != time.Minute || !d.Fallback || d.Action.Type != job.HTTP || d.Location != "West US" || d.Planned.Count != 9 {
		t.Errorf("first attempt %+v", d)
	}
	w.RetryCount = 1
	if d = o.attempt(w); d.Skipped != 0 || d.RetryCount != 1 {
		t.Errorf("a retry says what was missed: %+v", d)
	}
	w.RetryCount, w.Resend = 0, 1
	if d = o.attempt(w); d.Skipped != 0 || d.Resend != 1 {
		t.Errorf("sent again it says what was missed: %+v", d)
	}
	w.Resend, w.Phase = 0, job.ErrorAction
	if d = o.attempt(w); d.Skipped != 0 || d.Retries != 2 || d.Fallback || d.Action.Type != job.StorageQueue {
		t.Errorf("error action %+v", d)
	}
	w.Job = nil
	if d = o.attempt(w); d.Tag != "t" || d.Action.Type != "" {
		t.Errorf("of a deleted job %+v", d)
	}
}

func TestRuns(t *testing.T) {
	sent := func(tag string, sequence uint64) *job.Waiting {
		w := run(tag)
		w.Sequence = sequence
		return w
	}
	ids := func(ds []*job.Dispatch) (list []string) {
		for _, d := range ds {
			list = append(list, d.ID())
		}
		return list
	}
	runs := func(end uint64) (*mailbox, []*job.Dispatch) {
		t.Helper()
		ended, lostAndEnded := run("ended"), sent("lost-and-ended", 14)
		ended.Job, lostAndEnded.Job = nil, nil
		s := &desk{runs: []*job.Waiting{run("open"), ended, sent("there", 12), sent("lost", 13), lostAndEnded}}
		q := &mailbox{present: []uint64{12}, end: job.Position{History: "h", Sequence: end}}
		o := newTestOwner(t, s, q)
		o.at = job.Position{History: "h", Sequence: 20}
		ds, err := o.runs(t.Context(), nil)
		if end < 20 {
			if !errors.Is(err, job.ErrBehind) {
				t.Errorf("the history lost its end: %v", err)
			}
		} else if err != nil {
			t.Fatal(err)
		}
		if end >= 20 {
			if diff := cmp.Diff(map[string]uint64{"there/MainAction/0/0": 12}, s.noted); diff != "" {
				t.Errorf("watched on (-want +got):\n%s", diff)
			}
		}
		return q, ds
	}

	// Results are outstanding: one of them may be of those that are gone.
	q, ds := runs(21)
	if diff := cmp.Diff([]string{"open/MainAction/0/0"}, ids(ds)); diff != "" {
		t.Errorf("results outstanding: dispatches (-want +got):\n%s", diff)
	}
	if len(q.results) != 1 || q.results[0].Tag != "ended" {
		t.Errorf("results outstanding: skipped %+v", q.results)
	}

	q, ds = runs(20)
	if diff := cmp.Diff([]string{"open/MainAction/0/0", "lost/MainAction/0/1"}, ids(ds)); diff != "" {
		t.Errorf("dispatches (-want +got):\n%s", diff)
	}
	if len(q.results) != 2 || q.results[1].Tag != "lost-and-ended" || q.results[1].Outcome != job.Skipped {
		t.Errorf("skipped %+v", q.results)
	}

	runs(19)
}

// TestSkippedForGood: a run that history says is skipped is over, even if its job
// is enabled again before the owner has recorded that. Then its tag is free.
func TestSkippedForGood(t *testing.T) {
	w := run("t")
	w.Job.Status.State = job.Disabled
	s, q := &desk{runs: []*job.Waiting{w}}, &mailbox{end: job.Position{History: "h", Sequence: 20}}
	o := newTestOwner(t, s, q)
	o.at = q.end
	look := func(dispatches, results int) {
		t.Helper()
		ds, err := o.runs(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(ds) != dispatches || len(q.results) != results {
			t.Errorf("%d dispatches and %d results, want %d and %d", len(ds), len(q.results), dispatches, results)
		}
	}
	look(0, 1)
	look(0, 1)
	w.Job.Status.State = job.Enabled
	look(0, 1)
	if err := o.record(t.Context(), []job.Record{{Sequence: 21, Result: *q.results[0]}}, noon); err != nil {
		t.Fatal(err)
	}
	look(1, 1)
}

func TestDispatch(t *testing.T) {
	dispatches := func(n int) (ds []*job.Dispatch) {
		for i := range n {
			d := &job.Dispatch{Attempt: job.Attempt{Run: run(string(rune('a' + i))).Run}}
			ds = append(ds, d)
		}
		return ds
	}

	// What was missed is said first.
	s, q := &desk{}, &mailbox{}
	ds := dispatches(2)
	ds[1].Skipped = 1
	if err := newTestOwner(t, s, q).dispatch(t.Context(), ds); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"record", "dispatch"}, q.log); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	if r := q.results[0]; r.Tag != "b" || r.Missed != 1 || r.Performance != "missed" || !strings.Contains(r.Message, "1 occurrence before this one was missed") {
		t.Errorf("row %+v", r)
	}
	if diff := cmp.Diff(map[string]uint64{"a/MainAction/0/0": 100, "b/MainAction/0/0": 101}, s.noted); diff != "" {
		t.Errorf("noted (-want +got):\n%s", diff)
	}

	// What the queue refused is not noted, so it stays due.
	s, q = &desk{}, &mailbox{refuse: 1}
	if err := newTestOwner(t, s, q).dispatch(t.Context(), dispatches(3)); err == nil {
		t.Error("a refusal is no error")
	}
	if diff := cmp.Diff(map[string]uint64{"b/MainAction/0/0": 101, "c/MainAction/0/0": 102}, s.noted); diff != "" {
		t.Errorf("noted after a refusal (-want +got):\n%s", diff)
	}

	// Without a lease nothing is sent.
	s, q = &desk{}, &mailbox{}
	o := newTestOwner(t, s, q)
	o.lease.Store(&job.Lease{Epoch: 1, Until: time.Now()})
	if err := o.dispatch(t.Context(), dispatches(1)); !errors.Is(err, job.ErrLeaseLost) || len(q.log) > 0 || s.noted != nil {
		t.Errorf("with a lease that has ended: %v, done %v", err, q.log)
	}
}
