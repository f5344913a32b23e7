package planner

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Run shares the shards with the other planners and works on its own until ctx
// is done. Then it finishes what it has begun, hands its shards over and
// returns nil. Faults of store and queue are logged and lived through.
func (p *Planner) Run(ctx context.Context) error {
	var wake sync.WaitGroup
	wake.Go(func() { p.listen(ctx) })
	defer wake.Wait()

	tick := time.NewTicker(p.cfg.Term / 3)
	defer tick.Stop()
	for ctx.Err() == nil {
		p.share(ctx)
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-p.round:
		}
	}
	p.leave(context.WithoutCancel(ctx))
	return nil
}

// listen wakes owners, and the sharing of shards, as notifications come.
func (p *Planner) listen(ctx context.Context) {
	for ctx.Err() == nil {
		err := p.cfg.Store.Wake(ctx, func(n int) {
			if n >= 0 {
				signal(p.shards[n].woken)
				return
			}
			// A lease is free, or the connection was lost: then redis may have
			// lost its last writes too.
			for i := range p.shards {
				p.shards[i].doubt.Store(true)
				signal(p.shards[i].woken)
			}
			signal(p.round)
		})
		if ctx.Err() == nil {
			p.log.WarnContext(ctx, "notifications lost, looking by the clock", "err", err)
			pause(ctx, time.Second)
		}
	}
}

// share renews the leases held, and takes or gives back shards until this
// planner has its part.
func (p *Planner) share(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Term)
	defer cancel()
	if err := p.cfg.Store.SyncClock(ctx); err != nil {
		p.lapse(ctx, err)
		return
	}
	off := p.cfg.Store.Offset()
	if was := p.skewed; off.Abs() > time.Second != was {
		p.skewed = !was
		p.log.WarnContext(ctx, "following redis's clock", "ahead_of_local", off)
	}
	peers, err := p.cfg.Store.Heartbeat(ctx, p.cfg.ID, p.cfg.Term)
	if err != nil {
		p.lapse(ctx, err)
		return
	}
	p.renew(ctx)
	p.backlog(ctx)

	part := share(p.cfg.Shards, peers, p.cfg.ID)
	held := slices.Sorted(maps.Keys(p.owners))
	p.drop(ctx, held[min(part, len(held)):]...)
	start := slices.Index(peers, p.cfg.ID) * p.cfg.Shards / max(len(peers), 1)
	for i := range p.cfg.Shards {
		n := (start + i) % p.cfg.Shards
		if len(p.owners) >= part {
			break
		}
		if p.owners[n] != nil {
			continue
		}
		l, err := p.cfg.Store.Lease(ctx, n, p.cfg.ID, p.cfg.Term)
		if err != nil {
			p.lapse(ctx, err)
			return
		}
		if l.Held() {
			p.own(ctx, l)
		}
	}
}

// share returns how many of the shards are the part of the planner me.
func share(shards int, peers []string, me string) int {
	i := slices.Index(peers, me)
	if i < 0 {
		return 0
	}
	part := shards / len(peers)
	if i < shards%len(peers) {
		part++
	}
	return part
}

// renew renews every lease held, and ends the work on those that were lost.
func (p *Planner) renew(ctx context.Context) {
	type renewal struct {
		job.Lease
		err error
	}
	var wg sync.WaitGroup
	renewals := make(chan renewal, len(p.owners))
	for n := range p.owners {
		wg.Go(func() {
			l, err := p.cfg.Store.Lease(ctx, n, p.cfg.ID, p.cfg.Term)
			l.Shard = n
			renewals <- renewal{l, err}
		})
	}
	wg.Wait()
	close(renewals)
	for r := range renewals {
		o := p.owners[r.Shard]
		was := o.lease.Load()
		switch {
		case r.err != nil:
			p.lapse(ctx, r.err)
		case !r.Held():
			p.log.WarnContext(ctx, "lease lost", "shard", r.Shard)
			p.stop(r.Shard)
		case r.Epoch != was.Epoch || r.Beat <= was.Beat:
			p.log.WarnContext(ctx, "lease was interrupted, or redis went back in time; bringing the shard up to date", "shard", r.Shard)
			p.stop(r.Shard)
			p.own(ctx, r.Lease)
		default:
			o.lease.Store(&r.Lease)
		}
	}
}

// lapse notes that the store could not be asked. Owners go on as long as their
// leases last; they stop by themselves.
func (p *Planner) lapse(ctx context.Context, err error) {
	if ctx.Err() == nil || context.Cause(ctx) == context.DeadlineExceeded { //nolint:errorlint // the cause itself
		p.log.WarnContext(ctx, "cannot renew leases", "err", err)
	}
}

// own starts the work on a shard.
func (p *Planner) own(ctx context.Context, l job.Lease) {
	o := newOwner(p, l)
	p.owners[l.Shard] = o
	ctx, o.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(o.done)
		o.run(ctx)
	}()
	p.log.DebugContext(ctx, "shard taken", "shard", l.Shard, "epoch", l.Epoch)
}

// stop ends the work on a shard and returns when it has ended.
func (p *Planner) stop(n int) {
	o := p.owners[n]
	o.cancel()
	<-o.done
	delete(p.owners, n)
}

// drop ends the work on shards and lets other planners have them at once.
func (p *Planner) drop(ctx context.Context, shards ...int) {
	for _, n := range shards {
		p.owners[n].cancel()
	}
	for _, n := range shards {
		p.stop(n)
		if err := p.cfg.Store.Release(ctx, n, p.cfg.ID); err != nil {
			p.log.WarnContext(ctx, "shard not handed over; it will be free when the lease ends", "shard", n, "err", err)
		}
	}
}

// leave hands all shards over.
func (p *Planner) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*p.cfg.Term)
	defer cancel()
	if _, err := p.cfg.Store.Heartbeat(ctx, p.cfg.ID, 0); err != nil {
		p.log.WarnContext(ctx, "left without notice", "err", err)
	}
	p.drop(ctx, slices.Sorted(maps.Keys(p.owners))...)
}

// signal sends without blocking: one signal that waits is as good as many.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// pause waits for d or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
