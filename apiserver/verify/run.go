package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/apiserver/client"
)

// act makes the jobs and does to them what their canaries say, until the end of
// the run.
func (c *Checker) act(ctx context.Context, s *session, p *plan) error {
	// What is asked last may take a while to be answered.
	asking, cancel := context.WithDeadline(ctx, s.until.Add(c.cfg.Settle))
	defer cancel()
	var actors sync.WaitGroup
	for i, k := range p.canaries {
		a := &actor{session: s, canary: k, ref: p.home(i)}
		actors.Go(func() { a.act(asking) })
	}
	actors.Go(func() { s.flip(asking, p) })
	done := make(chan struct{})
	go func() { actors.Wait(); close(done) }()
	c.tell(s, done)
	if !waitUntil(ctx, s.until) {
		return context.Cause(ctx)
	}
	return nil
}

// tell says how the run goes on, until the actors are done.
func (c *Checker) tell(s *session, done <-chan struct{}) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for told := 0; ; {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		text := fmt.Sprintf("%v left, %d requests received", max(0, time.Until(s.until)).Round(time.Second), len(s.target.received()))
		if n, err := s.failedSoFar(); n > told {
			told = n
			text += fmt.Sprintf(", the API failed %d times, the last time: %v", n, err)
		}
		c.say("%s", text)
	}
}

// flip switches a collection off and on again in the course of the run.
func (s *session) flip(ctx context.Context, p *plan) {
	ref := p.switched()
	at := func(part float64) time.Time { return p.began.Add(time.Duration(part * float64(p.length))) }
	if waitUntil(ctx, at(0.4)) && s.turn(ctx, ref, disabled, s.api.DisableCollection) && waitUntil(ctx, at(0.6)) {
		s.turn(ctx, ref, enabled, s.api.EnableCollection)
	}
}

// turn switches a collection. It reports false if ctx ended first. One that is
// gone is as good as stopped; its jobs will be missed.
func (s *session) turn(ctx context.Context, ref client.Ref, kind changeKind, do func(context.Context, client.Ref, ...client.Option) error) bool {
	c := change{kind: kind, sentAt: time.Now()}
	finish := s.ledger.beginSwitch(ref.Collection, c)
	defer func() { finish(c) }()
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		_, err := call(ctx, s, func(ctx context.Context) (struct{}, error) {
			col, err := s.api.GetCollection(ctx, ref)
			if err != nil {
				return struct{}{}, err
			}
			return struct{}{}, do(ctx, ref, client.IfMatch(col.ETag))
		})
		c.answeredAt = time.Now()
		switch {
		case err == nil:
			c.outcome = acknowledged
			return true
		case client.StatusOf(err) == http.StatusNotFound:
			return true
		}
		s.failed(err)
		if !pauseFor(ctx, pause) {
			return false
		}
	}
}

// conclude waits until all has happened that was due, stops the jobs, waits until
// all is recorded, and judges.
func (c *Checker) conclude(ctx context.Context, s *session, p *plan) (*verdict, error) {
	c.say("waiting for what is due")
	begun := time.Now()
	_, err := c.await(ctx, s, s.until.Add(p.longest+c.cfg.Settle), func(v *verdict) error {
		if time.Since(begun) < time.Second {
			return nil // most likely it only has to arrive
		}
		return s.readHistories(ctx, v)
	})
	if err != nil {
		return nil, err
	}
	// Of what was due in the run, nothing can meet the stop as its change.
	if !waitUntil(ctx, s.until.Add(c.cfg.Grace+2*c.cfg.ClockSkew)) {
		return nil, context.Cause(ctx)
	}
	c.say("stopping the jobs")
	stopping, cancel := context.WithTimeout(ctx, c.cfg.Settle)
	defer cancel()
	for _, ref := range p.refs {
		if !s.turn(stopping, ref, disabled, s.api.DisableCollection) {
			_, err := s.failedSoFar()
			return nil, fmt.Errorf("stop the jobs: %w", cmp.Or(context.Cause(ctx), err))
		}
	}
	c.say("reading history")
	return c.await(ctx, s, time.Now().Add(c.cfg.Settle), func(v *verdict) error {
		return errors.Join(s.readHistories(ctx, v), s.readJobs(ctx, v))
	})
}

// await reads and judges until nothing more can turn out well by waiting, or it is
// later than a time. Read is given the verdict that followed from what it read the
// last time, nil if it has not read all yet.
func (c *Checker) await(ctx context.Context, s *session, deadline time.Time, read func(last *verdict) error) (*verdict, error) {
	var last *verdict
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := read(last)
		lives, switches := s.ledger.copy()
		v := judge(&evidence{lives: lives, switches: switches, arrivals: s.target.received(), until: s.until}, c.bounds())
		switch late := time.Now().After(deadline); {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil && (late || len(v.waiting()) == 0):
			return v, nil
		case late:
			return nil, fmt.Errorf("read what happened: %w", err)
		case err == nil:
			last = v
		}
		if !pauseFor(ctx, pause) {
			return nil, context.Cause(ctx)
		}
	}
}
