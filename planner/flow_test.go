package planner_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/recur"
)

// rows returns the history of a job, oldest first.
func (w *world) rows(j *job.Job) []job.Record {
	w.Helper()
	rs, err := w.queue.History(w.Context(), w.shard(), j.UID)
	w.must(err)
	slices.SortFunc(rs, func(a, b job.Record) int { return int(int64(a.Sequence) - int64(b.Sequence)) })
	return rs
}

// is waits until a job is in a state with these counters.
func (w *world) is(j *job.Job, s job.State, executions, failures, faults int64) {
	w.Helper()
	want := job.Counters{Executions: executions, Failures: failures, Faults: faults}
	var got job.Status
	defer func() {
		if w.Failed() {
			w.Logf("job %s is %s with %+v, want %s with %+v", j.Job, got.State, got.Counters, s, want)
		}
	}()
	w.eventually("job "+j.Job+" to be "+string(s), func() bool {
		got = w.read(j).Status
		return got.State == s && got.Counters == want
	})
}

// idle checks that no run of the shard is left, and that nothing is dispatched.
func (w *world) idle() {
	w.Helper()
	a, err := w.store.Agenda(w.Context(), w.shard(), time.Now().Add(1e6*time.Hour), 100)
	w.must(err)
	if len(a.Runs) > 0 {
		w.Errorf("runs are left: %v", a.Runs)
	}
	// A worker acknowledges a dispatch after its result is stored.
	w.eventually("no dispatch to be left", func() bool {
		left := 0
		w.must(w.queue.Waiting(w.Context(), w.shard(), func(*job.Dispatch, uint64) error {
			left++
			return nil
		}))
		return left == 0
	})
}

func fixed(interval time.Duration, count int) *job.RetryPolicy {
	return &job.RetryPolicy{Fixed: true, Interval: interval, Count: &count}
}

// calling is an action of a type under a policy.
func calling(typ job.ActionType, retry *job.RetryPolicy, fallback *job.Action) job.Action {
	return job.Action{Type: typ, Request: &job.Request{URI: "http://h/" + string(typ)}, Retry: retry, Error: fallback}
}

// every returns a recurrence.
func every(seconds, count int) *recur.Spec {
	return &recur.Spec{Frequency: recur.Second, Interval: seconds, Count: count}
}

// attempts are the attempts of a job as "phase/retry action outcome".
func attempts(rs []job.Record) []string {
	var list []string
	for _, r := range rs {
		list = append(list, string(r.Phase)[:4]+"/"+string(rune('0'+r.RetryCount))+" "+string(r.Outcome))
	}
	return list
}

func TestSuccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan()
	k := w.work()
	start := w.store.Now().Add(300 * time.Millisecond).Truncate(time.Millisecond)
	j := w.create("once", job.Definition{StartAt: start})
	if next := w.read(j).Status.NextExecutionAt; !next.Equal(start) {
		t.Errorf("next execution %v, want %v", next, start)
	}
	w.is(j, job.Completed, 1, 0, 0)
	calls, rows, s := k.performed(j), w.rows(j), w.read(j).Status
	if len(calls) != 1 || len(rows) != 1 {
		t.Fatalf("performed %d times, %d rows", len(calls), len(rows))
	}
	if early := start.Sub(calls[0].at); early > 0 {
		t.Errorf("performed %v early", early)
	}
	want := job.Attempt{
		Run:   job.Run{Tag: job.Tag(j.UID, start), UID: j.UID, Revision: 1, At: start, Repeat: 1, Phase: job.MainAction},
		Shard: w.shard(), Ref: j.Ref, Location: "West US", DueAt: start, Retries: 4, Interval: 30 * time.Second,
		Planned: job.Planned{Series: 1, Count: 1},
	}
	if diff := cmp.Diff(want, rows[0].Attempt); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	if a := calls[0].Action; a.Type != job.HTTP || a.Retry != nil || a.Error != nil {
		t.Errorf("dispatched action %+v", a)
	}
	if !s.NextExecutionAt.IsZero() || s.LastExecutionAt.Sub(rows[0].StartedAt).Abs() > time.Millisecond || s.Planned != 1 {
		t.Errorf("status %+v", s)
	}
	w.idle()
}

// AZURE.md §6: retry fixed, with its interval and count; I6: never more than
// asked, never sooner.
func TestRetriesAreSpaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan()
	k := w.work()
	k.on("retried", outcomes(job.Failed, job.Failed, job.Succeeded))
	j := w.create("retried", job.Definition{Action: calling(job.HTTP, fixed(50*time.Millisecond, 4), nil)})
	w.is(j, job.Completed, 1, 2, 0)
	rows := w.rows(j)
	if diff := cmp.Diff([]string{"Main/0 failed", "Main/1 failed", "Main/2 completed"}, attempts(rows)); diff != "" {
		t.Fatalf("history (-want +got):\n%s", diff)
	}
	for i := range rows[1:] {
		if gap := rows[i+1].StartedAt.Sub(rows[i].EndedAt); gap < 50*time.Millisecond {
			t.Errorf("retry %d came after %v", i+1, gap)
		}
		if rows[i+1].Tag != rows[0].Tag || rows[i+1].Repeat != 1 || !rows[i+1].At.Equal(rows[0].At) {
			t.Errorf("retry %d is of another occurrence: %+v", i+1, rows[i+1].Run)
		}
	}
	w.idle()
}

// AZURE.md §6: after the last failure errorAction runs, under its own
// retryPolicy or else the action's.
func TestExhaustion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan()
	k := w.work()
	quick := fixed(30*time.Millisecond, 1)
	fallback := func(retry *job.RetryPolicy) *job.Action {
		a := calling(job.HTTPS, retry, nil)
		return &a
	}
	for _, tt := range []struct {
		name             string
		action           job.Action
		fails            int // so many attempts
		state            job.State
		failures, faults int64
		want             []string
	}{
		{
			"retries", calling(job.HTTP, quick, nil), 9, job.Faulted, 2, 1,
			[]string{"Main/0 failed", "Main/1 failed"},
		},
		{
			"none", calling(job.HTTP, &job.RetryPolicy{}, nil), 9, job.Faulted, 1, 1,
			[]string{"Main/0 failed"},
		},
		{
			"erroraction", calling(job.HTTP, quick, fallback(&job.RetryPolicy{})), 2, job.Faulted, 2, 1,
			[]string{"Main/0 failed", "Main/1 failed", "Erro/0 completed"},
		},
		{
			"its-own-policy", calling(job.HTTP, quick, fallback(fixed(30*time.Millisecond, 2))), 9, job.Faulted, 5, 1,
			[]string{"Main/0 failed", "Main/1 failed", "Erro/0 failed", "Erro/1 failed", "Erro/2 failed"},
		},
		{
			"the-actions-policy", calling(job.HTTP, quick, fallback(nil)), 9, job.Faulted, 4, 1,
			[]string{"Main/0 failed", "Main/1 failed", "Erro/0 failed", "Erro/1 failed"},
		},
		{
			"none-in-erroraction", calling(job.HTTP, quick, fallback(&job.RetryPolicy{})), 9, job.Faulted, 3, 1,
			[]string{"Main/0 failed", "Main/1 failed", "Erro/0 failed"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := w.on(t)
			k.on(tt.name, outcomes(append(slices.Repeat([]job.Outcome{job.Failed}, tt.fails), job.Succeeded)...))
			j := w.create(tt.name, job.Definition{Action: tt.action})
			w.is(j, tt.state, 1, tt.failures, tt.faults)
			if diff := cmp.Diff(tt.want, attempts(w.rows(j))); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
			for _, c := range k.performed(j) {
				if want := map[job.Phase]job.ActionType{job.MainAction: job.HTTP, job.ErrorAction: job.HTTPS}[c.Phase]; c.Action.Type != want {
					t.Errorf("%s performs %s", c.Phase, c.Action.Type)
				}
			}
			w.idle()
		})
	}
}

// AZURE.md §6: "429 and 503 with Retry-After … the next attempt waits
// max(Retry-After, interval)"; a postponed attempt is no failure.
func TestPostponed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan()
	k := w.work()
	k.on("postponed", outcomes(job.Postponed, job.Succeeded))
	j := w.create("postponed", job.Definition{Action: calling(job.HTTP, fixed(20*time.Millisecond, 1), nil)})
	w.is(j, job.Completed, 1, 0, 0)
	rows := w.rows(j)
	if gap := rows[1].StartedAt.Sub(rows[0].EndedAt); gap < postponedFor {
		t.Errorf("came back after %v", gap)
	}
}

// AZURE.md §6: count counts occurrences; "A recurring job stays enabled after a
// faulted occurrence"; the series ends as its last occurrence did.
func TestCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan()
	k := w.work()
	for _, tt := range []struct {
		name     string
		outcomes []job.Outcome
		state    job.State
	}{
		{"ends-well", []job.Outcome{job.Failed, job.Succeeded}, job.Completed},
		{"ends-badly", []job.Outcome{job.Succeeded, job.Failed}, job.Faulted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := w.on(t)
			k.on(tt.name, outcomes(tt.outcomes...))
			j := w.create(tt.name, job.Definition{Action: calling(job.HTTP, &job.RetryPolicy{}, nil), Recurrence: every(1, 2)})
			w.eventually("the first", func() bool { return w.read(j).Status.Executions == 1 })
			if s := w.read(j).Status; s.State != job.Enabled {
				t.Errorf("after the first it is %s", s.State)
			}
			w.is(j, tt.state, 2, 1, 1)
			rows := w.rows(j)
			if gap := rows[1].At.Sub(rows[0].At); gap != time.Second || rows[0].Repeat != 1 || rows[1].Repeat != 2 {
				t.Errorf("occurrences %v apart, repeats %d and %d", gap, rows[0].Repeat, rows[1].Repeat)
			}
		})
	}
}

func TestEndTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan()
	k := w.work()
	start := w.store.Now().Truncate(time.Second).Add(time.Second)
	r := every(1, 0)
	r.EndAt = start.Add(time.Second)
	j := w.create("ends", job.Definition{StartAt: start, Recurrence: r})
	w.is(j, job.Completed, 2, 0, 0)
	if calls := k.performed(j); len(calls) != 2 || !calls[1].At.Equal(r.EndAt) {
		t.Errorf("performed %d times", len(calls))
	}
	w.idle()
}
