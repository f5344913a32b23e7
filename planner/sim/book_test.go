package sim_test

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/store"
)

// A perf is one performance of an attempt, as its target saw it.
type perf struct {
	*job.Dispatch
	by      *proc
	n       int // which one of the attempt, from 0
	start   time.Time
	end     time.Time
	outcome job.Outcome // empty: it was cut short
}

// A put is a definition that an API server asked the store to keep.
type put struct {
	job.Job
	at time.Time
}

// An ack is a request that was answered with success.
type ack struct {
	verb         string // PUT, PATCH, DELETE or run
	name         string
	uid          string
	revision     int64
	tag          string // of a run
	asked, given time.Time
}

// A planned is an occurrence that a planner committed.
type planned struct {
	uid, tag string
	revision int64
	at, when time.Time // nominal time, and the time of planning
	by       string
}

func (b *book) begin(p *proc, d *job.Dispatch) (*perf, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, o := range b.perfs {
		if attemptOf(&o.Attempt) == attemptOf(&d.Attempt) {
			n++
		}
	}
	f := &perf{Dispatch: d, by: p, n: n, start: time.Now()}
	b.perfs = append(b.perfs, f)
	return f, n
}

func (b *book) end(f *perf, o job.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f.end, f.outcome = time.Now(), o
}

// redisNow is the time by redis's clock.
func (w *world) redisNow() time.Time { return time.Now().Add(w.ahead) }

// count counts a fault.
func (w *world) count(t *trap) {
	what := string(t.kind)
	if t.kind == fine {
		what = "SLEEPS BEFORE"
	}
	w.book.mu.Lock()
	defer w.book.mu.Unlock()
	w.book.counts[what]++
}

// blame notes that something was seen that must not be.
func (b *book) blame(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
}

// witness sees what scripts did.
func (w *world) witness(p *proc, c redis.Cmder) {
	cmd, ok := c.(*redis.Cmd)
	if !ok || cmd.Val() == nil || (cmd.Name() != "evalsha" && cmd.Name() != "eval") {
		return
	}
	words := make([]string, len(cmd.Args()))
	for i, a := range cmd.Args() {
		words[i] = fmt.Sprint(a)
	}
	n, _ := strconv.Atoi(words[2])
	keys, argv := words[3:3+n], words[3+n:]
	switch name := w.scripts[words[1]]; name {
	case "plan":
		w.epoch(p, name, keys[0], argv[0], cmd.Val())
		w.plannedBy(p, argv, cmd.Val())
	case "record", "dispatched", "settle", "adopt", "ready":
		w.epoch(p, name, keys[0], argv[0], cmd.Val())
		if name == "ready" && argv[1] == "1" && cmd.Val() == "OK" {
			w.book.mu.Lock()
			delete(w.book.blind, keys[0])
			w.book.mu.Unlock()
		}
	case "lease":
		if v, _ := cmd.Int64Slice(); len(v) > 0 && v[0] > 0 {
			w.book.mu.Lock()
			if v[0] > w.book.epochs[keys[0]] {
				w.book.epochs[keys[0]], w.book.owners[keys[0]] = v[0], p
			}
			w.book.mu.Unlock()
		}
	}
}

// epoch checks that who changed a shard is the last to whom it was given.
func (w *world) epoch(p *proc, script, lease, epoch string, answer any) {
	if answer == "LEASE" || answer == "BEHIND" || answer == "COLLECTION" {
		return
	}
	w.book.mu.Lock()
	newest, owner := w.book.epochs[lease], w.book.owners[lease]
	w.book.mu.Unlock()
	if owner != nil && owner != p {
		w.book.blame("I10: %s changed the shard of %s by %s, though %s had got it", p.name, lease, script, owner.name)
	}
	if e, _ := strconv.ParseInt(epoch, 10, 64); e < newest {
		w.book.blame("I10: %s changed the shard of %s by %s in epoch %d, though %d was given: %v", p.name, lease, script, e, newest, answer)
	}
}

// forgetEpochs has the epochs be those of a copy that came back: who held a lease
// then holds it again.
func (b *book) forgetEpochs(s *snapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.epochs, b.owners = make(map[string]int64), make(map[string]*proc)
	if s == nil {
		return
	}
	for key, h := range s.hashes {
		if strings.HasSuffix(key, ":lease") {
			b.epochs[key], _ = strconv.ParseInt(h["epoch"], 10, 64)
		}
	}
}

// setBlind notes that planners have yet to see that Redis went back in time.
func (b *book) setBlind(shards int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.blind = make(map[string]bool)
	for n := range shards {
		b.blind[fmt.Sprintf("carillon:{s%d}:lease", n)] = true
	}
}

func (b *book) isBlind() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.blind) > 0
}

func (w *world) plannedBy(p *proc, argv []string, answer any) {
	taken, ok := answer.([]any)
	if !ok {
		return
	}
	n, _ := strconv.Atoi(argv[1])
	for i, t := range taken {
		item := argv[2+2*n+10*i:]
		if t == "" || item[3] == "" {
			continue
		}
		revision, _ := strconv.ParseInt(item[1], 10, 64)
		ms, _ := strconv.ParseInt(item[3], 10, 64)
		w.book.mu.Lock()
		w.book.plans = append(w.book.plans, planned{uid: item[0], revision: revision, tag: item[5], at: time.UnixMilli(ms).UTC(), when: time.Now(), by: p.name})
		w.book.mu.Unlock()
	}
}

// A call is a request to an API server.
type call struct {
	entry *job.Entry // the last one journaled
}

type callKey struct{}

// A door is the store as an API server has it. It names new jobs and
// collections after the seed, and notes what is written.
type door struct {
	*store.Store
	w *world
}

// PutJob is the store's.
func (d door) PutJob(ctx context.Context, wr job.Write) error {
	if wr.Was == nil {
		wr.Job.UID = d.w.uid(wr.Job.Job)
	}
	d.w.book.mu.Lock()
	puts := d.w.book.puts
	puts[wr.Job.UID] = append(puts[wr.Job.UID], &put{Job: *wr.Job, at: time.Now()})
	d.w.book.mu.Unlock()
	return d.Store.PutJob(ctx, wr)
}

// PutCollection is the store's.
func (d door) PutCollection(ctx context.Context, c, was *job.Collection, exact bool) error {
	if was == nil {
		c.UID = d.w.uid(c.Collection)
	}
	return d.Store.PutCollection(ctx, c, was, exact)
}

// uid returns the next uid of a name.
func (w *world) uid(name string) string {
	w.book.mu.Lock()
	defer w.book.mu.Unlock()
	w.book.uids[name]++
	n := w.book.uids[name]
	return fmt.Sprintf("%016x%016x", draw(w.seed, "uid/"+name, n), draw(w.seed, "more/"+name, n))
}

// A journal is the journal as an API server has it.
type journal struct {
	*session
	w *world
}

// Journal is the queue's.
func (j journal) Journal(ctx context.Context, entries ...job.Entry) error {
	var err error
	last := &entries[len(entries)-1]
	if j.w.mutant != "answers come before the journal holds it" || draw(j.w.seed, entryName(last), 0)%3 > 0 {
		err = j.session.Journal(ctx, entries...)
	}
	if c, ok := ctx.Value(callKey{}).(*call); ok && err == nil {
		c.entry = last
	}
	return err
}

// lostSince reports whether redis lost anything after a time.
func (b *book) lostSince(t time.Time) bool {
	return len(b.losses) > 0 && !b.losses[len(b.losses)-1].Before(t)
}

// jobs returns the uids of all jobs that ever were.
func (b *book) jobs() []string { return sortedKeys(b.puts) }

func sortedKeys[V any](m map[string]V) []string {
	return sorted(maps.Keys(m))
}
