package planner

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// attic is a store with what can be cleared away.
type attic struct {
	shelf
	expired, orphans []*job.Job
	before           time.Time
	progress         job.Progress
	moves            []uint64 // places in the journal
}

func (a *attic) Expired(_ context.Context, _ int, before time.Time, limit int) ([]*job.Job, error) {
	a.before = before
	return a.expired[:min(limit, len(a.expired))], nil
}

func (a *attic) Orphans(_ context.Context, _, limit int) ([]*job.Job, error) {
	return a.orphans[:min(limit, len(a.orphans))], nil
}

func (a *attic) Progress(context.Context, int) (job.Progress, error) { return a.progress, nil }

func (a *attic) SetProgress(_ context.Context, _ job.Lease, p job.Progress) error {
	if p.From != a.progress.History {
		return job.ErrBehind
	}
	p.From = job.Position{}
	a.progress, a.moves = p, append(a.moves, p.Journal)
	return nil
}

// log is a journal that ends somewhere.
type endless struct {
	diary
	end uint64
}

func (e *endless) JournalEnd(context.Context, int) (uint64, error) { return e.end, nil }

func TestSweep(t *testing.T) {
	s := &attic{expired: []*job.Job{{UID: "old", Revision: 3}}, orphans: []*job.Job{{UID: "o1"}, {UID: "o2"}}}
	q := &endless{}
	o := newTestOwner(t, s, q)
	o.cfg.Batch = 2
	s.progress.Ready = true
	if err := o.sweep(t.Context(), noon); err != nil {
		t.Fatal(err)
	}
	if want := noon.Add(-60 * 24 * time.Hour); !s.before.Equal(want) {
		t.Errorf("final before %v expires, want %v", s.before, want)
	}
	var cleared, gone []string
	for _, j := range s.cleared {
		cleared = append(cleared, j.UID)
	}
	for _, e := range q.entries {
		if e.Deleted && e.Revision == e.Job.Revision {
			gone = append(gone, e.UID)
		}
	}
	if diff := cmp.Diff([]string{"old", "o1", "o2"}, cleared); diff != "" {
		t.Errorf("cleared (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(cleared, gone); diff != "" || q.entries[0].Revision != 4 {
		t.Errorf("tombstones (-want +got):\n%s", diff)
	}
	s.cleared, s.orphans = nil, nil
	s.orphans = []*job.Job{{UID: "o3"}}
	for _, tt := range []struct {
		after   time.Duration
		cleared int
	}{
		{time.Second, 2}, // there were as many as can be cleared at once
		{2 * time.Second, 2},
		{12 * time.Second, 4},
	} {
		if err := o.sweep(t.Context(), noon.Add(tt.after)); err != nil {
			t.Fatal(err)
		}
		if len(s.cleared) != tt.cleared {
			t.Errorf("after %v: cleared %d, want %d", tt.after, len(s.cleared), tt.cleared)
		}
	}

	// A tombstone that is not journaled leaves the job where it is.
	q.err, s.cleared = errors.New("no journal"), nil
	if err := o.sweep(t.Context(), noon.Add(time.Minute)); err == nil || len(s.cleared) > 0 {
		t.Errorf("cleared %v without a tombstone: %v", s.cleared, err)
	}
}

// The store is sure to hold what was journaled before the last sweep.
func TestAdvance(t *testing.T) {
	s, q := &attic{}, &endless{}
	o := newTestOwner(t, s, q)
	o.at = job.Position{History: "h", Sequence: 5}
	s.progress = job.Progress{Ready: true, Journal: 10, History: o.at}
	o.journaled, o.journalEnd = 10, 10
	for _, step := range []struct {
		end   uint64
		moves []uint64
	}{
		{12, nil},
		{12, []uint64{12}},
		{12, []uint64{12}},
		{15, []uint64{12}},
		{17, []uint64{12, 15}},
		{17, []uint64{12, 15, 17}},
	} {
		q.end = step.end
		if err := o.advance(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.moves, s.moves); diff != "" {
			t.Errorf("end %d: places (-want +got):\n%s", step.end, diff)
		}
	}
	// A store that is elsewhere came back older.
	for _, p := range []job.Progress{
		{Ready: true, Journal: 17, History: job.Position{History: "h", Sequence: 4}},
		{Ready: true, Journal: 12, History: o.at},
		{Journal: 17, History: o.at},
	} {
		s.progress, s.moves = p, nil
		if err := o.advance(t.Context()); !errors.Is(err, job.ErrBehind) || s.moves != nil {
			t.Errorf("store at %+v: %v", p, err)
		}
	}
}
