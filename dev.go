package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/shared/embedded"
	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/pressure"
	"github.com/carillon-scheduler/carillon/shared/queue"
	"github.com/carillon-scheduler/carillon/shared/secret"
	"github.com/carillon-scheduler/carillon/shared/store"
)

type devCmd struct {
	logFlags
	Data  string `help:"Directory that keeps everything: definitions, history, what is under way." type:"path" default:"./carillon-data"`
	Redis string `help:"URL of a Redis to use in place of the embedded one, which is rebuilt from the data at each start." placeholder:"URL"`
	NATS  string `name:"nats" help:"URLs of a NATS to use in place of the embedded one. The data directory keeps nothing but keys then." placeholder:"URL"`
	clusterFlags
	Keys string `help:"File of the keys that seal the secrets of definitions. Unless given, keys.json in the data directory, made when it is missing." type:"path" placeholder:"FILE"`

	Listen           string        `help:"Address to serve the API on. Must be loopback: there is no authentication yet." default:"127.0.0.1:8080"`
	MaxJobs          int           `help:"Most jobs that a collection's quota may allow." default:"10000"`
	Fastest          time.Duration `help:"Fastest recurrence that a collection's quota may allow." default:"1s"`
	MinRetryInterval time.Duration `help:"Shortest retry interval that a job may ask for." default:"1s"`
	plannerFlags
	workerFlags

	Demo       bool   `help:"Run sample jobs against a small HTTP target of its own, and print a line for each execution."`
	DemoListen string `help:"Address of the demo's target. Must be loopback." default:"127.0.0.1:8081"`
}

// Run runs all roles until ctx is done.
func (c *devCmd) Run(ctx context.Context, s *streams) error {
	if err := errors.Join(loopback("--listen", c.Listen), loopback("--demo-listen", c.DemoListen)); err != nil {
		return err
	}
	// What is logged in the course of a normal start and stop is no news to
	// one person on a laptop.
	if c.LogLevel == slog.LevelInfo {
		c.LogLevel = slog.LevelWarn
	}
	log := c.logger(s.err)
	keys, err := c.keys()
	if err != nil {
		return err
	}
	c.workerFlags.Grace = min(c.workerFlags.Grace, 3*time.Second) // Ctrl-C is to end it soon
	actions, err := newActions(&c.workerFlags)
	if err != nil {
		return err
	}
	defer actions.close()
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w. Name another address with --listen or CARILLON_LISTEN", err)
	}
	b, err := c.backend(ctx, log)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	defer b.close()

	url := "http://" + ln.Addr().String()
	var show *demo
	var observe func(*job.Result)
	if c.Demo {
		if show, err = newDemo(c.DemoListen, url, s.out); err != nil {
			return errors.Join(err, ln.Close())
		}
		observe = show.observe
	}
	flags := apiFlags{Listen: c.Listen, MaxJobs: c.MaxJobs, Fastest: c.Fastest, MinRetryInterval: c.MinRetryInterval}
	api, err := newAPI(b, ln, keys, &flags, log.With("role", "apiserver"))
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	p, err := newPlanner(b, &c.plannerFlags, log.With("role", "planner"))
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	w, err := newWorker(b.queue, keys, actions, &c.workerFlags, observe, log.With("role", "worker"))
	if err != nil {
		return errors.Join(err, ln.Close())
	}

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return named("planner", p.Run(ctx)) })
	g.Go(func() error {
		if err := b.wait(ctx); err != nil {
			return errors.Join(err, ln.Close())
		}
		c.welcome(s, url)
		inner, ctx := errgroup.WithContext(ctx)
		inner.Go(func() error { return named("api server", api.Run(ctx)) })
		inner.Go(func() error { return named("worker", w.Run(ctx)) })
		inner.Go(func() error { b.followClock(ctx, log); return nil })
		if show != nil {
			inner.Go(func() error { return show.Run(ctx) })
		}
		return inner.Wait()
	})
	return g.Wait()
}

// keys loads the keys, and makes its own the first time.
func (c *devCmd) keys() (*secret.Keys, error) {
	if c.Keys != "" {
		return secret.Load(c.Keys)
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w. Name another with --data or CARILLON_DATA", err)
	}
	path := filepath.Join(c.Data, "keys.json")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := secret.Create(path); err != nil {
			return nil, err
		}
	}
	return secret.Load(path)
}

// backend starts, or reaches, NATS and Redis.
func (c *devCmd) backend(ctx context.Context, log *slog.Logger) (_ *backend, err error) {
	b := &backend{board: pressure.New(log)}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	var rdb redis.UniversalClient
	if c.Redis != "" {
		if rdb, err = connectRedis(ctx, c.Redis); err != nil {
			return nil, err
		}
	} else {
		address, stop, err := embedded.Redis()
		if err != nil {
			return nil, err
		}
		b.stops = append(b.stops, stop)
		rdb = redis.NewClient(&redis.Options{Addr: address, ContextTimeoutEnabled: true, DisableIdentity: true})
	}
	b.stops = append(b.stops, func() { _ = rdb.Close() })
	b.store = store.New(rdb, c.Shards)
	b.store.Report(b.board)
	if err := b.store.Open(ctx); err != nil {
		return nil, err
	}
	if c.NATS != "" {
		nc, err := connectNATS("dev", c.NATS, log)
		if err != nil {
			return nil, err
		}
		b.stops = append(b.stops, nc.Close)
		b.queue, err = queue.Open(ctx, nc, queueConfig(&c.clusterFlags, b.board, log))
		return b, err
	}
	nc, stop, err := embedded.NATS(embedded.NATSConfig{Dir: filepath.Join(c.Data, "nats")})
	if err != nil {
		return nil, err
	}
	b.stops = append(b.stops, stop)
	b.queue, err = queue.Open(ctx, nc, queueConfig(&c.clusterFlags, b.board, log))
	return b, err
}

// wait returns when every shard is up to date.
func (b *backend) wait(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := b.store.Ready(ctx)
		if err == nil {
			return nil
		}
		if !errors.Is(err, job.ErrNotReady) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (c *devCmd) welcome(s *streams, url string) {
	where := c.Data
	if c.NATS != "" {
		where = redacted(c.NATS)
	}
	fmt.Fprintf(s.out, `Carillon %s is up.

  API   %s
  data  %s

Create a job collection:
  curl -X PUT '%[2]s/subscriptions/s/resourceGroups/rg/providers/Microsoft.Scheduler/jobCollections/jc?api-version=2016-03-01' \
    -d '{"location":"West Europe","properties":{"sku":{"name":"Standard"}}}'

Ctrl-C ends it. Started again, it goes on where it was.

`, buildVersion(), url, where)
}

// named says which part err stopped.
func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}
