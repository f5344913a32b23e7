package queue

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// A reader reads what a stream holds of a shard in order, and then what is
// added, from a consumer of its own. It lasts until something goes wrong with
// it, and is then replaced by another.
type reader struct {
	q      *Queue
	stream string
	name   string // of the consumer
	pull   *pull
	in     *inbox
}

// newReader returns a reader of the messages after a sequence. It blocks for a
// round trip.
func (q *Queue) newReader(ctx context.Context, stream, filter string, after uint64) (*reader, error) {
	r := &reader{q: q, stream: stream, in: &inbox{last: after, more: make(chan struct{}, 1), gap: make(chan error, 1)}}
	err := q.ask(ctx, func(ctx context.Context) error {
		c, err := q.js.CreateConsumer(ctx, stream, readerConfig(filter, after))
		if err == nil {
			r.name = c.CachedInfo().Name
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.pull, err = q.newPull(stream, r.name, r.in.put); err != nil {
		r.discard(ctx)
		return nil, err
	}
	return r, nil
}

// read returns the next messages, at most limit, as soon as there is one. It
// returns ctx's cause when ctx is done, or what went wrong with the reader.
func (r *reader) read(ctx context.Context, limit int) ([]*message, error) {
	for {
		list := r.in.take(limit)
		r.pull.want(2*limit - r.in.len())
		if len(list) > 0 {
			return list, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case err := <-r.pull.lost:
			return nil, err
		case err := <-r.in.gap:
			return nil, err
		case <-r.pull.over:
		case <-r.in.more:
		}
	}
}

// close lets go of the consumer.
func (r *reader) close(ctx context.Context) {
	r.pull.stop()
	r.discard(ctx)
}

// discard deletes the consumer. If it cannot, the broker does so later.
func (r *reader) discard(ctx context.Context) {
	if r.q.connected() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = r.q.js.DeleteConsumer(ctx, r.stream, r.name)
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
	if b.torn {
		return
	}
	meta, err := m.Metadata()
	if err == nil && (meta.Sequence.Consumer != b.count+1 || meta.Sequence.Stream <= b.last) {
		err = fmt.Errorf("message %d of the consumer follows %d: something was lost on the way", meta.Sequence.Consumer, b.count)
	}
	if err != nil {
		b.torn = true
		b.gap <- err
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
