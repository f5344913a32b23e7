package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// errReplaced means that the history that is being followed is gone, and that
// another is in its place.
var errReplaced = errors.New("the history was replaced by another")

// Follow calls emit with the records of a shard after a place in the history,
// all of them and in order: with what there is, up to limit records, and then
// with what is added. It blocks until ctx is done, when it returns nil, and
// however long the broker is away; or until emit fails, and returns that error,
// wrapped. A place in a history that is not the present one, as [Queue.HistoryEnd]
// tells, means the beginning. If the history is replaced by another while it is
// being followed, Follow returns an error: a place in it means nothing any more.
func (q *Queue) Follow(ctx context.Context, shard int, after job.Position, limit int, emit func([]job.Record) error) error {
	if err := errors.Join(q.shard(shard), checkLimit(limit)); err != nil {
		return fmt.Errorf("follow history: %w", err)
	}
	f := &follower{q: q, shard: shard, limit: limit, emit: emit, at: after}
	err := q.keep(ctx, "follow history", f.round)
	return wrap("follow history", err)
}

func checkLimit(n int) error {
	if n < 1 {
		return fmt.Errorf("limit %d is below 1", n)
	}
	return nil
}

// follower reads a shard's history through one consumer after another.
type follower struct {
	q     *Queue
	shard int
	limit int
	emit  func([]job.Record) error
	at    job.Position // everything up to it was emitted
	begun bool
}

// round makes a consumer that begins where the one before ended, and reads it
// until something goes wrong or ctx is done.
func (f *follower) round(ctx context.Context, works func()) error {
	consumer, err := f.consumer(ctx)
	if err != nil {
		return err
	}
	in := &inbox{last: f.at.Sequence, more: make(chan struct{}, 1), gap: make(chan error, 1)}
	p, err := f.q.newPull(history, consumer, in.put)
	if err != nil {
		return err
	}
	defer f.discard(ctx, consumer)
	defer p.stop()
	works()
	for {
		list := in.take(f.limit)
		if err := f.hand(ctx, list); err != nil {
			return err
		}
		if len(list) == f.limit {
			continue
		}
		p.want(2*f.limit - in.len())
		select {
		case <-ctx.Done():
			return nil
		case err := <-p.lost:
			return err
		case err := <-in.gap:
			return err
		case <-p.over:
		case <-in.more:
		}
	}
}

// consumer makes a consumer for what comes after f.at.
func (f *follower) consumer(ctx context.Context) (name string, err error) {
	identity, last, err := f.q.historyState(ctx)
	switch {
	case err != nil:
		return "", err
	case identity == f.at.History:
		if f.at.Sequence > last {
			// The broker came back older. What it forgot is in the store already,
			// and what is new takes the place of it.
			f.q.log.WarnContext(ctx, "history lost its end", "shard", f.shard, "end", last, "was", f.at.Sequence)
			f.at.Sequence = last
		}
	case f.begun:
		return "", fatal{errReplaced}
	default:
		f.at = job.Position{History: identity}
	}
	f.begun = true
	err = f.q.ask(ctx, func(ctx context.Context) error {
		c, err := f.q.js.CreateConsumer(ctx, history, reader(historyOf(f.shard), f.at.Sequence))
		if err == nil {
			name = c.CachedInfo().Name
		}
		return err
	})
	return name, err
}

// discard deletes a consumer. If it cannot, the broker does so later.
func (f *follower) discard(ctx context.Context, consumer string) {
	if f.q.connected() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = f.q.js.DeleteConsumer(ctx, history, consumer)
}

// hand emits what was read.
func (f *follower) hand(ctx context.Context, list []*message) error {
	if len(list) == 0 {
		return nil
	}
	records := make([]job.Record, 0, len(list))
	for _, m := range list {
		r, err := decodeResult(m.data)
		if err == nil {
			records = append(records, job.Record{Result: *r, Sequence: m.sequence, StoredAt: m.storedAt})
		} else if err = f.q.undecodable(ctx, history, m, err); err != nil {
			return fatal{err}
		}
	}
	if len(records) > 0 {
		if err := f.emit(records); err != nil {
			return fatal{err}
		}
	}
	f.at.Sequence = list[len(list)-1].sequence
	return nil
}

// inbox holds what a pull delivered and nobody has taken.
type inbox struct {
	more chan struct{} // signaled when something is put in
	gap  chan error    // receives an error if something was lost on the way

	mu    sync.Mutex
	list  []*message
	count uint64 // messages of the consumer so far
	last  uint64 // sequence of the last
	torn  bool
}

func (b *inbox) put(m *nats.Msg) {
	b.mu.Lock()
	defer b.mu.Unlock()
	meta, err := m.Metadata()
	if err == nil && (meta.Sequence.Consumer != b.count+1 || meta.Sequence.Stream <= b.last) {
		err = fmt.Errorf("message %d of the consumer follows %d", meta.Sequence.Consumer, b.count)
	}
	if b.torn || err != nil {
		b.torn = true
		select {
		case b.gap <- err:
		default:
		}
		return
	}
	b.count, b.last = meta.Sequence.Consumer, meta.Sequence.Stream
	b.list = append(b.list, &message{m.Subject, meta.Sequence.Stream, meta.Timestamp.UTC(), m.Data})
	signal(b.more)
}

func (b *inbox) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.list)
}

// take removes the first messages, at most n.
func (b *inbox) take(n int) []*message {
	b.mu.Lock()
	defer b.mu.Unlock()
	n = min(n, len(b.list))
	list := b.list[:n:n]
	b.list = b.list[n:]
	return list
}
