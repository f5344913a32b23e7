package sim_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/apiserver/arm"
	"github.com/carillon-scheduler/carillon/planner"
	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/store"
	"github.com/carillon-scheduler/carillon/worker"
	"github.com/carillon-scheduler/carillon/worker/action"
)

const (
	watchAfter  = 5 * time.Second
	missedAfter = 8 * time.Second
)

// populate starts the processes.
func (w *world) populate() {
	w.roles = []*role{
		{name: "p1", run: w.runPlanner},
		{name: "p2", run: w.runPlanner},
		{name: "w1", run: w.runWorker},
		{name: "w2", run: w.runWorker},
	}
	for i := range len(w.customers) {
		w.roles = append(w.roles, &role{name: fmt.Sprint("a", i+1), run: w.runAPI, isAPI: true})
		w.customers[i].api = w.roles[len(w.roles)-1]
	}
	for _, r := range w.roles {
		w.start(r)
	}
}

// open opens a process's store, however often it has to try.
func (w *world) open(ctx context.Context, p *proc) *store.Store {
	s := w.connect(p)
	for s.Open(ctx) != nil && sleep(ctx, p, 200*time.Millisecond) {
	}
	return s
}

func (w *world) session(p *proc) *session { return &session{w, p, w.broker} }

func (w *world) runPlanner(ctx context.Context, p *proc) {
	s := w.open(ctx, p)
	pl, err := planner.New(planner.Config{
		Store: w.bend(view{s, w, p}), Queue: w.bendQueue(w.session(p)), Log: w.log.With("process", p.name), ID: p.name, Shards: w.shards,
		WatchAfter: watchAfter, MissedAfter: missedAfter, Batch: 4,
	})
	if err != nil {
		panic(err)
	}
	_ = pl.Run(ctx)
}

func (w *world) runWorker(ctx context.Context, p *proc) {
	act := target{w, p}
	q := w.session(p)
	wk, err := worker.New(worker.Config{
		Source: w.bendSource(q), History: w.bendHistory(q), Log: w.log.With("process", p.name), Concurrency: 3, Grace: time.Second,
		Actions: map[job.ActionType]action.Action{job.HTTP: act},
	})
	if err != nil {
		panic(err)
	}
	_ = wk.Run(ctx)
}

func (w *world) runAPI(ctx context.Context, p *proc) {
	s := w.open(ctx, p)
	q := w.session(p)
	api, err := arm.New(arm.Config{
		Store: door{s, w}, Journal: journal{q, w}, History: q, Log: w.log.With("process", p.name), Shards: w.shards,
		Ceilings: job.Ceilings{MaxJobs: 1000, Fastest: time.Second, MinRetry: time.Second},
	})
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	p.api = api
	p.mu.Unlock()
	for sleep(ctx, p, 5*time.Second) {
		_ = s.SyncClock(ctx)
	}
}

// handler returns what answers a process's requests; nil: nothing does yet.
func (p *proc) handler() http.Handler {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.api == nil {
		return nil
	}
	return p.api
}

// A target is what actions call. What it does is said by the URI, and by the
// attempt.
type target struct {
	w *world
	p *proc
}

// Do performs d.
func (g target) Do(ctx context.Context, d *job.Dispatch) action.Report {
	if !sleep(ctx, g.p, g.p.asleep()) {
		return action.Report{Outcome: job.Failed}
	}
	perf, n := g.w.book.begin(g.p, d)
	g.w.tell(g.p.name, "performs", d.Job+" "+d.ID(), "")
	chance := draw(g.w.seed, attemptOf(&d.Attempt), n)
	long := time.Duration(1+chance%25) * grid
	switch {
	case chance>>8%32 == 0:
		long += ackWait + time.Second
	case chance>>8%8 == 0:
		long += time.Second
	}
	if !sleep(ctx, g.p, long) {
		g.w.book.end(perf, "")
		return action.Report{Outcome: job.Failed}
	}
	r := action.Report{Outcome: job.Succeeded, Message: "Http Action"}
	switch uri := d.Action.Request.URI; {
	case strings.HasSuffix(uri, "/bad"), strings.HasSuffix(uri, "/flaky") && chance>>16%10 < 5:
		r.Outcome = job.Failed
	case strings.HasSuffix(uri, "/busy") && chance>>16%10 < 5:
		r.Outcome, r.RetryAfter = job.Postponed, 1700*time.Millisecond
	}
	g.w.book.end(perf, r.Outcome)
	return r
}

// draw is chance that does not depend on what else happens.
func draw(seed uint64, what string, n int) uint64 {
	h := fnv.New64a()
	var b [9]byte
	for i := range 8 {
		b[i] = byte(seed >> (8 * i))
	}
	b[8] = byte(n)
	_, _ = h.Write(b[:])
	_, _ = h.Write([]byte(what))
	x := h.Sum64()
	x ^= x >> 33 // fnv's low bits are poor
	x *= 0xff51afd7ed558ccd
	return x ^ x>>29
}

// A book is what an independent observer wrote down.
type book struct {
	mu      sync.Mutex
	perfs   []*perf
	puts    map[string][]*put // by uid
	uids    map[string]int    // how many were made for a name
	acks    []ack
	deletes map[string]time.Time // by name: when a deletion was last asked for
	plans   []planned
	epochs  map[string]int64
	blind   map[string]bool  // leases of shards that went back in time, unnoticed so far
	owners  map[string]*proc // by lease: to whom the newest epoch was given
	losses  []time.Time      // of redis
	shocks  []time.Time      // to the dispatch stream, or a restart of nats
	wrong   []string
	counts  map[string]int
}

func (b *book) open() {
	b.deletes, b.owners = make(map[string]time.Time), make(map[string]*proc)
	b.puts, b.uids, b.epochs, b.counts = make(map[string][]*put), make(map[string]int), make(map[string]int64), make(map[string]int)
}
