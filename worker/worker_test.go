package worker_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker"
	"github.com/carillon-scheduler/carillon/worker/action"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "s3cret"

// source delivers each dispatch once, as often delivered as says delivery, and
// keeps the verdicts.
type source struct {
	due      []*job.Dispatch
	delivery int
	err      error

	mu       sync.Mutex
	verdicts []job.Verdict
}

func (s *source) Consume(ctx context.Context, limit int, handle func(context.Context, *job.Dispatch, int) job.Verdict) error {
	if s.err != nil {
		return s.err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, limit)
	for _, d := range s.due {
		slots <- struct{}{}
		wg.Go(func() {
			v := handle(context.WithoutCancel(ctx), d, max(s.delivery, 1))
			s.mu.Lock()
			s.verdicts = append(s.verdicts, v)
			s.mu.Unlock()
			<-slots
		})
	}
	<-ctx.Done()
	return nil
}

func (s *source) settled() []job.Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.verdicts)
}

// history keeps results; the first failures calls of Record fail, and doneErr
// is what Done fails with.
type history struct {
	mu       sync.Mutex
	results  []*job.Result
	failures int
	calls    int
	done     bool
	doneErr  error
	asked    int
}

func (h *history) Record(ctx context.Context, r *job.Result) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls++; h.calls <= h.failures {
		return errors.New("history is away")
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	h.results = append(h.results, r)
	return nil
}

func (h *history) Done(context.Context, *job.Dispatch) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked++
	return h.done, h.doneErr
}

// act is an action made of a function.
type act func(ctx context.Context, d *job.Dispatch) action.Report

func (f act) Do(ctx context.Context, d *job.Dispatch) action.Report { return f(ctx, d) }

func success(context.Context, *job.Dispatch) action.Report { return succeeded() }

func succeeded() action.Report {
	return action.Report{Outcome: job.Succeeded, Message: "Http Action - done"}
}

// newDispatch returns an attempt that is due now.
func newDispatch() *job.Dispatch {
	d := &job.Dispatch{Action: job.Action{Type: job.HTTP, Request: &job.Request{
		Method: "POST", URI: "http://u:" + secret + "@target.example/" + secret + "?" + secret, Body: secret,
		Headers:        map[string]string{"Authorization": secret},
		Authentication: &job.Authentication{Type: job.Basic, Username: "u", Password: secret},
	}}}
	d.Tag, d.UID, d.Revision, d.Phase = "e927cf76d24da9625608248ce654cfa7", "uid", 3, job.MainAction
	d.Job, d.Collection, d.ResourceGroup, d.Subscription = "job", "collection", "group", "sub"
	d.At = time.Now()
	d.DueAt = d.At
	return d
}

// A rig is a worker with what it works on.
type rig struct {
	source  source
	history history
	cfg     worker.Config
	log     bytes.Buffer
	mu      sync.Mutex // of log
}

func (r *rig) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(p)
}

// run runs the worker with the action for HTTP until work returns, then shuts
// it down. It checks that nothing logged or recorded holds a secret.
func (r *rig) run(t *testing.T, do act, work func()) {
	t.Helper()
	r.cfg.Source, r.cfg.History = &r.source, &r.history
	r.cfg.Actions = map[job.ActionType]action.Action{job.HTTP: do}
	r.cfg.Log = slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w, err := worker.New(r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	work()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
	if strings.Contains(r.log.String(), secret) {
		t.Errorf("secret in the log:\n%s", r.log.String())
	}
	for _, result := range r.history.results {
		if strings.Contains(result.Message, secret) {
			t.Errorf("secret in history: %s", result.Message)
		}
	}
}

func TestNewNamesEveryWrongField(t *testing.T) {
	_, err := worker.New(worker.Config{Concurrency: -1, Actions: map[job.ActionType]action.Action{job.HTTP: nil}})
	for _, want := range []string{"source", "history", "action Http is nil", "log", "concurrency"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing: %v", want, err)
		}
	}
}

func TestRunReportsABrokenSource(t *testing.T) {
	broken := errors.New("broken")
	w, err := worker.New(worker.Config{
		Source: &source{err: broken}, History: &history{}, Log: slog.New(slog.DiscardHandler),
		Actions: map[job.ActionType]action.Action{job.HTTP: act(success)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestResultOfAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDispatch()
		time.Sleep(1234567 * time.Nanosecond)
		startedAt := time.Now()
		var observed []*job.Result
		r := &rig{source: source{due: []*job.Dispatch{d}}}
		r.cfg.Observe = func(result *job.Result) { observed = append(observed, result) }
		r.run(t, func(context.Context, *job.Dispatch) action.Report {
			time.Sleep(2 * time.Second)
			return action.Report{Outcome: job.Postponed, Message: "a\xffb", RetryAfter: time.Minute}
		}, func() { time.Sleep(time.Minute) })

		want := []*job.Result{{
			Attempt: d.Attempt, Outcome: job.Postponed, Message: "a\uFFFDb", RetryAfter: time.Minute,
			StartedAt: startedAt.UTC().Truncate(100), EndedAt: startedAt.UTC().Truncate(100).Add(2 * time.Second),
		}}
		ignore := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Performance" }, cmp.Ignore())
		if diff := cmp.Diff(want, r.history.results, ignore); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(r.history.results, observed); diff != "" {
			t.Errorf("observed (-recorded +observed):\n%s", diff)
		}
		if len(r.history.results[0].Performance) < 16 || r.history.results[0].StartedAt.Location() != time.UTC {
			t.Errorf("got %+v", r.history.results[0])
		}
		if diff := cmp.Diff([]job.Verdict{{}}, r.source.settled()); diff != "" {
			t.Errorf("verdict (-want +got):\n%s", diff)
		}
		if !strings.Contains(r.log.String(), "target=target.example ") {
			t.Errorf("log:\n%s", r.log.String())
		}
	})
}

func TestEachPerformanceHasItsOwnID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDispatch()
		r := &rig{source: source{due: []*job.Dispatch{d, d}}}
		r.run(t, success, func() { time.Sleep(time.Second) })
		if got := r.history.results; len(got) != 2 || got[0].Performance == got[1].Performance {
			t.Errorf("got %+v", got)
		}
	})
}

func TestConcurrencyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var now, most int
		r := &rig{}
		for range 20 {
			r.source.due = append(r.source.due, newDispatch())
		}
		r.cfg.Concurrency = 3
		r.run(t, func(context.Context, *job.Dispatch) action.Report {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return succeeded()
		}, func() { time.Sleep(time.Minute) })
		if most != 3 || len(r.history.results) != 20 {
			t.Errorf("%d at once, %d results", most, len(r.history.results))
		}
	})
}
