package sim_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker"
)

var (
	_ worker.Source  = (*session)(nil)
	_ worker.History = (*session)(nil)
)

// ackWait is how long a worker may be silent.
const ackWait = 4 * time.Second

// A crew is what a worker works on.
type crew struct {
	p    *proc
	mu   sync.Mutex
	busy map[uint64]bool
}

func (c *crew) has(sequence uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.busy[sequence]
}

// Consume is the queue's. While a worker works on something and lives, it says
// so; that takes no step.
func (q *session) Consume(ctx context.Context, limit int, handle func(context.Context, *job.Dispatch, int) job.Verdict) error {
	c := &crew{p: q.p, busy: make(map[uint64]bool)}
	var running sync.WaitGroup
	defer running.Wait()
	freed := make(chan struct{}, 1)
	for ctx.Err() == nil {
		q.b.mu.Lock()
		m, changed, waiting := q.b.deliverable(), q.b.changed, len(q.b.dispatch.list) > 0
		q.b.mu.Unlock()
		c.mu.Lock()
		full := len(c.busy) >= limit
		c.mu.Unlock()
		if m == nil || full {
			var soon <-chan time.Time
			if waiting { // it will be delivered again some day
				soon = time.After(250 * time.Millisecond)
			}
			select {
			case <-ctx.Done():
			case <-changed:
			case <-soon:
			case <-freed:
			}
			continue
		}
		m = nil
		deliveries := 0
		err := q.ask(ctx, "pull", "", func(*fate) {
			if m = q.b.deliverable(); m != nil {
				m.deliveries++
				m.to, m.nextAt = c, time.Now().Add(ackWait)
				deliveries = m.deliveries
			}
		})
		if err != nil || m == nil || c.has(m.sequence) {
			sleep(ctx, q.p, 20*time.Millisecond)
			continue
		}
		d := decode[job.Dispatch](m)
		c.mu.Lock()
		c.busy[m.sequence] = true
		c.mu.Unlock()
		running.Go(func() {
			verdict := handle(context.WithoutCancel(ctx), d, deliveries)
			q.settle(c, m, d, verdict)
			signal(freed)
		})
	}
	return nil
}

// settle tells the broker what became of an attempt. It may not hear of it.
func (q *session) settle(c *crew, m *message, d *job.Dispatch, v job.Verdict) {
	s := &step{op: "nats ack", detail: d.Job + " " + d.ID(), writes: true}
	if v.Again > 0 {
		s.op = fmt.Sprint("nats again in ", v.Again)
	}
	do := func() {
		q.b.mu.Lock()
		defer q.b.mu.Unlock()
		switch {
		case v.Again > 0:
			m.nextAt, m.to = time.Now().Add(v.Again), nil
		default:
			q.b.dispatch.remove(m.sequence)
		}
	}
	_ = q.w.take(context.Background(), q.p, s, act{now: func(*fate) error { do(); return nil }, later: do}, errAway)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, m.sequence)
}

// deliverable returns the first dispatch that may be delivered now.
func (b *broker) deliverable() *message {
	now := time.Now()
	for _, m := range b.dispatch.list {
		if c := m.to; c != nil && c.has(m.sequence) {
			if heard := c.p.alive().Add(ackWait); heard.After(m.nextAt) {
				m.nextAt = heard
			}
		}
		if !now.Before(m.nextAt) {
			return m
		}
	}
	return nil
}
