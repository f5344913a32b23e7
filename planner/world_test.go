package planner_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/planner"
	"github.com/carillon-scheduler/carillon/shared/embedded"
	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/queue"
	"github.com/carillon-scheduler/carillon/shared/store"
)

// A world is all that a planner works with, but for planners and workers, with
// one collection in it.
type world struct {
	testing.TB
	addr  string // of redis
	rdb   *redis.Client
	nc    *nats.Conn
	store *store.Store
	queue *queue.Queue
	col   *job.Collection
}

// shards is how many there are in a world.
const shards = 2

func newWorld(t testing.TB) *world {
	t.Helper()
	addr, stop, err := embedded.Redis()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return newWorldOn(t, addr)
}

// newWorldOn is newWorld on a redis at an address.
func newWorldOn(t testing.TB, addr string) *world {
	t.Helper()
	w := &world{TB: t, addr: addr}
	nc, stop, err := embedded.NATS(embedded.NATSConfig{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	w.nc = nc
	w.queue, err = queue.Open(t.Context(), nc, queue.Config{Shards: shards})
	w.must(err)
	w.rdb, w.store = w.connect(nil)
	return w
}

// connect returns another connection to redis, through a line that can be cut
// unless that is nil.
func (w *world) connect(l *line) (*redis.Client, *store.Store) {
	w.Helper()
	opts := &redis.Options{Addr: w.addr, DisableIdentity: true, ContextTimeoutEnabled: true}
	if l != nil {
		opts.Dialer = l.dial
	}
	rdb := redis.NewClient(opts)
	w.Cleanup(func() { rdb.Close() })
	s := store.New(rdb, shards)
	w.must(s.Open(w.Context()))
	return rdb, s
}

// on returns w for a subtest.
func (w *world) on(t *testing.T) *world {
	v := *w
	v.TB = t
	return &v
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// eventually waits for a condition.
func (w *world) eventually(what string, holds func() bool) {
	w.Helper()
	end := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if <-tick.C; time.Now().After(end) {
			w.Fatalf("waited in vain for %s", what)
		}
	}
}

// settings are those of most tests.
func (w *world) settings(id string) planner.Config {
	return planner.Config{
		Store: w.store, Queue: w.queue, ID: id, Shards: shards,
		Log: slog.New(slog.NewTextHandler(w.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// plan runs a planner, and returns when it has every shard up to date. It ends
// with stop, or with the test.
func (w *world) plan() (stop func()) {
	w.Helper()
	stop = w.planAs(w.settings("p1"))
	w.ready()
	return stop
}

func (w *world) planAs(cfg planner.Config) (stop func()) {
	w.Helper()
	p, err := planner.New(cfg)
	w.must(err)
	return w.background(p.Run)
}

// background runs f until stop or the end of the test.
func (w *world) background(f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := f(ctx); err != nil {
			w.Error(err)
		}
	}()
	stop = func() { cancel(); <-done }
	w.Cleanup(stop)
	return stop
}

// ready waits until every shard is open, and makes the collection if there is
// none.
func (w *world) ready() {
	w.Helper()
	w.eventually("all shards to be ready", func() bool { return w.store.Ready(w.Context()) == nil })
	if w.col == nil {
		w.col = w.collection("jobs")
	}
}

func uid() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// From here on, what an API server does.

func (w *world) collection(name string) *job.Collection {
	w.Helper()
	now := w.store.Now()
	c := &job.Collection{
		UID: uid(), Revision: 1, CollectionRef: job.CollectionRef{Subscription: "s", ResourceGroup: "g", Collection: name},
		Location: "West US", SKU: job.Standard, State: job.CollectionEnabled, CreatedAt: now, ActiveFrom: now,
	}
	w.must(w.store.PutCollection(w.Context(), c, nil, false))
	w.journal(job.Entry{UID: c.UID, Revision: c.Revision, Collection: c})
	return c
}

// switchTo changes the state of the collection.
func (w *world) switchTo(s job.CollectionState) {
	w.Helper()
	was, err := w.store.Collection(w.Context(), w.col.CollectionRef)
	w.must(err)
	c := *was
	c.Revision, c.State = was.Revision+1, s
	if s == job.CollectionEnabled {
		c.ActiveFrom = w.store.Now()
	}
	w.must(w.store.PutCollection(w.Context(), &c, was, false))
	w.journal(job.Entry{UID: c.UID, Revision: c.Revision, Collection: &c})
	w.col = &c
}

func (w *world) deleteCollection() {
	w.Helper()
	c, err := w.store.Collection(w.Context(), w.col.CollectionRef)
	w.must(err)
	w.must(w.store.DeleteCollection(w.Context(), c))
	w.journal(job.Entry{UID: c.UID, Revision: c.Revision + 1, Collection: c, Deleted: true})
}

func (w *world) journal(e job.Entry) {
	w.Helper()
	e.Shard = w.shard()
	w.must(w.queue.Journal(w.Context(), e))
}

func (w *world) shard() int {
	return job.CollectionRef{Subscription: "s", ResourceGroup: "g", Collection: "jobs"}.Shard(shards)
}

// create creates a job.
func (w *world) create(name string, d job.Definition) *job.Job {
	w.Helper()
	now := w.store.Now()
	if d.State == "" {
		d.State = job.Enabled
	}
	if d.Action.Type == "" {
		d.Action = job.Action{Type: job.HTTP, Request: &job.Request{URI: "http://" + name, Method: "GET"}}
	}
	j := &job.Job{
		UID: uid(), Revision: 1, CollectionUID: w.col.UID, Ref: job.Ref{CollectionRef: w.col.CollectionRef, Job: name},
		Definition: d, CreatedAt: now, UpdatedAt: now, Series: 1, SeriesAt: now, Anchor: d.StartAt,
	}
	if d.State == job.Enabled {
		j.ActiveFrom = now
		if d.StartAt.IsZero() {
			j.Anchor = now
		}
	}
	w.write(job.Write{Collection: w.col, Job: j, MaxJobs: 100_000, Reschedule: true})
	return j
}

// update changes a job. It begins no new series.
func (w *world) update(j *job.Job, change func(*job.Job)) {
	w.Helper()
	for {
		_, was, err := w.store.Job(w.Context(), j.Ref)
		w.must(err)
		next := *was
		next.Action = *was.Action.Clone()
		next.Revision, next.UpdatedAt = was.Revision+1, w.store.Now()
		change(&next)
		if was.State != job.Enabled && next.State == job.Enabled {
			next.ActiveFrom = next.UpdatedAt
		}
		if w.write(job.Write{Collection: w.col, Was: was, Job: &next, Reschedule: was.State != next.State}) {
			return
		}
	}
}

// write writes a job, and reports whether it was what it should have been.
func (w *world) write(wr job.Write) bool {
	w.Helper()
	if j := wr.Job; wr.Reschedule && j.State == job.Enabled {
		var err error
		var last time.Time
		if wr.Was != nil {
			last = wr.Was.Status.LastAt
		}
		wr.NextAt, err = j.NextAfter(last, w.col.ActiveFrom)
		w.must(err)
	}
	err := w.store.PutJob(w.Context(), wr)
	if wr.Was != nil && errors.Is(err, job.ErrChanged) {
		return false
	}
	w.must(err)
	w.journal(job.Entry{UID: wr.Job.UID, Revision: wr.Job.Revision, Job: wr.Job})
	return true
}

func (w *world) delete(j *job.Job) {
	w.Helper()
	gone := *w.read(j)
	w.must(w.store.DeleteJob(w.Context(), w.col, &gone))
	gone.Revision++
	w.journal(job.Entry{UID: gone.UID, Revision: gone.Revision, Job: &gone, Deleted: true})
}

// request asks for a run, and returns its tag.
func (w *world) request(j *job.Job) string {
	w.Helper()
	now := job.Ceil(w.store.Now())
	r := &job.Pending{
		Run:   job.Run{Tag: job.RunTag(j.UID, uid()), UID: j.UID, Revision: j.Revision, At: now, Manual: true, Phase: job.MainAction},
		DueAt: now,
	}
	w.must(w.store.RunJob(w.Context(), w.col, w.read(j), r))
	w.journal(job.Entry{UID: j.UID, Revision: j.Revision, Run: r})
	return r.Tag
}

// read returns a job as it is now.
func (w *world) read(j *job.Job) *job.Job {
	w.Helper()
	_, got, err := w.store.Job(w.Context(), j.Ref)
	if err != nil {
		w.Fatal(fmt.Errorf("read job %s: %w", j.Job, err))
	}
	return got
}
