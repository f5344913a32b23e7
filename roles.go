package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/apiserver"
	"github.com/carillon-scheduler/carillon/apiserver/arm"
	"github.com/carillon-scheduler/carillon/planner"
	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/pressure"
	"github.com/carillon-scheduler/carillon/shared/queue"
	"github.com/carillon-scheduler/carillon/shared/secret"
	"github.com/carillon-scheduler/carillon/shared/store"
	"github.com/carillon-scheduler/carillon/worker"
)

// apiFlags are the settings of an API server.
type apiFlags struct {
	Listen           string        `help:"Address to serve the API on. Must be loopback: there is no authentication yet." default:"127.0.0.1:8080"`
	MaxJobs          int           `help:"Most jobs that a collection's quota may allow; 0 leaves Azure's limits (Free 5, Standard and P10Premium 50, P20Premium 1000)." default:"0"`
	Fastest          time.Duration `help:"Fastest recurrence that a collection's quota may allow; 0 leaves Azure's limits (Free 1h, the others 1m)." default:"0"`
	MinRetryInterval time.Duration `help:"Shortest retry interval that a job may ask for." default:"15s"`
}

// Validate is called by the flag library.
func (f *apiFlags) Validate() error {
	if f.MaxJobs < 0 || f.Fastest < 0 || f.MinRetryInterval < 0 {
		return errors.New("--max-jobs, --fastest and --min-retry-interval must not be negative")
	}
	return nil
}

// plannerFlags are the settings of a planner.
type plannerFlags struct {
	MissedAfter time.Duration `help:"How late an occurrence may be before it counts as missed; of the missed ones of a job only the newest runs, unless its policy says otherwise." default:"1m"`
	WatchAfter  time.Duration `help:"How long a dispatched attempt may have no result before it is looked for." default:"30s"`
}

// workerFlags are the settings of a worker.
type workerFlags struct {
	Concurrency int           `help:"Most actions performed at once." default:"256"`
	HTTPTimeout time.Duration `name:"http-timeout" help:"Longest an HTTP action may take, redirects and answer included." default:"60s"`
	Grace       time.Duration `help:"How long actions under way may take to finish at shutdown. What does not is given to another worker." default:"25s"`
	targetFlags
}

// adminFlags are the settings of the listener that tells how a role is.
type adminFlags struct {
	AdminListen string `help:"Address to serve /healthz and /readyz on. Must be loopback. Off unless set." placeholder:"HOST:PORT"`
}

type apiserverCmd struct {
	logFlags
	redisFlags
	natsFlags
	clusterFlags
	keysFlags
	apiFlags
}

// Run runs an API server until ctx is done.
func (c *apiserverCmd) Run(ctx context.Context, s *streams) error {
	if err := loopback("--listen", c.Listen); err != nil {
		return err
	}
	keys, err := c.load()
	if err != nil {
		return err
	}
	log := c.logger(s.err).With("role", "apiserver")
	b, err := connect(ctx, "apiserver", log, &c.redisFlags, &c.natsFlags, &c.clusterFlags)
	if err != nil {
		return err
	}
	defer b.close()
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w. Name another address with --listen or CARILLON_LISTEN", err)
	}
	api, err := newAPI(b, ln, keys, &c.apiFlags, log)
	if err != nil {
		return err
	}
	log.InfoContext(ctx, "serving", "url", "http://"+ln.Addr().String())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return api.Run(ctx) })
	g.Go(func() error { b.followClock(ctx, log); return nil })
	return g.Wait()
}

type plannerCmd struct {
	logFlags
	redisFlags
	natsFlags
	clusterFlags
	plannerFlags
	adminFlags
}

// Run runs a planner until ctx is done.
func (c *plannerCmd) Run(ctx context.Context, s *streams) error {
	log := c.logger(s.err).With("role", "planner")
	b, err := connect(ctx, "planner", log, &c.redisFlags, &c.natsFlags, &c.clusterFlags)
	if err != nil {
		return err
	}
	defer b.close()
	p, err := newPlanner(b, &c.plannerFlags, log)
	if err != nil {
		return err
	}
	return withAdmin(ctx, &c.adminFlags, b, log, p.Run)
}

type workerCmd struct {
	logFlags
	natsFlags
	clusterFlags
	keysFlags
	workerFlags
	adminFlags
}

// Run runs a worker until ctx is done.
func (c *workerCmd) Run(ctx context.Context, s *streams) error {
	keys, err := c.load()
	if err != nil {
		return err
	}
	actions, err := newActions(&c.workerFlags)
	if err != nil {
		return err
	}
	defer actions.close()
	log := c.logger(s.err).With("role", "worker")
	b, err := connect(ctx, "worker", log, nil, &c.natsFlags, &c.clusterFlags)
	if err != nil {
		return err
	}
	defer b.close()
	w, err := newWorker(b.queue, keys, actions, &c.workerFlags, nil, log)
	if err != nil {
		return err
	}
	return withAdmin(ctx, &c.adminFlags, b, log, w.Run)
}

// backend is what a role stands on.
type backend struct {
	store *store.Store // nil for a worker
	queue *queue.Queue
	board *pressure.Board
	stops []func()
}

// connect reaches Redis, unless r is nil, and NATS, and checks that both hold
// what this version understands.
func connect(ctx context.Context, role string, log *slog.Logger, r *redisFlags, n *natsFlags, cl *clusterFlags) (_ *backend, err error) {
	b := &backend{board: pressure.New(log)}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if r != nil {
		rdb, err := connectRedis(ctx, r.Redis)
		if err != nil {
			return nil, err
		}
		b.stops = append(b.stops, func() { _ = rdb.Close() })
		b.store = store.New(rdb, cl.Shards)
		b.store.Report(b.board)
		if err := b.store.Open(ctx); err != nil {
			return nil, err
		}
	}
	nc, err := connectNATS(role, n.NATS, log)
	if err != nil {
		return nil, err
	}
	b.stops = append(b.stops, nc.Close)
	b.queue, err = queue.Open(ctx, nc, queueConfig(cl, b.board, log))
	return b, err
}

// ackWait is how long a worker may be silent before what it has is given to
// another: how late an attempt is whose worker died. Workers say that they live
// three times as often.
const ackWait = 10 * time.Second

func queueConfig(cl *clusterFlags, board *pressure.Board, log *slog.Logger) queue.Config {
	return queue.Config{Shards: cl.Shards, Replicas: cl.Replicas, AckWait: ackWait, Pressure: board, Log: log}
}

// close lets go of everything, last first.
func (b *backend) close() {
	for _, stop := range slices.Backward(b.stops) {
		stop()
	}
}

// checks say whether what a role stands on answers.
func (b *backend) checks() []apiserver.Check {
	list := []apiserver.Check{{Name: "nats", Ready: b.queue.Ready}}
	if b.store != nil {
		list = append(list, apiserver.Check{Name: "redis", Ready: b.store.Ping})
	}
	return list
}

// followClock keeps following Redis's clock until ctx is done.
func (b *backend) followClock(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := b.store.SyncClock(ctx); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "redis's clock cannot be read", "err", err)
			}
		}
	}
}

func newAPI(b *backend, ln net.Listener, keys *secret.Keys, f *apiFlags, log *slog.Logger) (*apiserver.Server, error) {
	api, err := arm.New(arm.Config{
		Store: b.store, Journal: b.queue, History: b.queue, Shards: b.store.Shards(),
		Ceilings: job.Ceilings{MaxJobs: f.MaxJobs, Fastest: f.Fastest, MinRetry: f.MinRetryInterval},
		Sealer:   keys,
		Admit:    sameOrigin,
		Log:      log,
	})
	if err != nil {
		return nil, err
	}
	return apiserver.New(apiserver.Config{
		Listener: ln, API: api, Log: log, Conditions: b.board.Conditions,
		Ready: append(b.checks(), apiserver.Check{Name: "shards", Ready: b.store.Ready}),
	})
}

// sameOrigin refuses what a page of another site has a browser on this machine
// send: as long as there is no authentication, being on this machine is all
// that a request needs.
func sameOrigin(r *http.Request) error {
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		return &arm.Error{Status: http.StatusForbidden, Code: arm.CodeAuthorizationFailed, Message: "Requests from pages of other sites are refused.", Cause: err}
	}
	return nil
}

func newPlanner(b *backend, f *plannerFlags, log *slog.Logger) (*planner.Planner, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return planner.New(planner.Config{
		Store: b.store, Queue: b.queue, Log: log, Shards: b.store.Shards(), Pressure: b.board,
		ID:          fmt.Sprintf("%s/%d/%s", host, os.Getpid(), rand.Text()[:8]),
		MissedAfter: f.MissedAfter, WatchAfter: f.WatchAfter,
	})
}

func newWorker(q *queue.Queue, keys *secret.Keys, a *actions, f *workerFlags, observe func(*job.Result), log *slog.Logger) (*worker.Worker, error) {
	return worker.New(worker.Config{
		Source: q, History: q, Actions: a.byType, Secrets: keys, Concurrency: f.Concurrency, Grace: f.Grace, Observe: observe, Log: log,
	})
}

// withAdmin runs a role with its admin listener, if it has one.
func withAdmin(ctx context.Context, f *adminFlags, b *backend, log *slog.Logger, role func(context.Context) error) error {
	if f.AdminListen == "" {
		return role(ctx)
	}
	if err := loopback("--admin-listen", f.AdminListen); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", f.AdminListen)
	if err != nil {
		return fmt.Errorf("listen: %w. Name another address with --admin-listen or CARILLON_ADMIN_LISTEN", err)
	}
	admin, err := apiserver.New(apiserver.Config{Listener: ln, Ready: b.checks(), Conditions: b.board.Conditions, Log: log})
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return role(ctx) })
	g.Go(func() error { return admin.Run(ctx) })
	return g.Wait()
}
