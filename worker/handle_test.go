package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
)

// DESIGN, I3: a worker waits out what is early by its own clock, bounded.
func TestEarlyDispatchWaits(t *testing.T) {
	for _, test := range []struct {
		name        string
		early, want time.Duration
		warns       bool
	}{
		{"late", -time.Hour, 0, false},
		{"due", 0, 0, false},
		{"a little early", 3 * time.Millisecond, 3 * time.Millisecond, false},
		{"early", 1500 * time.Millisecond, 1500 * time.Millisecond, false},
		{"at the bound", 2 * time.Second, 2 * time.Second, false},
		{"beyond the bound", time.Hour, 2 * time.Second, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDispatch()
				d.DueAt = d.DueAt.Add(test.early)
				start := time.Now()
				r := &rig{}
				r.source.due = []*job.Dispatch{d}
				r.run(t, success, func() { time.Sleep(time.Minute) })
				if got := r.history.results[0].StartedAt.Sub(start.Truncate(100)); got != test.want {
					t.Errorf("performed after %v", got)
				}
				if got := strings.Contains(r.log.String(), "clock is behind"); got != test.warns {
					t.Errorf("warned: %t", got)
				}
			})
		})
	}
}

func TestSkewIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{}
		for range 90 {
			d := newDispatch()
			d.DueAt = d.DueAt.Add(time.Hour)
			r.source.due = append(r.source.due, d)
		}
		r.cfg.Concurrency = 1 // so one every two seconds
		r.run(t, success, func() { time.Sleep(10 * time.Minute) })
		if n := strings.Count(r.log.String(), "clock is behind"); n != 3 {
			t.Errorf("%d lines", n)
		}
	})
}

// DESIGN, I5: an attempt whose result is in history is not performed again.
func TestRedeliveryOfADoneAttemptIsOnlyAcknowledged(t *testing.T) {
	for _, test := range []struct {
		name             string
		delivery, resend int
		done             bool
		err              error
		asked, performed int
		again            time.Duration
	}{
		{name: "first delivery", delivery: 1, done: true, performed: 1},
		{name: "again, done", delivery: 2, done: true, asked: 1},
		{name: "again, not done", delivery: 3, asked: 1, performed: 1},
		{name: "sent again, done", delivery: 1, resend: 1, done: true, asked: 1},
		{name: "again, unknown", delivery: 2, err: errors.New("away"), asked: 1, again: 5 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDispatch()
				d.Resend = test.resend
				r := &rig{}
				r.source.due, r.source.delivery = []*job.Dispatch{d}, test.delivery
				r.history.done, r.history.doneErr = test.done, test.err
				performed := 0
				r.run(t, func(context.Context, *job.Dispatch) action.Report {
					performed++
					return succeeded()
				}, func() { time.Sleep(time.Minute) })
				if r.history.asked != test.asked || performed != test.performed || len(r.history.results) != performed {
					t.Errorf("asked %d, performed %d, recorded %d", r.history.asked, performed, len(r.history.results))
				}
				if diff := cmp.Diff([]job.Verdict{{Again: test.again}}, r.source.settled()); diff != "" {
					t.Errorf("verdict (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestPanicIsAFailure(t *testing.T) {
	for _, test := range []struct {
		name string
		do   act
		log  string
	}{
		{"of an action", func(context.Context, *job.Dispatch) action.Report { panic("no " + secret) }, "panic=string"},
		{"of the runtime", func(_ context.Context, d *job.Dispatch) action.Report {
			return action.Report{Message: d.Action.Bus.Entity}
		}, "nil pointer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &rig{}
				r.source.due = []*job.Dispatch{newDispatch(), newDispatch()}
				r.run(t, test.do, func() { time.Sleep(time.Second) })
				if len(r.history.results) != 2 {
					t.Fatalf("%d results", len(r.history.results))
				}
				got := r.history.results[0]
				if want := "Http Action - Request to host 'target.example' failed: Carillon met an internal error."; got.Outcome != job.Failed || got.Message != want {
					t.Errorf("%s: %s", got.Outcome, got.Message)
				}
				if log := r.log.String(); !strings.Contains(log, test.log) || !strings.Contains(log, "handle_test.go") {
					t.Errorf("log:\n%s", log)
				}
			})
		})
	}
}

func TestWhatTheWorkerCannotPerformFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDispatch()
		d.Action = job.Action{Type: job.StorageQueue, Queue: &job.QueueMessage{StorageAccount: "a", QueueName: "q", SASToken: secret, Message: secret}}
		r := &rig{}
		r.source.due = []*job.Dispatch{d}
		r.run(t, success, func() { time.Sleep(time.Second) })
		got := r.history.results[0]
		if got.Outcome != job.Failed || !strings.HasPrefix(got.Message, "StorageQueue Action - ") || !strings.Contains(got.Message, "cannot execute StorageQueue actions yet") {
			t.Errorf("%s: %s", got.Outcome, got.Message)
		}
	})
}

// Planners know three outcomes, and history bounded messages.
func TestReportOfABadActionIsMadeGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{}
		r.source.due = []*job.Dispatch{newDispatch(), newDispatch()}
		n := 0
		r.cfg.Concurrency = 1
		r.run(t, func(context.Context, *job.Dispatch) action.Report {
			if n++; n == 1 {
				return action.Report{}
			}
			return action.Report{Outcome: job.Failed, Message: strings.Repeat("😀", 1<<20), RetryAfter: -1}
		}, func() { time.Sleep(time.Second) })
		if got := r.history.results[0]; got.Outcome != job.Failed || !strings.Contains(got.Message, "internal error") {
			t.Errorf("got %s: %s", got.Outcome, got.Message)
		}
		if got := r.history.results[1]; got.Message != strings.Repeat("😀", action.MaxMessage/2) || got.RetryAfter != 0 {
			t.Errorf("%d bytes after %v", len(got.Message), got.RetryAfter)
		}
	})
}

// DESIGN §2: the dispatch is acknowledged only when history holds the result.
func TestRecordingIsTriedUntilItIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{}
		r.source.due = []*job.Dispatch{newDispatch()}
		r.history.failures = 20
		performed := 0
		r.run(t, func(context.Context, *job.Dispatch) action.Report {
			performed++
			return succeeded()
		}, func() {
			time.Sleep(30 * time.Second)
			if v := r.source.settled(); len(v) != 0 {
				t.Errorf("settled before it was stored: %v", v)
			}
			time.Sleep(2 * time.Minute)
		})
		if performed != 1 || len(r.history.results) != 1 {
			t.Errorf("performed %d, recorded %d", performed, len(r.history.results))
		}
		if diff := cmp.Diff([]job.Verdict{{}}, r.source.settled()); diff != "" {
			t.Errorf("verdict (-want +got):\n%s", diff)
		}
		if n := strings.Count(r.log.String(), "history is away"); n != 1 {
			t.Errorf("%d lines", n)
		}
	})
}

// What is under way at shutdown finishes within the grace period; then it is
// given back, and not recorded as a failure.
func TestShutdown(t *testing.T) {
	const grace = 10 * time.Second
	slow := func(d time.Duration) act {
		return func(ctx context.Context, _ *job.Dispatch) action.Report {
			select {
			case <-time.After(d):
				return succeeded()
			case <-ctx.Done():
				return action.Report{Outcome: job.Failed, Message: fmt.Sprint(context.Cause(ctx))}
			}
		}
	}
	for _, test := range []struct {
		name     string
		do       act
		failures int // of recording
		recorded int
		again    bool
		takes    time.Duration
	}{
		{"finishes", slow(8 * time.Second), 0, 1, false, 8 * time.Second},
		{"exceeds the grace period", slow(time.Hour), 0, 0, true, 9 * time.Second},
		{"succeeds as it is cut", func(ctx context.Context, _ *job.Dispatch) action.Report {
			<-ctx.Done()
			return succeeded()
		}, 0, 1, false, 9 * time.Second},
		{"cannot be recorded", slow(time.Second), 1 << 30, 0, true, grace},
		{"is recorded in the end", slow(time.Second), 3, 1, false, time.Second + 700*time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &rig{}
				r.cfg.Grace = grace
				r.source.due = []*job.Dispatch{newDispatch()}
				r.history.failures = test.failures
				var start time.Time
				r.run(t, test.do, func() {
					synctest.Wait()
					start = time.Now()
				})
				if took := time.Since(start); took != test.takes {
					t.Errorf("took %v", took)
				}
				if len(r.history.results) != test.recorded {
					t.Errorf("recorded %+v", r.history.results)
				}
				if len(r.source.settled()) != 1 || (r.source.settled()[0].Again > 0) != test.again {
					t.Errorf("verdicts %+v", r.source.settled())
				}
			})
		})
	}
}

// The grace period is counted from the end of Run's context, and only then.
func TestNothingIsCutBeforeShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{}
		r.source.due = []*job.Dispatch{newDispatch()}
		r.run(t, func(ctx context.Context, _ *job.Dispatch) action.Report {
			select {
			case <-time.After(time.Hour):
				return succeeded()
			case <-ctx.Done():
				return action.Report{Outcome: job.Failed}
			}
		}, func() { time.Sleep(2 * time.Hour) })
		if len(r.history.results) != 1 || r.history.results[0].Outcome != job.Succeeded {
			t.Errorf("got %+v", r.history.results)
		}
	})
}

// opener opens what is "sealed:", for the job and the phase that it knows.
type opener struct{}

func (opener) Open(a *job.Action, uid string, phase job.Phase) error {
	if uid != "uid" || phase != job.MainAction {
		return errors.New("a secret cannot be opened")
	}
	a.Secrets(func(_ string, s *job.Secret) { *s = secret })
	return nil
}

// DESIGN, I12: secrets are opened for the time of an attempt, in the worker.
func TestSecretsAreOpenedForTheAttempt(t *testing.T) {
	const sealed = job.SealedPrefix + "x"
	for _, test := range []struct {
		name, uid string
		phase     job.Phase
		sees      job.Secret // "": the action is not called
	}{
		{"its own", "uid", job.MainAction, secret},
		{"another job's", "other", job.MainAction, ""},
		{"another phase's", "uid", job.ErrorAction, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDispatch()
				d.UID, d.Phase, d.Action.Request.Authentication.Password = test.uid, test.phase, sealed
				r := &rig{source: source{due: []*job.Dispatch{d}}}
				r.cfg.Secrets = opener{}
				var saw job.Secret
				r.run(t, func(_ context.Context, d *job.Dispatch) action.Report {
					saw = d.Action.Request.Authentication.Password
					return succeeded()
				}, func() { time.Sleep(time.Second) })
				if saw != test.sees || d.Action.Request.Authentication.Password != sealed {
					t.Errorf("the action saw %q, the dispatch holds %q", string(saw), string(d.Action.Request.Authentication.Password))
				}
				if got := r.history.results[0]; test.sees == "" &&
					(got.Outcome != job.Failed || got.Message != "Http Action - Request to host 'target.example' failed: A secret cannot be opened.") {
					t.Errorf("%s: %s", got.Outcome, got.Message)
				}
			})
		})
	}
}

// A dispatch that kills its workers is given up, and so is what would follow it
// in its phase.
func TestAnAttemptThatNobodyFinishesIsGivenUp(t *testing.T) {
	for delivery, performed := range map[int]int{10: 1, 11: 0, 500: 0} {
		synctest.Test(t, func(t *testing.T) {
			d := newDispatch()
			d.RetryCount, d.Retries, d.Fallback = 1, 4, true
			r := &rig{source: source{due: []*job.Dispatch{d}, delivery: delivery}}
			n := 0
			r.run(t, func(context.Context, *job.Dispatch) action.Report { n++; return succeeded() }, func() { time.Sleep(time.Second) })
			if n != performed || len(r.history.results) != 1 {
				t.Fatalf("delivery %d: performed %d times, %d results", delivery, n, len(r.history.results))
			}
			got := r.history.results[0]
			if performed == 0 && (got.Outcome != job.Failed || got.Retries != 1 || !got.Fallback || !strings.Contains(got.Message, "this attempt was begun 10 times")) {
				t.Errorf("delivery %d: %+v", delivery, got)
			}
			if diff := cmp.Diff([]job.Verdict{{}}, r.source.settled()); diff != "" {
				t.Errorf("delivery %d: verdict (-want +got):\n%s", delivery, diff)
			}
		})
	}
}
