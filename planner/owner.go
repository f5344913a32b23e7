package planner

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// An owner does all the work of one shard while its lease lasts.
type owner struct {
	cfg   *Config
	log   *slog.Logger
	shard int
	woken chan struct{}

	lease  atomic.Pointer[job.Lease] // renewed by the planner
	cancel context.CancelFunc
	done   chan struct{}

	// Of run's goroutine.
	at    job.Position // in the history: everything up to it is recorded
	cache *cache
	swept time.Time
	// journalSeen is the end of the journal at the last sweep: all up to it has
	// been in the store since.
	journalSeen uint64
}

func newOwner(p *Planner, l job.Lease) *owner {
	o := &owner{
		cfg: &p.cfg, log: p.log.With("shard", l.Shard), shard: l.Shard, woken: p.woken[l.Shard],
		done: make(chan struct{}), cache: newCache(),
	}
	o.lease.Store(&l)
	return o
}

// grace is how long a step that is under way when its owner has to stop may
// take to finish: less than a lease's margin.
const grace = time.Second

// run works until ctx is done. Whatever goes wrong, it brings the shard up to
// date and begins again.
func (o *owner) run(ctx context.Context) {
	wait := 50 * time.Millisecond
	for ctx.Err() == nil {
		began := time.Now()
		err := o.session(ctx)
		if ctx.Err() != nil {
			return
		}
		level := slog.LevelWarn
		if errors.Is(err, job.ErrLeaseLost) {
			level = slog.LevelDebug // the planner will say so
		}
		o.log.Log(ctx, level, "shard interrupted", "err", err)
		if time.Since(began) > 10*time.Second {
			wait = 50 * time.Millisecond
		}
		pause(ctx, wait)
		wait = min(2*wait, 2*time.Second)
	}
}

// session brings the shard up to date and works on it until something fails.
func (o *owner) session(ctx context.Context) error {
	// A step goes on for a moment when ctx ends, so that what was planned is
	// dispatched, and what was dispatched is noted.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()

	o.cache = newCache()
	if err := o.catchUp(work); err != nil {
		return err
	}
	results, failed := make(chan []job.Record), make(chan error, 1)
	follow, stop := context.WithCancel(work)
	go func() {
		failed <- o.cfg.Queue.Follow(follow, o.shard, o.at, o.cfg.Batch, func(rs []job.Record) error {
			select {
			case results <- rs:
				return nil
			case <-follow.Done():
				return follow.Err()
			}
		})
	}()
	ended := false
	defer func() {
		stop()
		if !ended {
			<-failed
		}
	}()

	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			ended = true
			if err == nil {
				err = errors.New("history can be followed no longer")
			}
			return err
		case rs := <-results:
			if err := o.record(work, rs, time.Time{}); err != nil {
				return err
			}
		case <-o.woken:
		case <-timer.C:
		}
		wait, err := o.step(work)
		if err != nil {
			return err
		}
		timer.Reset(wait)
	}
}

// longest is the longest an owner sleeps without looking: a notification may
// be lost.
const longest = time.Second

// step does what is due and returns how long nothing more will be.
func (o *owner) step(ctx context.Context) (time.Duration, error) {
	if time.Now().After(o.lease.Load().Until) {
		return 20 * time.Millisecond, nil // not ours to act on until the planner has renewed it
	}
	now := o.cfg.Store.Now()
	agenda, err := o.cfg.Store.Agenda(ctx, o.shard, now, o.cfg.Batch)
	if err != nil {
		return 0, err
	}
	waiting, err := o.runs(ctx, agenda.Runs)
	if err != nil {
		return 0, err
	}
	planned, err := o.plan(ctx, agenda.Jobs, now)
	if err != nil {
		return 0, err
	}
	acted := len(planned) > 0
	if ds := append(waiting, planned...); len(ds) > 0 {
		if err := o.dispatch(ctx, ds); err != nil {
			return 0, err
		}
		acted = true
	}
	if err := o.sweep(ctx, now); err != nil {
		return 0, err
	}
	switch {
	case len(agenda.Jobs) > 0 || acted:
		return 0, nil
	case len(agenda.Runs) > 0: // they wait for results to come in
		return 20 * time.Millisecond, nil
	case agenda.NextAt.IsZero():
		return longest, nil
	}
	return max(0, min(longest, agenda.NextAt.Sub(o.cfg.Store.Now()))), nil
}
