package planner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// full reports whether a server had no room. Whatever it refused stays due and
// is tried again, so this ends no session: results go on being recorded, which
// makes room.
func full(err error) bool { return errors.Is(err, job.ErrFull) }

// begin plans what is due and dispatches it, with the attempts ds of runs that
// were planned before. While the queue takes no more, nothing more is planned:
// it would pile up in the store, without regard to what is missed meanwhile.
func (o *owner) begin(ctx context.Context, due []job.Due, ds []*job.Dispatch, now time.Time) (_ []*job.Dispatch, decided int, err error) {
	var planErr error
	if !o.choked {
		var first []*job.Dispatch
		first, decided, planErr = o.plan(ctx, due, now)
		if planErr != nil && !full(planErr) {
			return nil, 0, planErr
		}
		ds = append(ds, first...)
	}
	err = o.dispatch(ctx, ds)
	if o.choked = full(err); err == nil {
		err = planErr
	}
	return ds, decided, err
}

// hold reports whether err is that a server has no room, and makes the owner
// wait longer each time.
func (o *owner) hold(err error) bool {
	if !full(err) {
		o.held = 0
		return false
	}
	o.held = min(max(2*o.held, soon), longest)
	return true
}

// behind notes how far the owner is behind.
func (o *owner) behind(a *job.Agenda) {
	oldest := int64(0)
	for _, list := range [][]job.Due{a.Jobs, a.Runs} {
		if len(list) > 0 && (oldest == 0 || list[0].At.UnixMilli() < oldest) {
			oldest = list[0].At.UnixMilli()
		}
	}
	o.oldest.Store(oldest)
}

const (
	// tolerable is how late a planner may be before it says that it is: it looks
	// by itself every second, so one that keeps up is never later.
	tolerable = 2 * longest
	backlog   = "backlog"
)

// backlog says how much is due on this planner's shards if it does not keep up.
func (p *Planner) backlog(ctx context.Context) {
	if p.cfg.Pressure == nil {
		return
	}
	now := p.cfg.Store.Now()
	late := time.Duration(0)
	held := make([]int, 0, len(p.owners))
	for n, o := range p.owners {
		held = append(held, n)
		if ms := o.oldest.Load(); ms != 0 {
			late = max(late, now.Sub(time.UnixMilli(ms)))
		}
	}
	if late < tolerable {
		p.cfg.Pressure.Over(ctx, backlog)
		return
	}
	due, err := p.cfg.Store.Backlog(ctx, held, now)
	if err != nil || due == 0 {
		return // the leases will say so; or it was worked off meanwhile
	}
	p.cfg.Pressure.Met(ctx, backlog, fmt.Sprintf("%d due, oldest %.1f s late", due, late.Seconds()),
		"if no server is in trouble: start more planners, or spread the times of jobs")
}
