package worker

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
)

const (
	// afterShutdown is after how long another worker gets an attempt that this
	// one did not finish, afterFault one that it could not begin.
	afterShutdown = 100 * time.Millisecond
	afterFault    = 5 * time.Second

	// Recording is tried again after recordRetry, then twice that, and so on.
	recordRetry    = 100 * time.Millisecond
	maxRecordRetry = 5 * time.Second
)

// handle sees one dispatch through. It acknowledges only what history holds.
func (w *Worker) handle(ctx context.Context, g *grace, d *job.Dispatch, delivery int) job.Verdict {
	acting, cancel := g.acting(ctx)
	defer cancel()
	if delivery > 1 || d.Resend > 0 {
		done, err := w.cfg.History.Done(acting, d)
		if err != nil {
			w.cfg.Log.WarnContext(ctx, "look for result", "attempt", d.ID(), "job", d.Ref.ID(), "err", err)
			return job.Verdict{Again: afterFault}
		}
		if done {
			return job.Verdict{}
		}
	}
	var r *job.Result
	if delivery > w.cfg.MaxDeliveries {
		r = w.giveUp(ctx, d)
	} else {
		if !w.waitDue(acting, d) {
			return job.Verdict{Again: afterShutdown}
		}
		r = w.perform(acting, d)
		if acting.Err() != nil && r.Outcome != job.Succeeded {
			// What ended it was not the target, so it is no failure of the job.
			w.cfg.Log.InfoContext(ctx, "attempt given back", "attempt", d.ID(), "job", d.Ref.ID(), "err", context.Cause(acting))
			return job.Verdict{Again: afterShutdown}
		}
	}
	recording, cancel := g.recording(ctx)
	defer cancel()
	if !w.record(recording, r) {
		return job.Verdict{Again: afterShutdown}
	}
	if w.cfg.Observe != nil {
		w.cfg.Observe(r)
	}
	return job.Verdict{}
}

// giveUp returns the result of an attempt that no worker has lived to finish. It
// is the last of its phase, so that the job's retries do not go on killing.
func (w *Worker) giveUp(ctx context.Context, d *job.Dispatch) *job.Result {
	w.cfg.Log.ErrorContext(ctx, "attempt given up", "attempt", d.ID(), "job", d.Ref.ID(), "deliveries", w.cfg.MaxDeliveries)
	now := instant(time.Now())
	r := &job.Result{
		Attempt: d.Attempt, Performance: uuid.NewString(), StartedAt: now, EndedAt: now, Outcome: job.Failed,
		Message: action.Failure(&d.Action, fmt.Sprintf("Carillon gave up: this attempt was begun %d times, and no worker finished it.", w.cfg.MaxDeliveries)).Message,
	}
	r.Retries = r.RetryCount
	return r
}

// perform performs d's action once and returns what came of it.
func (w *Worker) perform(ctx context.Context, d *job.Dispatch) *job.Result {
	startedAt := time.Now()
	report := w.do(ctx, d)
	endedAt := startedAt.Add(time.Since(startedAt)) // even if the clock was set meanwhile

	switch report.Outcome {
	case job.Succeeded, job.Failed, job.Postponed:
	default: // planners know no other
		report = action.Failure(&d.Action, "Carillon met an internal error.")
	}
	if report.Outcome != job.Succeeded {
		w.cfg.Log.InfoContext(ctx, "attempt did not succeed", "attempt", d.ID(), "job", d.Ref.ID(),
			"outcome", string(report.Outcome), "target", action.Target(&d.Action), "duration", endedAt.Sub(startedAt))
	}
	return &job.Result{
		Attempt:     d.Attempt,
		Performance: uuid.NewString(),
		StartedAt:   instant(startedAt),
		EndedAt:     instant(endedAt),
		Outcome:     report.Outcome,
		Message:     action.Text(report.Message, action.MaxMessage),
		RetryAfter:  max(report.RetryAfter, 0),
	}
}

// do calls the action. One that panics has failed.
func (w *Worker) do(ctx context.Context, d *job.Dispatch) (report action.Report) {
	a, ok := w.cfg.Actions[d.Action.Type]
	if !ok {
		a = action.Unsupported{}
	}
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		// Only the runtime's own panics are sure to hold nothing of the job.
		text := fmt.Sprintf("%T", v)
		if err, ok := v.(runtime.Error); ok {
			text = err.Error()
		}
		w.cfg.Log.ErrorContext(ctx, "action panicked", "attempt", d.ID(), "job", d.Ref.ID(),
			"panic", text, "stack", string(debug.Stack()))
		report = action.Failure(&d.Action, "Carillon met an internal error.")
	}()
	d, err := w.open(d)
	if err != nil {
		return action.Failure(&d.Action, sentence(err))
	}
	return a.Do(ctx, d)
}

// open returns d with its secrets opened. d itself stays sealed.
func (w *Worker) open(d *job.Dispatch) (*job.Dispatch, error) {
	sealed := false
	d.Action.Secrets(func(string, *job.Secret) { sealed = true })
	if !sealed || w.cfg.Secrets == nil {
		return d, nil
	}
	opened := *d
	opened.Action = *d.Action.Clone()
	if err := w.cfg.Secrets.Open(&opened.Action, d.UID, d.Phase); err != nil {
		return d, err
	}
	return &opened, nil
}

// sentence returns an error as history tells it.
func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// record stores r however often it has to try. It reports false if ctx ended
// first.
func (w *Worker) record(ctx context.Context, r *job.Result) bool {
	for wait := recordRetry; ; wait = min(2*wait, maxRecordRetry) {
		err := w.cfg.History.Record(ctx, r)
		if err == nil {
			return true
		}
		if wait == recordRetry { // once is enough: all attempts meet the same trouble
			w.cfg.Log.WarnContext(ctx, "record result", "tag", r.Tag, "job", r.ID(), "err", err)
		}
		if !sleep(ctx, wait) {
			w.cfg.Log.WarnContext(ctx, "result not recorded, attempt given back", "tag", r.Tag, "job", r.ID(), "err", err)
			return false
		}
	}
}

// instant returns t as history keeps it: UTC, in steps of 100 ns, which are
// .NET's.
func instant(t time.Time) time.Time { return t.UTC().Truncate(100 * time.Nanosecond) }
