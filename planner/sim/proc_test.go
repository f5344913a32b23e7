package sim_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A proc is a process: a planner, a worker or an API server, from its start to
// its end.
type proc struct {
	name   string
	role   *role
	isAPI  bool
	ctx    context.Context //nolint:containedctx // the life of the process
	cancel context.CancelFunc
	gone   chan struct{} // closed when it died
	done   chan struct{} // closed when nothing of it is left

	rounds atomic.Int32 // trips under way

	mu    sync.Mutex
	dead  bool
	awake time.Time // until then it sleeps: a long pause of the garbage collector, a machine that swaps
	slept time.Time // when it last fell asleep
	naps  []nap
	died  time.Time
	trap  *trap
	api   http.Handler
}

// A nap is when a process slept.
type nap struct{ from, to time.Time }

// A role is what one process after another does.
type role struct {
	name  string
	isAPI bool
	run   func(ctx context.Context, p *proc)
	born  int           // how many processes there were
	again time.Duration // when the next one starts, since the beginning; 0: one is there
	mu    sync.Mutex
	now   *proc
}

// A trap is what a process walks into at one of its next steps.
type trap struct {
	kind    fateKind
	skip    int           // steps that count before
	writing bool          // count only those that change something
	asleep  time.Duration // if the process is to fall asleep
}

// err returns why the process can do nothing any more.
func (p *proc) err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return errDead
	}
	return nil
}

// die ends a process at once.
func (p *proc) die() {
	p.mu.Lock()
	if !p.dead {
		p.dead, p.died = true, time.Now()
		close(p.gone)
	}
	p.mu.Unlock()
	p.cancel()
}

// asleep returns for how long the process sleeps on.
func (p *proc) asleep() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, time.Until(p.awake))
}

// fallAsleep has the process do nothing for a while.
func (p *proc) fallAsleep(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slept, p.awake = time.Now(), time.Now().Add(d)
	p.naps = append(p.naps, nap{p.slept, p.awake})
}

// alive returns when the process last did anything at all: now, unless it
// sleeps or is dead.
func (p *proc) alive() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.dead:
		return time.Time{}
	case time.Now().Before(p.awake):
		return p.slept
	}
	return time.Now()
}

// start starts the next process of a role.
func (w *world) start(r *role) {
	r.born++
	ctx, cancel := context.WithCancel(context.Background())
	p := &proc{
		name: fmt.Sprintf("%s.%d", r.name, r.born), role: r, isAPI: r.isAPI, ctx: ctx, cancel: cancel,
		gone: make(chan struct{}), done: make(chan struct{}),
	}
	r.mu.Lock()
	r.now = p
	r.mu.Unlock()
	w.procs = append(w.procs, p)
	go func() {
		defer close(p.done)
		r.run(ctx, p)
	}()
}

// newNet returns the process that stands for what is on its way with nobody at
// the other end.
func newNet() *proc {
	return &proc{name: "net", role: &role{name: "net"}, gone: make(chan struct{}), cancel: func() {}}
}
