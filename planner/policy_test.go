package planner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// minutes returns the instants so many minutes after noon, from one to another.
func minutes(first, last int) (list []time.Time) {
	for m := first; m <= last; m++ {
		list = append(list, noon.Add(time.Duration(m)*time.Minute))
	}
	return list
}

// A job here is due every minute; noon is now, and what is more than two minutes
// late is missed.
func TestDecideUnderPolicy(t *testing.T) {
	const m = time.Minute
	skip, queue := job.Policy{Overlap: job.OverlapSkip}, job.Policy{Overlap: job.OverlapQueue}
	all := job.Policy{Missed: job.MissedAll}
	status := func(last int, planned, active int64, waiting ...time.Time) func(*job.Job, *job.Collection) {
		return func(j *job.Job, _ *job.Collection) {
			j.Status.LastAt, j.Status.Planned = noon.Add(time.Duration(last)*m), planned
			j.Status.Active, j.Status.Waiting = active, waiting
		}
	}
	counted := func(count int, change func(*job.Job, *job.Collection)) func(*job.Job, *job.Collection) {
		return func(j *job.Job, c *job.Collection) {
			change(j, c)
			j.Recurrence.Count = count
		}
	}
	pass := func(n int64, first, last int, why string, waiting ...time.Time) *job.Pass {
		return &job.Pass{Count: n, From: minutes(first, first)[0], To: minutes(last, last)[0], Why: why, Waiting: waiting}
	}
	for _, tt := range []struct {
		name   string
		policy job.Policy
		change func(*job.Job, *job.Collection)
		want   job.Step
	}{
		// What was missed.
		{"latest, given", job.Policy{Missed: job.MissedLatest}, status(-10, 1, 0), job.Step{
			NextAt: noon.Add(m), LookAt: noon, Pass: pass(9, -9, -1, whyMissed),
		}},
		{"skip", job.Policy{Missed: job.MissedSkip}, status(-10, 1, 0), job.Step{NextAt: noon.Add(m), LookAt: noon, Pass: pass(10, -9, 0, whyMissed)}},
		{"skip of a million", job.Policy{Missed: job.MissedSkip}, status(-1_000_000, 1, 0), job.Step{
			NextAt: noon.Add(m), LookAt: noon, Pass: pass(1_000_000, -999_999, 0, whyMissed),
		}},
		{"skip of what is only late", job.Policy{Missed: job.MissedSkip}, status(-3, 1, 0), job.Step{At: noon.Add(-2 * m), NextAt: noon.Add(-m)}},
		{"all", all, status(-10, 1, 0), job.Step{NextAt: noon.Add(m), LookAt: noon, Pass: pass(0, -9, -9, whyMissed, minutes(-9, 0)...)}},
		{"all, as many as are made up", all, status(-100, 1, 0), job.Step{NextAt: noon.Add(m), LookAt: noon, Pass: pass(0, -99, -99, whyMissed, minutes(-99, 0)...)}},
		{"all, and more", all, status(-1000, 1, 0), job.Step{NextAt: noon.Add(m), LookAt: noon, Pass: pass(900, -999, -100, whyMissed, minutes(-99, 0)...)}},
		{"all, while some wait", all, status(-1000, 1, 0, minutes(-2000, -1996)...), job.Step{
			NextAt: noon.Add(m), LookAt: noon, Waiting: minutes(-2000, -1996),
			Pass: pass(905, -999, -95, whyMissed, append(minutes(-2000, -1996), minutes(-94, 0)...)...),
		}},
		{"all, but count allows two", all, counted(3, status(-10, 1, 0)), job.Step{NextAt: noon.Add(m), LookAt: noon, Pass: pass(8, -9, -2, whyMissed, minutes(-1, 0)...)}},

		// What was missed and waits.
		{"its turn", all, status(0, 5, 1, minutes(-9, -7)...), job.Step{At: noon.Add(-9 * m), NextAt: noon.Add(m), Waiting: minutes(-8, -7), LookAt: noon.Add(pace)}},
		{"the last one's turn", all, status(0, 5, 1, minutes(-7, -7)...), job.Step{At: noon.Add(-7 * m), NextAt: noon.Add(m), Waiting: []time.Time{}}},
		{"not so soon", all, func(j *job.Job, c *job.Collection) {
			status(0, 5, 1, minutes(-9, -7)...)(j, c)
			j.Status.LastExecutionAt = noon.Add(-100 * time.Millisecond)
		}, job.Step{NextAt: noon.Add(m), Waiting: minutes(-9, -7), LookAt: noon.Add(pace - 100*time.Millisecond)}},
		{"the schedule does not wait", all, status(-1, 5, 1, minutes(-9, -7)...), job.Step{At: noon, NextAt: noon.Add(m), Waiting: minutes(-9, -7), LookAt: noon.Add(pace)}},
		{"the last that count allows", all, counted(6, status(0, 5, 0, minutes(-9, -9)...)), job.Step{At: noon.Add(-9 * m), Waiting: []time.Time{}}},

		// Overlap.
		{"skip, nothing is active", skip, status(-1, 5, 0), job.Step{At: noon, NextAt: noon.Add(m), Alone: true}},
		{"skip", skip, status(-1, 5, 1), job.Step{NextAt: noon.Add(m), LookAt: noon, Pass: pass(1, 0, 0, whyOverlap)}},
		{"skip of two", skip, status(-2, 5, 1), job.Step{NextAt: noon.Add(m), LookAt: noon, Pass: pass(2, -1, 0, whyOverlap)}},
		{"skip, the last that count allows", skip, counted(6, status(-1, 5, 0)), job.Step{At: noon, Alone: true}},
		{"allow, given", job.Policy{Overlap: job.OverlapAllow}, status(-1, 5, 1), job.Step{At: noon, NextAt: noon.Add(m)}},
		{"queue, nothing is active", queue, status(-1, 5, 0), job.Step{At: noon, NextAt: noon.Add(m), Alone: true, Waiting: []time.Time{}}},
		{"queue", queue, status(-1, 5, 1), job.Step{NextAt: noon.Add(m), Alone: true, Waiting: minutes(0, 0)}},
		{"queue behind others", queue, status(-9, 5, 1, minutes(-8, -1)...), job.Step{NextAt: noon.Add(m), Alone: true, Waiting: minutes(-8, 0)}},
		{"queue is full", queue, status(-11, 5, 1, minutes(-10, -1)...), job.Step{
			NextAt: noon.Add(m), LookAt: noon, Waiting: minutes(-10, -1), Pass: pass(1, 0, 0, whyFull, minutes(-10, -1)...),
		}},
		{"queue moves on", queue, status(-11, 5, 0, minutes(-10, -1)...), job.Step{At: noon.Add(-10 * m), NextAt: noon.Add(m), Alone: true, Waiting: minutes(-9, 0)}},
		{"queue, nothing new", queue, status(-9, 5, 0, minutes(-2, 0)...), job.Step{At: noon.Add(-2 * m), NextAt: noon.Add(m), Alone: true, Waiting: minutes(-1, 0)}},
		{"queue, count allows one more", queue, counted(7, status(-2, 5, 1, minutes(-1, -1)...)), job.Step{Alone: true, Waiting: minutes(-1, 0)}},
		{"queue, count is used up", queue, counted(7, status(-3, 5, 1, minutes(-2, -1)...)), job.Step{Alone: true, Waiting: minutes(-2, -1)}},
		{"queue after an outage", queue, status(-10, 5, 1), job.Step{NextAt: noon.Add(m), LookAt: noon, Pass: pass(9, -9, -1, whyMissed)}},

		// What waits is given up.
		{"disabled", queue, func(j *job.Job, c *job.Collection) {
			status(-3, 5, 1, minutes(-2, 0)...)(j, c)
			j.Status.State = job.Disabled
		}, job.Step{LookAt: noon, Waiting: minutes(-2, 0), Pass: pass(3, -2, 0, "the job was disabled")}},
		{"disabled collection", queue, func(j *job.Job, c *job.Collection) {
			status(-3, 5, 1, minutes(-2, -2)...)(j, c)
			c.State = job.CollectionSuspended
		}, job.Step{LookAt: noon, Waiting: minutes(-2, -2), Pass: pass(1, -2, -2, "the job collection was disabled")}},
		{"another series", queue, func(j *job.Job, c *job.Collection) {
			status(-3, 0, 1, minutes(-2, -1)...)(j, c)
			j.SeriesAt = noon
		}, job.Step{LookAt: noon, Waiting: minutes(-2, -1), Pass: pass(2, -2, -1, "the job was given another definition")}},
		{"policy was taken away", job.Policy{}, status(-3, 5, 1, minutes(-2, 0)...), job.Step{
			At: noon.Add(-2 * m), NextAt: noon.Add(m), Waiting: minutes(-1, 0), LookAt: noon.Add(pace),
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &owner{cfg: &Config{MissedAfter: 2 * m}}
			j, c := minutely(2_000_000*m), &job.Collection{UID: "c", State: job.CollectionEnabled}
			j.Policy = tt.policy
			tt.change(j, c)
			timetable, err := job.NewTimetable(&j.Definition, j.Anchor)
			if err != nil {
				t.Fatal(err)
			}
			got := o.decide(&planned{Job: j, timetable: timetable}, c, noon)
			tt.want.Job, tt.want.Collection = j, c
			if got.Pass != nil && tt.want.Pass != nil && strings.HasPrefix(got.Pass.Why, tt.want.Pass.Why) {
				tt.want.Pass.Why = got.Pass.Why
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
		})
	}
}

// atPlace is a ledger whose shard is where it says.
type atPlace struct {
	ledger
	progress job.Progress
}

func (s *atPlace) Progress(context.Context, int) (job.Progress, error) { return s.progress, nil }

// What is passed over is put in the history once the store has agreed, and the
// job is left alone until it comes back from there.
func TestPass(t *testing.T) {
	j := minutely(time.Hour)
	j.Policy.Missed = job.MissedSkip
	s, q := new(atPlace), new(diary)
	s.jobs, s.cols = map[string]*job.Job{"j": j}, []*job.Collection{{UID: "c", State: job.CollectionEnabled, Location: "West US"}}
	o := newTestOwner(t, s, q)
	due := func() []job.Due { return []job.Due{{ID: "j", At: noon.Add(-time.Hour)}} }
	if _, _, err := o.plan(t.Context(), due(), noon); !errors.Is(err, job.ErrBehind) || len(q.results) != 0 {
		t.Fatalf("%d rows with a store that is not where it was: %v", len(q.results), err)
	}
	s.progress.Ready = true
	o = newTestOwner(t, s, q)
	if ds, _, err := o.plan(t.Context(), due(), noon); err != nil || len(ds) != 0 {
		t.Fatalf("dispatches %v: %v", ds, err)
	}
	if len(q.results) != 1 {
		t.Fatalf("%d rows", len(q.results))
	}
	r := q.results[0]
	if r.Missed != 61 || !r.From.Equal(noon.Add(-time.Hour)) || !r.At.Equal(noon) || r.Outcome != job.Skipped || r.Planned.Series != 1 || r.Tag == job.Tag("j", noon) ||
		r.Message != "Not executed: 61 occurrences, due from 2026-05-06T11:00:00Z to 2026-05-06T12:00:00Z: missed while no planner was at work." {
		t.Errorf("row %+v", r)
	}
	if _, decided, err := o.plan(t.Context(), due(), noon); err != nil || decided != 0 || len(q.results) != 1 {
		t.Errorf("decided %d more: %v", decided, err)
	}
	if err := o.record(t.Context(), []job.Record{{Result: *r, Sequence: 1}}, noon); err != nil || s.effects[0].Follow != job.FollowPass {
		t.Fatalf("%+v: %v", s.effects, err)
	}
	if o.passing["j"] || o.cache.jobs["j"] != nil {
		t.Error("the job is not looked at anew")
	}
}
