// Package worker performs the attempts that planners dispatch and records what
// came of them. It knows neither where dispatches come from nor where results
// go, and never tries an action again: that is the planner's.
package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
)

// Source delivers what is due.
type Source interface {
	// Consume calls handle for each dispatch, at most limit at once, and
	// settles it by the verdict. delivery counts how often the dispatch was
	// delivered, from 1. While handle runs nobody else gets the dispatch. When
	// ctx is done Consume takes no more, waits for every handle to return, and
	// returns nil; handle's context outlives ctx.
	Consume(ctx context.Context, limit int, handle func(ctx context.Context, d *job.Dispatch, delivery int) job.Verdict) error
}

// History keeps results.
type History interface {
	// Record stores r and returns nil only when it is stored. It may block for
	// long. After an error it is called again with the same result, of which
	// one copy must remain.
	Record(ctx context.Context, r *job.Result) error
	// Done reports whether the result of d's attempt is stored.
	Done(ctx context.Context, d *job.Dispatch) (bool, error)
}

// Opener opens the secrets of definitions.
type Opener interface {
	// Open opens the secrets of the action of one phase of a job's, in place. Its
	// errors are sentences for the job's history.
	Open(a *job.Action, uid string, phase job.Phase) error
}

// Config configures a Worker. Source, History, Actions and Log are required.
type Config struct {
	Source  Source
	History History
	Actions map[job.ActionType]action.Action // others fail as [action.Unsupported]
	Log     *slog.Logger

	// Secrets opens secrets for the time of an attempt. Nil takes them as they
	// are.
	Secrets     Opener
	Concurrency int // attempts at once; default 256
	// Grace is how long attempts under way may go on when Run's context ends;
	// default 25 s, which leaves some of Kubernetes' 30 s. At most a tenth of it
	// is kept for recording.
	Grace time.Duration
	// MaxDeliveries is how often an attempt may have been given to workers before
	// it is given up, with what would follow it: something about it kills them.
	// Being given back counts, so it is more than one would bear from deaths
	// alone. Default 10.
	MaxDeliveries int

	// Observe, if not nil, is called with each result after it was recorded. It
	// may be called from several goroutines at once, and delays the next
	// attempt while it runs.
	Observe func(*job.Result)
}

// Worker performs attempts. Create one with New; run it with Run.
type Worker struct {
	cfg  Config
	skew skewLog
}

// New returns a Worker, or an error that names every field that is wrong.
func New(cfg Config) (*Worker, error) {
	var errs []error
	if cfg.Source == nil {
		errs = append(errs, errors.New("source is required"))
	}
	if cfg.History == nil {
		errs = append(errs, errors.New("history is required"))
	}
	if len(cfg.Actions) == 0 {
		errs = append(errs, errors.New("actions are required"))
	}
	for t, a := range cfg.Actions {
		if a == nil {
			errs = append(errs, fmt.Errorf("action %s is nil", t))
		}
	}
	if cfg.Log == nil {
		errs = append(errs, errors.New("log is required"))
	}
	if cfg.Concurrency < 0 || cfg.Grace < 0 || cfg.MaxDeliveries < 0 {
		errs = append(errs, errors.New("concurrency, grace and max deliveries must not be negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("worker config: %w", err)
	}
	cfg.Concurrency = cmp.Or(cfg.Concurrency, 256)
	cfg.Grace = cmp.Or(cfg.Grace, 25*time.Second)
	cfg.MaxDeliveries = cmp.Or(cfg.MaxDeliveries, 10)
	return &Worker{cfg: cfg, skew: skewLog{log: cfg.Log}}, nil
}

// Run performs attempts until ctx is done. Then it takes no more, lets those
// under way finish within Grace, gives the rest back, and returns nil. Call it
// once.
func (w *Worker) Run(ctx context.Context) error {
	g := newGrace(ctx, w.cfg.Grace)
	defer g.stop()
	err := w.cfg.Source.Consume(ctx, w.cfg.Concurrency, func(ctx context.Context, d *job.Dispatch, delivery int) job.Verdict {
		return w.handle(ctx, g, d, delivery)
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("consume dispatches: %w", err)
	}
	return nil
}
