// Package queue carries dispatches from planners to workers and results back,
// and holds the journal of definitions, in three JetStream streams. It is the
// only package that knows their subjects. It knows nothing of Redis, and of
// jobs only what it must to address and encode them.
//
// DISPATCH is a work queue: a dispatch is in it until a worker has seen to it.
// HISTORY is what came of every attempt, a subject for each job, as long as
// Azure kept it. DEFINITIONS is what was asked for, a subject for each job or
// collection and kind of entry.
//
// A message's sequence is larger than those of all messages published before
// it, even of a stream that was deleted and made again. So a sequence that was
// noted somewhere never comes to mean another message.
package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/shared/pressure"
)

// Config configures a Queue. Shards is required. Every process of a cluster
// must be given the same, except for Log and MaxPending.
type Config struct {
	Shards   int // how many there are; fixed when the streams are made
	Replicas int // of each stream; default 1. Streams that have more keep them

	// DispatchMaxBytes bounds the dispatches that wait: when they are more, no
	// new ones are taken. Default 1 GiB. A stream that has more keeps it.
	DispatchMaxBytes int64
	// AckWait is how long a worker may be silent before what it has is given to
	// another. Default 30 s.
	AckWait time.Duration
	// MaxPending is how many messages may be published and not yet
	// acknowledged. Publishing one more blocks. Default 4096.
	MaxPending int

	Log      *slog.Logger    // default: nobody is told
	Pressure *pressure.Board // told of streams that are full; default: nobody
}

// Queue is safe for concurrent use.
type Queue struct {
	cfg Config
	nc  *nats.Conn
	js  jetstream.JetStream
	log *slog.Logger

	publishing trouble       // of all that publish results
	setups     trouble       // of all that mend
	mending    chan struct{} // held by who mends
	mended     time.Time     // when somebody last did; of who holds mending

	expiry, heartbeat time.Duration // of pulls; tests are less patient
}

// Open makes the streams, or checks and updates those that exist, over nc,
// which the caller owns and closes. Any number of processes may do so at once.
// It never takes anything from an existing stream. It blocks for a few round
// trips.
//
// nc should be made with [nats.ReconnectBufSize] -1, so that what cannot be
// sent fails and is tried again, rather than being sent late.
func Open(ctx context.Context, nc *nats.Conn, cfg Config) (*Queue, error) {
	cfg.Replicas = cmp.Or(cfg.Replicas, 1)
	cfg.DispatchMaxBytes = cmp.Or(cfg.DispatchMaxBytes, 1<<30)
	cfg.AckWait = cmp.Or(cfg.AckWait, 30*time.Second)
	cfg.MaxPending = cmp.Or(cfg.MaxPending, 4096)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Shards < 1 || cfg.Replicas < 1 || cfg.DispatchMaxBytes < 1 || cfg.AckWait < 0 || cfg.MaxPending < 1 {
		return nil, errors.New("open queue: shards, replicas and bounds must be positive")
	}
	js, err := jetstream.New(nc,
		jetstream.WithPublishAsyncMaxPending(cfg.MaxPending),
		jetstream.WithPublishAsyncTimeout(patience))
	if err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}
	q := &Queue{
		cfg: cfg, nc: nc, js: js, log: cfg.Log, mending: make(chan struct{}, 1),
		publishing: trouble{log: cfg.Log}, setups: trouble{log: cfg.Log},
		expiry: expiry, heartbeat: heartbeat,
	}
	if err := q.ask(ctx, q.checkServer); err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}
	if err := q.setup(ctx); err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}
	return q, nil
}

// Ready returns nil if the broker is connected and all streams answer. It
// blocks for a round trip.
func (q *Queue) Ready(ctx context.Context) error {
	for _, name := range []string{dispatches, history, definitions} {
		err := q.ask(ctx, func(ctx context.Context) error {
			_, err := q.js.Stream(ctx, name)
			return err
		})
		if err != nil {
			return fmt.Errorf("stream %s: %w", name, err)
		}
	}
	return nil
}

// shard checks that there is such a shard.
func (q *Queue) shard(n int) error {
	if n < 0 || n >= q.cfg.Shards {
		return fmt.Errorf("there is no shard %d of %d", n, q.cfg.Shards)
	}
	return nil
}
