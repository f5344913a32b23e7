package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Consume calls handle for each attempt, at most limit at once, and does with
// it what handle says. delivery counts from 1 how often the attempt was given to
// a worker: above 1, somebody may have performed it. It is so too when this
// process was halted for longer than the broker waits. While handle runs nobody
// else is given the attempt, unless the connection is lost for long.
//
// It blocks until ctx is done, and however long the broker is away. Then it
// takes no more, gives back what it had not started, waits for every handle to
// return, and returns nil. handle's context outlives ctx: to cut work short is
// the worker's decision.
func (q *Queue) Consume(ctx context.Context, limit int, handle func(ctx context.Context, d *job.Dispatch, delivery int) job.Verdict) error {
	if limit < 1 {
		return fmt.Errorf("consume dispatches: limit %d is below 1", limit)
	}
	c := &crew{
		q: q, ctx: context.WithoutCancel(ctx), limit: limit, handle: handle,
		freed: make(chan struct{}, 1), busy: make(map[uint64]*nats.Msg),
	}
	stop := c.reassure()
	defer stop()
	defer c.running.Wait()
	return q.keep(ctx, "consume dispatches", c.shift)
}

// crew is the handles of a Consume, and what they work on.
type crew struct {
	q       *Queue
	ctx     context.Context //nolint:containedctx // of every handle
	limit   int
	handle  func(context.Context, *job.Dispatch, int) job.Verdict
	running sync.WaitGroup
	freed   chan struct{}

	pulse  pulse
	mu     sync.Mutex
	closed bool                 // take no more
	busy   map[uint64]*nats.Msg // what is being worked on, by sequence, as last delivered
}

// shift takes attempts until something goes wrong or ctx is done.
func (c *crew) shift(ctx context.Context, works func()) error {
	if err := c.prepare(ctx); err != nil {
		return err
	}
	c.open(true)
	p, err := c.q.newPull(dispatches, workers, c.take)
	if err != nil {
		return err
	}
	defer p.stop()
	defer c.open(false)
	works()
	for {
		p.want(c.free())
		select {
		case <-ctx.Done():
			c.open(false)
			p.linger()
			return nil
		case err := <-p.lost:
			return err
		case <-p.over:
		case <-c.freed:
		}
	}
}

// prepare sees to it that there is something to take from.
func (c *crew) prepare(ctx context.Context) error {
	err := c.q.ask(ctx, func(ctx context.Context) error {
		_, err := c.q.js.Consumer(ctx, dispatches, workers)
		return err
	})
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return c.q.setup(ctx)
	}
	return err
}

func (c *crew) open(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = !yes
}

// free returns how many more attempts can be worked on.
func (c *crew) free() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limit - len(c.busy)
}

// take starts work on an attempt, or gives it back. One that is being worked on
// here was delivered again because the connection was lost for a while: the work
// goes on.
func (c *crew) take(m *nats.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		c.q.log.ErrorContext(c.ctx, "dispatch without an origin", "subject", m.Subject, "err", err)
		return
	}
	sequence := meta.Sequence.Stream
	c.mu.Lock()
	_, again := c.busy[sequence]
	full := c.closed || len(c.busy) >= c.limit
	if again || !full {
		c.busy[sequence] = m
	}
	c.mu.Unlock()
	switch {
	case again:
		return
	case full:
		c.settle(m, job.Verdict{Again: c.q.aside()})
		return
	}
	c.running.Go(func() {
		verdict := c.work(m, meta)
		c.mu.Lock()
		m := c.busy[sequence]
		delete(c.busy, sequence)
		c.mu.Unlock()
		c.settle(m, verdict)
		signal(c.freed)
	})
}

// work has an attempt handled. One that cannot be read is dropped: whoever
// planned it finds it gone, without a result.
func (c *crew) work(m *nats.Msg, meta *nats.MsgMetadata) job.Verdict {
	d, err := decodeDispatch(m.Data)
	if err != nil {
		c.q.log.ErrorContext(c.ctx, "dispatch dropped that cannot be read", "subject", m.Subject, "sequence", meta.Sequence.Stream, "err", err)
		return job.Verdict{Drop: err.Error()}
	}
	delivery := int(meta.NumDelivered)
	if c.pulse.missed(time.Now(), c.q.cfg.AckWait) {
		delivery = max(delivery, 2)
	}
	return c.handle(c.ctx, d, delivery)
}

// What the broker understands as answers.
const (
	ack      = "+ACK"
	nak      = "-NAK"
	term     = "+TERM"
	progress = "+WPI"
)

// settle tells the broker what becomes of an attempt. It does not wait for it to
// hear: if it does not, the attempt is delivered again, and found in the history.
func (c *crew) settle(m *nats.Msg, v job.Verdict) {
	switch {
	case v.Drop != "":
		c.answer(m, term+" "+v.Drop)
	case v.Again > 0:
		delay, _ := json.Marshal(struct { // a number
			Delay time.Duration `json:"delay"`
		}{v.Again})
		c.answer(m, nak+" "+string(delay))
	default:
		c.answer(m, ack)
	}
}

// aside is for how long what is given back is not to be delivered, so that it does
// not come back here: while a pull lingers.
func (q *Queue) aside() time.Duration {
	if q.nc.ConnectedClusterName() == "" {
		return time.Nanosecond
	}
	return lingerFor
}

func (c *crew) answer(m *nats.Msg, answer string) {
	if err := c.q.nc.Publish(m.Reply, []byte(answer)); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		c.q.log.DebugContext(c.ctx, "dispatch not settled, it will be delivered again", "subject", m.Subject, "err", err)
	}
}

// reassure keeps telling the broker that what is being worked on still is, until
// stop is called.
func (c *crew) reassure() (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(c.q.cfg.AckWait / 3)
		defer tick.Stop()
		for {
			c.pulse.beat(time.Now(), c.q.cfg.AckWait)
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			c.mu.Lock()
			for _, m := range c.busy {
				_ = c.q.nc.Publish(m.Reply, []byte(progress)) // or else it is delivered again
			}
			c.mu.Unlock()
		}
	})
	return func() { close(quit); wg.Wait() }
}
