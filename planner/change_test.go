package planner_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/planner"
	"github.com/carillon-scheduler/carillon/shared/job"
)

// waits waits until a retry of a job waits in the store.
func (w *world) waits(j *job.Job) {
	w.Helper()
	w.eventually("a retry to wait", func() bool { return w.read(j).Status.Failures > 0 })
}

// DESIGN.md §2, step 3: "A retry of a job that was disabled or deleted meanwhile
// ends as skipped".
func TestRetryOfAChangedJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan()
	k := w.work()
	for _, tt := range []struct {
		name   string
		change func(w *world, j *job.Job)
		why    string
	}{
		{"disabled", func(w *world, j *job.Job) { w.update(j, func(n *job.Job) { n.State = job.Disabled }) }, "the job was disabled"},
		{"deleted", (*world).delete, "the job was deleted"},
		{
			"made-again", func(w *world, j *job.Job) {
				w.delete(j)
				w.create("made-again", job.Definition{StartAt: w.store.Now().Add(time.Hour)})
			}, "the job was deleted",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := w.on(t)
			k.on(tt.name, outcomes(job.Failed))
			j := w.create(tt.name, job.Definition{Action: calling(job.HTTP, fixed(400*time.Millisecond, 3), nil)})
			w.waits(j)
			tt.change(w, j)
			w.eventually("the end of the run", func() bool { return len(w.rows(j)) == 2 && len(w.runs()) == 0 })
			rows := w.rows(j)
			if diff := cmp.Diff([]string{"Main/0 failed", "Main/1 skipped"}, attempts(rows)); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
			if !strings.Contains(rows[1].Message, tt.why) {
				t.Errorf("message %q does not say that %s", rows[1].Message, tt.why)
			}
			if n := len(k.performed(j)); n != 1 {
				t.Errorf("performed %d times", n)
			}
			w.idle()
		})
	}
}

// runs returns the runs of the shard, due or not.
func (w *world) runs() []job.Due {
	w.Helper()
	a, err := w.store.Agenda(w.Context(), w.shard(), time.Now().Add(1e6*time.Hour), 1000)
	w.must(err)
	return a.Runs
}

// I9: "no occurrence mixes one revision's time with another's action".
func TestRetryUsesTheRevisionPlanned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan()
	k := w.work()
	k.on("updated", outcomes(job.Failed, job.Failed, job.Failed, job.Succeeded))
	old := calling(job.HTTP, fixed(200*time.Millisecond, 2), nil)
	fallback := calling(job.StorageQueue, nil, nil)
	old.Error = &fallback
	j := w.create("updated", job.Definition{Action: old, Recurrence: every(1000, 0)})
	w.waits(j)
	w.update(j, func(n *job.Job) { n.Action = calling(job.HTTPS, &job.RetryPolicy{}, nil) })
	w.update(j, func(n *job.Job) { n.Action.Request.URI = "https://third" })
	w.eventually("the end of the run", func() bool { return len(w.runs()) == 0 })
	var got []job.ActionType
	for _, c := range k.performed(j) {
		got = append(got, c.Action.Type)
		if c.Revision != 1 {
			t.Errorf("attempt of revision %d", c.Revision)
		}
	}
	if diff := cmp.Diff([]job.ActionType{job.HTTP, job.HTTP, job.HTTP, job.StorageQueue}, got); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	tag := w.request(w.read(j))
	w.eventually("the next run", func() bool { return len(k.performed(j)) == 5 })
	if c := k.performed(j)[4]; c.Tag != tag || c.Revision != 3 || c.Action.Request.URI != "https://third" {
		t.Errorf("the next run is of revision %d: %+v", c.Revision, c.Action.Request)
	}
}

// I8: "after a disable, delete or update is acknowledged nothing new of the old
// definition is planned"; AZURE.md §6: occurrences in between are not made up.
func TestDisabledJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan()
	k := w.work()
	j := w.create("switched", job.Definition{Recurrence: every(1, 0)})
	w.eventually("the first", func() bool { return len(k.performed(j)) > 0 })
	w.update(j, func(n *job.Job) { n.State = job.Disabled })
	planned := w.read(j).Status
	if !planned.NextExecutionAt.IsZero() {
		t.Errorf("a disabled job is due at %v", planned.NextExecutionAt)
	}
	w.passed(planned.LastAt.Add(3200 * time.Millisecond))
	if s := w.read(j).Status; s.Planned != planned.Planned {
		t.Fatalf("%d occurrences planned while disabled", s.Planned-planned.Planned)
	}
	w.update(j, func(n *job.Job) { n.State = job.Enabled })
	enabled := w.read(j).ActiveFrom
	w.eventually("another", func() bool { return w.read(j).Status.Planned > planned.Planned })
	w.eventually("its execution", func() bool { return len(k.performed(j)) > int(planned.Planned) })
	next := k.performed(j)[planned.Planned]
	if next.At.Before(enabled) || next.At.Sub(planned.LastAt)%time.Second != 0 || next.Planned.Count != planned.Planned+1 {
		t.Errorf("enabled at %v, it went on at %v with number %d", enabled, next.At, next.Planned.Count)
	}
	w.delete(j)
	n := len(w.runs())
	w.passed(w.store.Now().Add(1200 * time.Millisecond))
	if got := len(w.runs()); got > n {
		t.Error("a deleted job goes on")
	}
}

// passed waits until a time by redis's clock.
func (w *world) passed(at time.Time) {
	w.Helper()
	w.eventually("time to pass", func() bool { return w.store.Now().After(at) })
}

// AZURE.md §6: "run: one extra occurrence now; the schedule and count are
// untouched; allowed while disabled and before startTime".
func TestRunRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan()
	k := w.work()
	start := w.store.Now().Add(time.Hour).Truncate(time.Millisecond)
	for _, state := range []job.State{job.Enabled, job.Disabled} {
		name := "run-" + string(state)
		k.on(name, outcomes(job.Failed, job.Succeeded))
		j := w.create(name, job.Definition{
			StartAt: start, State: state, Recurrence: every(60, 1), Action: calling(job.HTTP, fixed(50*time.Millisecond, 3), nil),
		})
		before := w.read(j).Status
		tag := w.request(j)
		w.eventually("the end of the run", func() bool { return len(w.runs()) == 0 })
		w.is(j, state, 1, 1, 0)
		rows := w.rows(j)
		if diff := cmp.Diff([]string{"Main/0 failed", "Main/1 completed"}, attempts(rows)); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		for _, r := range rows {
			if r.Tag != tag || !r.Manual || r.Repeat != 1 {
				t.Errorf("run is %+v", r.Run)
			}
		}
		after := w.read(j).Status
		if !after.NextExecutionAt.Equal(before.NextExecutionAt) || after.Planned != 0 || !after.LastAt.IsZero() {
			t.Errorf("the schedule is %+v, was %+v", after, before)
		}
	}
	w.idle()
}

// AZURE.md §6: "Disabling a collection stops all its jobs; enabling restores
// those that were enabled"; "Suspended behaves as disabled".
func TestDisabledCollection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan()
	k := w.work()
	k.on("retried", outcomes(job.Failed))
	j := w.create("goes-on", job.Definition{Recurrence: every(1, 0)})
	off := w.create("disabled", job.Definition{State: job.Disabled, Recurrence: every(1, 0)})
	retried := w.create("retried", job.Definition{Action: calling(job.HTTP, fixed(3*time.Second, 3), nil)})
	w.waits(retried)
	var planned job.Status
	for _, state := range []job.CollectionState{job.CollectionDisabled, job.CollectionSuspended} {
		w.eventually("an execution", func() bool { return w.read(j).Status.Planned > planned.Planned })
		w.switchTo(state)
		planned = w.read(j).Status
		w.passed(planned.LastAt.Add(2200 * time.Millisecond))
		w.eventually("the retry to be given up", func() bool { return len(w.runs()) == 0 })
		if s := w.read(j).Status; s.Planned != planned.Planned {
			t.Fatalf("%s: %d occurrences planned", state, s.Planned-planned.Planned)
		}
		once := w.create("once-"+strings.ToLower(string(state)), job.Definition{})
		w.switchTo(job.CollectionEnabled)
		w.eventually("the next", func() bool { return len(k.performed(j)) > int(planned.Planned) })
		if next := k.performed(j)[planned.Planned]; next.At.Before(w.col.ActiveFrom) || next.At.Sub(planned.LastAt)%time.Second != 0 {
			t.Errorf("%s: enabled at %v, it went on at %v", state, w.col.ActiveFrom, next.At)
		}
		w.is(once, job.Completed, 1, 0, 0) // created meanwhile without a start: now is when it can be
	}
	w.is(retried, job.Faulted, 1, 1, 0)
	if diff := cmp.Diff([]string{"Main/0 failed", "Main/1 skipped"}, attempts(w.rows(retried))); diff != "" {
		t.Errorf("history of the retried job (-want +got):\n%s", diff)
	}
	if n := len(k.performed(off)); n > 0 {
		t.Errorf("the disabled job was performed %d times", n)
	}
}

// What is left of a deleted collection is cleared away, and the journal told so.
func TestDeletedCollection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := w.settings("p1")
	cfg.Batch = 4 // less than there are
	w.planAs(cfg)
	w.ready()
	var uids []string
	for name := range strings.FieldsSeq("a b c d e f g h i j") {
		uids = append(uids, w.create(name, job.Definition{Recurrence: every(1, 0)}).UID)
	}
	w.deleteCollection()
	w.eventually("jobs to be cleared", func() bool {
		jobs, err := w.store.ShardJobs(w.Context(), w.shard(), uids)
		w.must(err)
		return !slices.ContainsFunc(jobs, func(j *job.Job) bool { return j != nil })
	})
	gone := make(map[string]bool)
	_, err := w.queue.Entries(w.Context(), w.shard(), 0, func(e job.Entry) error {
		if e.Deleted && e.Job != nil {
			gone[e.UID] = true
		}
		return nil
	})
	w.must(err)
	if len(gone) != len(uids) {
		t.Errorf("%d tombstones for %d jobs", len(gone), len(uids))
	}
	_, err = w.store.Collection(w.Context(), w.col.CollectionRef)
	if !errors.Is(err, job.ErrNotFound) {
		t.Errorf("collection: %v", err)
	}
}

// AZURE.md §6: "completed and faulted jobs are deleted after 60 days".
func TestFinalJobsAreDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := w.settings("p1")
	cfg.KeepFinal = 50 * time.Millisecond
	w.planAs(cfg)
	w.ready()
	w.work()
	done, alive := w.create("done", job.Definition{}), w.create("alive", job.Definition{Recurrence: every(1000, 0)})
	w.eventually("the finished job to go", func() bool {
		_, _, err := w.store.Job(w.Context(), done.Ref)
		return errors.Is(err, job.ErrNotFound)
	})
	w.read(alive)
}

// slowHistory hands a planner no skipped record from the history while it is held.
type slowHistory struct {
	planner.Queue
	recorded atomic.Int32 // calls of RecordAll
	held     chan struct{}
}

func (q *slowHistory) RecordAll(ctx context.Context, rs []*job.Result) error {
	err := q.Queue.RecordAll(ctx, rs)
	q.recorded.Add(1)
	return err
}

func (q *slowHistory) Follow(ctx context.Context, shard int, after job.Position, limit int, emit func([]job.Record) error) error {
	return q.Queue.Follow(ctx, shard, after, limit, func(rs []job.Record) error {
		if slices.ContainsFunc(rs, func(r job.Record) bool { return r.Outcome == job.Skipped }) {
			select {
			case <-q.held:
			case <-ctx.Done():
			}
		}
		return emit(rs)
	})
}

// watchedStore counts how often a planner looks at runs.
type watchedStore struct {
	planner.Store
	looks atomic.Int32
}

func (s *watchedStore) Runs(ctx context.Context, shard int, due []job.Due) ([]*job.Waiting, error) {
	defer s.looks.Add(1)
	return s.Store.Runs(ctx, shard, due)
}

// I2: "every occurrence gets exactly one disposition". A run whose end is on its
// way through the history does not go on when its collection is enabled again.
func TestSkippedForGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := w.settings("p1")
	q, s := &slowHistory{Queue: cfg.Queue, held: make(chan struct{})}, &watchedStore{Store: cfg.Store}
	cfg.Queue, cfg.Store = q, s
	w.planAs(cfg)
	w.ready()
	k := w.work()
	k.on("retried", outcomes(job.Failed, job.Succeeded))
	j := w.create("retried", job.Definition{Action: calling(job.HTTP, fixed(300*time.Millisecond, 3), nil)})
	w.waits(j)
	w.switchTo(job.CollectionDisabled)
	w.eventually("the retry to be given up", func() bool { return q.recorded.Load() > 0 })
	w.switchTo(job.CollectionEnabled)
	seen := s.looks.Load()
	w.eventually("the planner to look again", func() bool { return s.looks.Load() > seen+9 })
	close(q.held)
	w.eventually("the end of the run", func() bool { return len(w.runs()) == 0 })
	if diff := cmp.Diff([]string{"Main/0 failed", "Main/1 skipped"}, attempts(w.rows(j))); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}
