package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The streams that an operator sees.
const (
	dispatchStream = "DISPATCH"
	historyStream  = "HISTORY"
)

// stateFaults take something away that a server keeps.
func stateFaults() []*fault {
	lost, again := cost{again: true, stateLost: true}, cost{again: true}
	return []*fault{
		{name: "flush redis", whom: only("redis"), begin: flush, cost: lost},
		{name: "old redis", whom: only("redis"), least: time.Second, most: 6 * time.Second, begin: goBack, cost: lost},
		{name: "purge dispatches", whom: only(dispatchStream), begin: purge, cost: again},
		{name: "delete dispatches", whom: only(dispatchStream), begin: deleteStream, cost: again},
		{name: "delete consumers", whom: only("all"), begin: deleteConsumers, cost: again},
		{name: "full disk of redis", whom: only("redis"), least: time.Second, most: 3 * time.Second, begin: fillDisk, cost: again, disk: true},
		{name: "full disk of nats", whom: only("nats1"), least: time.Second, most: 3 * time.Second, begin: fillDisk, cost: again, disk: true},
	}
}

func flush(ctx context.Context, c *cluster, _ *event) (func(context.Context) error, error) {
	return nothing, retried(ctx, func(ctx context.Context) error { return c.rdb.FlushAll(ctx).Err() })
}

// goBack has Redis start again from the log that it had when the fault began.
func goBack(ctx context.Context, c *cluster, _ *event) (func(context.Context) error, error) {
	const name = "appendonlydir"
	live, old := filepath.Join(c.dataOf("redis"), name), filepath.Join(c.dir, "redis-old-"+time.Now().Format("150405.000"))
	if err := copyDir(old, live); err != nil {
		return nil, fmt.Errorf("copy redis's log: %w", err)
	}
	return func(context.Context) error {
		p := c.named["redis"]
		p.kill()
		if err := errors.Join(os.RemoveAll(live), copyDir(live, old)); err != nil {
			return fmt.Errorf("put redis's old log back: %w", err)
		}
		return p.start(c.starter)
	}, nil
}

// copyDir copies a folder that somebody may be adding to.
func copyDir(to, from string) error { return os.CopyFS(to, os.DirFS(from)) }

func purge(ctx context.Context, c *cluster, _ *event) (func(context.Context) error, error) {
	return nothing, retried(ctx, func(ctx context.Context) error {
		s, err := c.js.Stream(ctx, dispatchStream)
		if err != nil {
			return err
		}
		return s.Purge(ctx)
	})
}

func deleteStream(ctx context.Context, c *cluster, _ *event) (func(context.Context) error, error) {
	return nothing, retried(ctx, func(ctx context.Context) error { return c.js.DeleteStream(ctx, dispatchStream) })
}

func deleteConsumers(ctx context.Context, c *cluster, _ *event) (func(context.Context) error, error) {
	return nothing, retried(ctx, func(ctx context.Context) error {
		for _, name := range []string{dispatchStream, historyStream} {
			s, err := c.js.Stream(ctx, name)
			if err != nil {
				return err
			}
			list := s.ConsumerNames(ctx)
			for consumer := range list.Name() {
				if err := s.DeleteConsumer(ctx, consumer); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
					return err
				}
			}
			if err := list.Err(); err != nil {
				return err
			}
		}
		return nil
	})
}

// retried does something to a server that may be away for a while itself.
func retried(ctx context.Context, do func(context.Context) error) error {
	return eventually(ctx, 20*time.Second, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		return do(ctx)
	})
}

// fillDisk leaves a server no room. When there is some again, the server is
// started anew, as an operator would: JetStream does not go on by itself.
func fillDisk(_ context.Context, c *cluster, e *event) (func(context.Context) error, error) {
	free, err := fill(c.dataOf(e.who))
	if err != nil {
		return nil, err
	}
	return func(context.Context) error {
		if err := free(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("free disk: %w", err)
		}
		p := c.named[e.who]
		p.kill()
		return p.start(c.starter)
	}, nil
}
