package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// An owner does all the work of one shard while its lease lasts.
type owner struct {
	cfg   *Config
	log   *slog.Logger
	shard int
	news  *shard

	lease  atomic.Pointer[job.Lease] // renewed by the planner
	oldest atomic.Int64              // when what is due longest was due, ms; 0: nothing is
	cancel context.CancelFunc
	done   chan struct{}

	// Of run's goroutine.
	at job.Position // in the history: everything up to it is recorded
	// suspects are dispatches, by sequence, that are gone without a result so
	// far, with the end of the history when that was seen.
	suspects map[uint64]uint64
	cache    *cache
	swept    time.Time
	// passing are uids of jobs whose pass is on its way through the history;
	// unsaid are passes that it may not have yet.
	passing map[string]bool
	unsaid  []*job.Result
	// endings are those of runs, by tag, that end without an attempt, until that is
	// recorded. What is decided stays so, whatever is enabled again meanwhile.
	endings map[string]ending
	// journaled is the shard's place in the journal: the store has all up to it.
	// journalEnd is where the journal ended at the last sweep.
	journaled, journalEnd uint64
	// held is for how long the owner waits because a server has no room; choked
	// says that it is the queue for dispatches, so that nothing more is planned.
	held   time.Duration
	choked bool
	// told are the runs of which history has been told what was missed before
	// them, by tag, as long as they are not dispatched.
	told map[string]bool
	// far are the jobs whose progress is to be journaled, by uid.
	far map[string]*distant
}

func newOwner(p *Planner, l job.Lease) *owner {
	o := &owner{
		cfg: &p.cfg, log: p.log.With("shard", l.Shard), shard: l.Shard, news: &p.shards[l.Shard],
		done: make(chan struct{}), far: make(map[string]*distant), told: make(map[string]bool),
	}
	o.fresh()
	o.lease.Store(&l)
	return o
}

// fresh forgets what holds only until the shard is brought up to date again.
func (o *owner) fresh() {
	o.cache, o.suspects, o.choked = newCache(), nil, false
	o.passing, o.unsaid, o.endings = make(map[string]bool), nil, make(map[string]ending)
}

// grace is how long a step that is under way when its owner has to stop may
// take to finish: less than a lease's margin.
const grace = time.Second

// run works until ctx is done. Whatever goes wrong, it brings the shard up to
// date and begins again.
func (o *owner) run(ctx context.Context) {
	const shortest = 50 * time.Millisecond
	wait := shortest
	for {
		began := time.Now()
		err := o.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errDoubt) {
			continue
		}
		level := slog.LevelWarn
		if errors.Is(err, job.ErrLeaseLost) {
			level = slog.LevelDebug // the planner will say so
		}
		o.log.Log(ctx, level, "shard interrupted", "err", err)
		if time.Since(began) > 10*time.Second {
			wait = shortest
		}
		pause(ctx, wait)
		wait = min(2*wait, 2*time.Second)
	}
}

// errDoubt ends a session whose store may have lost its last writes.
var errDoubt = errors.New("notifications may have been missed")

// session brings the shard up to date and works on it until something fails.
func (o *owner) session(ctx context.Context) error {
	// A step goes on for a moment when ctx ends, so that what was planned is
	// dispatched, and what was dispatched is noted.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()

	o.news.doubt.Store(false)
	o.fresh()
	if err := o.catchUp(work); err != nil {
		return err
	}
	results, failed := make(chan []job.Record), make(chan error, 1)
	follow, stop := context.WithCancel(work)
	var following sync.WaitGroup
	defer following.Wait()
	defer stop()
	following.Go(func() {
		failed <- o.cfg.Queue.Follow(follow, o.shard, o.at, o.cfg.Batch, func(rs []job.Record) error {
			select {
			case results <- rs:
				return nil
			case <-follow.Done():
				return follow.Err()
			}
		})
	})

	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return cmp.Or(err, errors.New("history can be followed no longer"))
		case rs := <-results:
			if err := o.record(work, rs, o.cfg.Store.Now()); err != nil {
				return err
			}
			if err := o.checkpoint(work); err != nil && !full(err) {
				return err
			}
		case <-o.news.woken:
		case <-timer.C:
		}
		select {
		case <-o.news.woken: // one look serves all that came at once
		default:
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case o.news.doubt.Load():
			return errDoubt
		}
		wait, err := o.step(work)
		if err != nil {
			return err
		}
		timer.Reset(wait)
	}
}

const (
	// longest is the longest an owner sleeps without looking: a notification may
	// be lost.
	longest = time.Second
	// soon is after how long it looks again at what it can do nothing about yet.
	soon = 20 * time.Millisecond
)

// step does what is due and returns how long nothing more will be.
func (o *owner) step(ctx context.Context) (time.Duration, error) {
	if time.Now().After(o.lease.Load().Until) {
		return soon, nil // not ours to act on until the planner has renewed it
	}
	now := o.cfg.Store.Now()
	agenda, err := o.cfg.Store.Agenda(ctx, o.shard, now, o.cfg.Batch)
	if err != nil {
		return 0, err
	}
	o.behind(&agenda)
	if len(agenda.Jobs) > 0 || len(agenda.Runs) > 0 {
		if err := o.whole(ctx); err != nil {
			return 0, err
		}
	}
	ds, runsErr := o.runs(ctx, agenda.Runs)
	if runsErr != nil && !full(runsErr) {
		return 0, runsErr
	}
	ds, decided, err := o.begin(ctx, agenda.Jobs, ds, now)
	if err != nil && !full(err) {
		return 0, err
	}
	if err := o.sweep(ctx, now); err != nil && !full(err) {
		return 0, err
	}
	if o.hold(cmp.Or(err, runsErr)) {
		return o.held, nil
	}
	switch {
	case decided > 0 || len(ds) > 0:
		return 0, nil
	case len(agenda.Jobs) > 0 || len(agenda.Runs) > 0:
		return soon, nil
	case agenda.NextAt.IsZero():
		return longest, nil
	}
	return max(0, min(longest, agenda.NextAt.Sub(o.cfg.Store.Now()))), nil
}

// whole fails if the store is not where this owner left it: it came back older,
// and what is due there may have been done long ago.
func (o *owner) whole(ctx context.Context) error {
	p, err := o.cfg.Store.Progress(ctx, o.shard)
	if err != nil {
		return err
	}
	if p != (job.Progress{Ready: true, Journal: o.journaled, History: o.at}) {
		return fmt.Errorf("look at progress: %w", job.ErrBehind)
	}
	return nil
}
