package sim_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// errDead is what a process meets that is no more: nothing it does has any
// effect.
var errDead = errors.New("the process is dead")

// A step is a round trip of a process to a server.
type step struct {
	p      *proc
	op     string // what it is
	detail string // which one of several at once
	writes bool
	news   bool // not a round trip, but something that its process learns when it has time
	turn   chan fate
	f      *fate // as drawn at its first turn
}

// A fate is what becomes of a step.
type fate struct {
	kind fateKind
	wait time.Duration // before it is its turn again
	slow time.Duration // until the answer is there
	late time.Duration // after which it takes effect, though nobody waits for it
	draw uint64        // for what else is left to chance
}

type fateKind string

const (
	fine       fateKind = ""
	lost       fateKind = "LOST"       // an error, and no effect
	unanswered fateKind = "UNANSWERED" // an error, but it took effect
	late       fateKind = "LATE"       // an error, and then it takes effect
	dieBefore  fateKind = "DIES BEFORE"
	dieAfter   fateKind = "DIES AFTER"
	sleepsOn   fateKind = "SLEEPS AFTER" // the process, with the answer unread
)

// turns has the steps of all processes taken one at a time, in an order that
// the seed decides.
type turns struct {
	mu      sync.Mutex
	pending []*step
	arrived chan struct{}
}

// next takes the step out whose turn it is: any of those that wait, in an order
// that does not depend on who came first.
func (w *world) next() *step {
	w.turns.mu.Lock()
	defer w.turns.mu.Unlock()
	var list []*step
	for _, s := range w.turns.pending {
		if !s.news || s.p.rounds.Load() == 0 {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b *step) int {
		return cmp.Or(cmp.Compare(a.p.name, b.p.name), cmp.Compare(a.op, b.op), cmp.Compare(a.detail, b.detail))
	})
	s := list[w.rng.IntN(len(list))]
	w.turns.pending = slices.DeleteFunc(w.turns.pending, func(o *step) bool { return o == s })
	return s
}

// play has steps taken until a time, or until over says so, which is asked when
// nothing happens.
func (w *world) play(until time.Time, over func() bool) {
	for {
		synctest.Wait()
		w.happen()
		synctest.Wait()
		w.put()
		now := time.Now()
		if !now.Before(until) || w.steps > maxSteps {
			return
		}
		if s := w.next(); s != nil {
			w.steps++
			s.turn <- w.decide(s)
			continue
		}
		if over != nil && over() {
			return
		}
		t := time.NewTimer(w.nextEvent(until).Sub(now))
		select {
		case <-w.turns.arrived:
		case <-t.C:
		}
		t.Stop()
	}
}

// await blocks until it is a step's turn.
func (w *world) await(ctx context.Context, s *step) (fate, error) {
	w.turns.mu.Lock()
	w.turns.pending = append(w.turns.pending, s)
	w.turns.mu.Unlock()
	signal(w.turns.arrived)
	select {
	case f := <-s.turn:
		return f, nil
	case <-s.p.gone:
	case <-ctx.Done():
	}
	w.turns.mu.Lock()
	w.turns.pending = slices.DeleteFunc(w.turns.pending, func(o *step) bool { return o == s })
	w.turns.mu.Unlock()
	return fate{}, cmp.Or(s.p.err(), ctx.Err())
}

// An act is what a step does. Where nobody waits for its answer any more it is
// done on its own.
type act struct {
	now   func(f *fate) error
	later func() // nil: it is of no use then
}

// take takes a step of a process.
func (w *world) take(ctx context.Context, p *proc, s *step, a act, broken error) error {
	s.p, s.turn = p, make(chan fate, 1)
	if !s.news {
		p.rounds.Add(1)
		defer signal(w.turns.arrived)
		defer p.rounds.Add(-1)
	}
	if p.isAPI {
		sleep(ctx, p, grid-time.Duration(time.Now().UnixNano())%grid)
	}
	var f fate
	for {
		if err := cmp.Or(p.err(), ctx.Err()); err != nil {
			return err
		}
		var err error
		if f, err = w.await(ctx, s); err != nil {
			return err
		}
		if f.wait == 0 {
			break
		}
		if !sleep(ctx, p, f.wait) && p.err() == nil && f.draw&1 == 0 && a.later != nil && s.writes {
			w.later(s, f.wait, a.later) // it was on its way
		}
	}
	switch f.kind { //nolint:exhaustive // the others come after
	case dieBefore:
		p.die()
		return errDead
	case lost:
		return broken
	case late:
		if a.later != nil && s.writes {
			w.later(s, f.late, a.later)
		}
		return broken
	}
	err := a.now(&f)
	if f.kind == dieAfter {
		p.die()
		return errDead
	}
	if f.slow > 0 && !sleep(ctx, p, f.slow) {
		return cmp.Or(p.err(), ctx.Err())
	}
	if f.kind == unanswered {
		return broken
	}
	return err
}

// later has a step take effect after a while that nobody waits for.
func (w *world) later(s *step, d time.Duration, do func()) {
	l := &step{op: "late " + s.p.name + " " + s.op, detail: s.detail} // s may be taken again meanwhile
	w.loose.Go(func() {
		if sleep(context.Background(), w.net, d) {
			_ = w.take(context.Background(), w.net, l, act{now: func(*fate) error { do(); return nil }}, nil)
		}
	})
}

// learn has a process learn something when none of its own round trips is under
// way. Go chooses at random among what a goroutine waits for, once more than one
// has come; so nothing comes but to a goroutine that waits.
func (w *world) learn(ctx context.Context, p *proc, what, which string) bool {
	return w.take(ctx, p, &step{op: what, detail: which, news: true}, act{now: func(*fate) error { return nil }}, nil) == nil
}

// sleep waits. It reports false if the process died or ctx ended before.
func sleep(ctx context.Context, p *proc, d time.Duration) bool {
	if p.err() != nil || ctx.Err() != nil {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-p.gone:
	}
	return false
}

// signal sends without blocking.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
