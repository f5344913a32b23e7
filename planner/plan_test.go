package planner

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/recur"
)

// noon is when the tests of decisions take place.
var noon = time.Date(2026, 5, 6, 12, 0, 0, 0, time.UTC)

// minutely returns a job that began at noon − d and is due every minute.
func minutely(d time.Duration) *job.Job {
	begun := noon.Add(-d)
	return &job.Job{
		UID: "j", Revision: 1, CollectionUID: "c", Series: 1, SeriesAt: begun, Anchor: begun, ActiveFrom: begun,
		Definition: job.Definition{State: job.Enabled, Recurrence: &recur.Spec{Frequency: recur.Minute}},
		Status:     job.Status{State: job.Enabled},
	}
}

func TestDecide(t *testing.T) {
	const m = time.Minute
	last := func(j *job.Job, d time.Duration, planned int64) {
		j.Status.LastAt, j.Status.Planned = noon.Add(d), planned
	}
	for _, tt := range []struct {
		name     string
		began    time.Duration // before noon
		change   func(j *job.Job, c *job.Collection)
		at, next time.Duration // from noon; never: none
		missed   int64
	}{
		{name: "first occurrence", began: 0, at: 0, next: m},
		{name: "late", began: 20 * time.Second, at: -20 * time.Second, next: 40 * time.Second},
		{name: "next occurrence", began: 5 * m, change: func(j *job.Job, _ *job.Collection) { last(j, -m, 5) }, at: 0, next: m},
		{name: "not due yet", began: 5*m + 1, change: func(j *job.Job, _ *job.Collection) { last(j, 0, 6) }, at: never, next: m},
		{name: "job is disabled", began: 5 * m, change: func(j *job.Job, _ *job.Collection) { j.Status.State = job.Disabled }, at: never, next: never},
		{name: "job is final", began: 5 * m, change: func(j *job.Job, _ *job.Collection) { j.Status.State = job.Faulted }, at: never, next: never},
		{
			name: "collection is disabled", began: 5*m + 30*time.Second,
			change: func(j *job.Job, c *job.Collection) { last(j, -90*time.Second, 4); c.State = job.CollectionDisabled },
			at:     never, next: 30 * time.Second,
		},
		{
			name: "collection is suspended, and the job runs once", began: 5 * m,
			change: func(j *job.Job, c *job.Collection) { j.Recurrence = nil; c.State = job.CollectionSuspended },
			at:     never, next: hold,
		},
		{
			name: "collection is disabled, and no occurrence is left", began: 5 * m,
			change: func(j *job.Job, c *job.Collection) {
				j.Recurrence.EndAt = noon.Add(-m)
				c.State = job.CollectionDisabled
			},
			at: never, next: hold,
		},
		{
			name: "collection was enabled again", began: 10 * m,
			change: func(j *job.Job, c *job.Collection) { last(j, -8*m, 3); c.ActiveFrom = noon.Add(-90 * time.Second) },
			at:     -m, next: 0,
		},
		{
			name: "collection was enabled again a moment ago", began: 10*m + 30*time.Second,
			change: func(j *job.Job, c *job.Collection) { c.ActiveFrom = noon },
			at:     never, next: 30 * time.Second,
		},
		{name: "count is used up", began: m, change: func(j *job.Job, _ *job.Collection) { j.Recurrence.Count = 2; last(j, -m, 2) }, at: never, next: never},
		{name: "count allows one more", began: m, change: func(j *job.Job, _ *job.Collection) { j.Recurrence.Count = 2; last(j, -m, 1) }, at: 0, next: never},
		{name: "count allows two more", began: m, change: func(j *job.Job, _ *job.Collection) { j.Recurrence.Count = 3; last(j, -m, 1) }, at: 0, next: m},
		{name: "end is reached", began: m, change: func(j *job.Job, _ *job.Collection) { j.Recurrence.EndAt = noon; last(j, -m, 1) }, at: 0, next: never},
		{name: "end is passed", began: m, change: func(j *job.Job, _ *job.Collection) { j.Recurrence.EndAt = noon; last(j, 0, 2) }, at: never, next: never},
		{name: "once", began: 0, change: func(j *job.Job, _ *job.Collection) { j.Recurrence = nil }, at: 0, next: never},
		{name: "once, done", began: m, change: func(j *job.Job, _ *job.Collection) { j.Recurrence = nil; last(j, -m, 1) }, at: never, next: never},
		{name: "once, missed", began: 9 * m, change: func(j *job.Job, _ *job.Collection) { j.Recurrence = nil }, at: -9 * m, next: never},
		{name: "as late as may be", began: 2 * m, at: -2 * m, next: -m},
		{name: "missed", began: 2*m + 1e6, at: -1e6, next: m - 1e6, missed: 2},
		{name: "many missed", began: 500*m + 1e6, at: -1e6, next: m - 1e6, missed: 500},
		{name: "missed, count allows one", began: 5*m + 1e6, change: func(j *job.Job, _ *job.Collection) { j.Recurrence.Count = 1 }, at: -1e6, next: never, missed: 5},
		{
			name: "missed, end passed meanwhile", began: 5*m + 1e6,
			change: func(j *job.Job, _ *job.Collection) { j.Recurrence.EndAt = noon.Add(-2 * m) },
			at:     -2*m - 1e6, next: never, missed: 3,
		},
		{
			name: "a new series after one that planned a moment later", began: 1e6,
			change: func(j *job.Job, _ *job.Collection) { j.Series = 2; last(j, 0, 0) },
			at:     never, next: 1e6,
		},
		{
			name: "a new series after one of this very moment", began: 1e6,
			change: func(j *job.Job, _ *job.Collection) { j.Series = 2; last(j, -1e6, 0) },
			at:     0, next: m - 1e6,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &owner{cfg: &Config{MissedAfter: 2 * m}}
			j, c := minutely(tt.began), &job.Collection{UID: "c", State: job.CollectionEnabled, ActiveFrom: noon.Add(-1000 * time.Hour)}
			if tt.change != nil {
				tt.change(j, c)
			}
			timetable, err := job.NewTimetable(&j.Definition, j.Anchor)
			if err != nil {
				t.Fatal(err)
			}
			got := o.decide(&planned{Job: j, timetable: timetable}, c, noon)
			want := job.Step{Job: j, Collection: c, At: from(tt.at), NextAt: from(tt.next), Missed: tt.missed}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
		})
	}
}

// never is what has no time.
const never = time.Duration(-1)

func from(d time.Duration) time.Time {
	if d == never {
		return time.Time{}
	}
	return noon.Add(d)
}

// shelf is a store that holds jobs and collections, and notes what is asked of
// it.
type shelf struct {
	Store
	jobs    map[string]*job.Job
	cols    []*job.Collection
	settled []job.Step
	steps   []job.Step
	cleared []*job.Job
	err     error // of Plan
}

func (*shelf) Now() time.Time { return noon }

func (s *shelf) ShardJobs(_ context.Context, _ int, uids []string) ([]*job.Job, error) {
	list := make([]*job.Job, len(uids))
	for i, uid := range uids {
		list[i] = s.jobs[uid]
	}
	return list, nil
}

func (s *shelf) ShardCollections(context.Context, []job.CollectionRef) ([]*job.Collection, error) {
	return s.cols, nil
}

func (s *shelf) Settle(_ context.Context, _ job.Lease, steps []job.Step) error {
	s.settled = append(s.settled, steps...)
	return nil
}

func (s *shelf) Plan(_ context.Context, _ job.Lease, steps []job.Step) ([]job.Taken, error) {
	taken := make([]job.Taken, len(steps))
	for i := range steps {
		taken[i] = job.Taken{OK: steps[i].Job.UID != "changed", Repeat: 7, Planned: job.Planned{Count: steps[i].Job.Status.Planned + 1}}
	}
	s.steps = append(s.steps, steps...)
	return taken, s.err
}

func (s *shelf) Clear(_ context.Context, _ int, j *job.Job) error {
	s.cleared = append(s.cleared, j)
	delete(s.jobs, j.UID)
	return nil
}

// diary is a queue that keeps what is journaled and recorded.
type diary struct {
	Queue
	entries []job.Entry
	results []*job.Result
	err     error // of Journal
}

func (d *diary) Journal(_ context.Context, entries ...job.Entry) error {
	if d.err == nil {
		d.entries = append(d.entries, entries...)
	}
	return d.err
}

func (d *diary) RecordAll(_ context.Context, rs []*job.Result) error {
	d.results = append(d.results, rs...)
	return nil
}

// newTestOwner returns an owner whose lease lasts.
func newTestOwner(t *testing.T, s Store, q Queue) *owner {
	t.Helper()
	p, err := New(Config{Store: s, Queue: q, ID: "p", Shards: 1, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	return newOwner(p, job.Lease{Epoch: 1, Until: time.Now().Add(time.Hour)})
}

func TestPlan(t *testing.T) {
	s := &shelf{jobs: make(map[string]*job.Job), cols: []*job.Collection{{UID: "c", State: job.CollectionEnabled, Location: "West US"}}}
	q := new(diary)
	var due []job.Due
	for _, uid := range []string{"gone", "over", "invalid", "orphan", "plain", "changed", "ahead"} {
		j := minutely(0)
		j.UID = uid
		switch uid {
		case "over":
			j.Status.State = job.Disabled
		case "invalid":
			j.Recurrence.Interval = 5000
		case "orphan":
			j.CollectionUID = "another"
		case "ahead":
			j.Status.LastAt, j.Status.Planned = noon, 1
		}
		if uid != "gone" {
			s.jobs[uid] = j
		}
		due = append(due, job.Due{ID: uid, At: noon})
	}
	o := newTestOwner(t, s, q)
	ds, decided, err := o.plan(t.Context(), due, noon)
	if err != nil || decided != 6 {
		t.Fatalf("decided %d: %v", decided, err)
	}
	uids := func(steps []job.Step) (list []string) {
		for _, st := range steps {
			list = append(list, st.Job.UID)
		}
		return list
	}
	if diff := cmp.Diff([]string{"over"}, uids(s.settled)); diff != "" {
		t.Errorf("settled (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"invalid", "plain", "changed", "ahead"}, uids(s.steps)); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
	if st := s.steps[0]; !st.At.IsZero() || !st.NextAt.Equal(noon.Add(postpone)) {
		t.Errorf("the job without a valid schedule is looked at again at %v", st.NextAt)
	}
	if len(s.cleared) != 1 || s.cleared[0].UID != "orphan" || len(q.entries) != 1 || !q.entries[0].Deleted || q.entries[0].Revision != 2 {
		t.Errorf("cleared %v, journaled %+v", s.cleared, q.entries)
	}
	if len(ds) != 1 || ds[0].UID != "plain" || ds[0].Repeat != 7 || ds[0].Location != "West US" || ds[0].Tag != job.Tag("plain", noon) {
		t.Errorf("dispatches %+v", ds)
	}
	// What was refused or has ended is read anew, the rest is not.
	for uid, cached := range map[string]bool{"over": false, "changed": false, "orphan": false, "plain": true, "ahead": true, "invalid": true} {
		if got := o.cache.jobs[uid] != nil; got != cached {
			t.Errorf("%s is in the cache: %t, want %t", uid, got, cached)
		}
	}
	if st := o.cache.jobs["plain"].Status; st.Planned != 1 || !st.LastAt.Equal(noon) {
		t.Errorf("what was planned is not remembered: %+v", st)
	}
}

// A collection that changed is read anew before anything is planned.
func TestPlanOfAChangedCollection(t *testing.T) {
	s := &shelf{jobs: map[string]*job.Job{"j": minutely(0)}, cols: []*job.Collection{{UID: "c", State: job.CollectionEnabled}}, err: job.ErrChanged}
	o := newTestOwner(t, s, new(diary))
	due := []job.Due{{ID: "j", At: noon}}
	if ds, decided, err := o.plan(t.Context(), due, noon); err != nil || len(ds) != 0 || decided != 1 {
		t.Fatalf("dispatches %v, decided %d: %v", ds, decided, err)
	}
	s.err, s.cols = nil, []*job.Collection{{UID: "c", State: job.CollectionDisabled}}
	if ds, _, err := o.plan(t.Context(), due, noon); err != nil || len(ds) != 0 {
		t.Fatalf("dispatches %v: %v", ds, err)
	}
	if st := s.steps[1]; st.Collection.State != job.CollectionDisabled || !st.At.IsZero() {
		t.Errorf("step %+v", st)
	}
}
