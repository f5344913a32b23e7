package planner_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/planner"
	"github.com/carillon-scheduler/carillon/shared/job"
)

// owner returns the planner that holds a shard.
func (w *world) owner(shard int) string {
	w.Helper()
	id, err := w.rdb.HGet(w.Context(), leaseKey(shard), "owner").Result()
	w.must(err)
	return id
}

func leaseKey(shard int) string { return "carillon:{s" + strconv.Itoa(shard) + "}:lease" }

// gapless waits until a job that is due every second was executed at the first n
// seconds, and checks that it was once each, and not early.
func (k *worker) gapless(j *job.Job, n int) {
	k.Helper()
	var calls []call
	k.eventually("executions without a gap", func() bool {
		calls = k.performed(j)
		for i := range calls[:min(n, len(calls))] {
			if !calls[i].At.Equal(calls[0].At.Add(time.Duration(i) * time.Second)) {
				return false
			}
		}
		return len(calls) >= n
	})
	const skew = 100 * time.Millisecond // of clocks that measured redis's under load
	for i, c := range calls {
		if i > 0 && c.At.Equal(calls[i-1].At) {
			k.Fatalf("executed twice: %s and %s", calls[i-1].ID(), c.ID())
		}
		if c.Planned.Count != int64(i+1) {
			k.Errorf("execution %d is number %d", i+1, c.Planned.Count)
		}
		if early := c.At.Sub(c.at); early > skew {
			k.Errorf("execution %d was %v early", i+1, early)
		}
	}
}

// brief is settings for planners that soon miss each other.
func (w *world) brief(id string) planner.Config {
	cfg := w.settings(id)
	cfg.Term = 900 * time.Millisecond
	return cfg
}

// DESIGN.md §3: "Live planners share the shards evenly and hand over at once on
// shutdown"; and nothing is lost or doubled (I2, I10).
func TestPlannersShareAndHandOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := map[string]func(){"p1": w.planAs(w.brief("p1"))}
	w.ready()
	k := w.work()
	j := w.create("often", job.Definition{Recurrence: every(1, 0)})
	stop["p2"] = w.planAs(w.brief("p2"))
	w.eventually("an even share", func() bool { return w.owner(0) != w.owner(1) })
	k.gapless(j, 2)
	for _, next := range []string{"p3", "p4"} {
		leaves := w.owner(w.shard())
		stop[next] = w.planAs(w.brief(next))
		stop[leaves]()
		w.eventually("another owner", func() bool { id := w.owner(w.shard()); return id != leaves && id != "" })
		k.gapless(j, len(k.performed(j))+2)
	}
}

// A planner that is cut off loses its lease, and the other goes on.
func TestPlannerCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var l line
	cfg := w.brief("p1")
	_, cfg.Store = w.connect(&l)
	w.planAs(cfg)
	w.ready()
	k := w.work()
	k.on("retried", outcomes(job.Failed, job.Succeeded))
	j := w.create("often", job.Definition{Recurrence: every(1, 0)})
	retried := w.create("retried", job.Definition{Action: calling(job.HTTP, fixed(1500*time.Millisecond, 1), nil)})
	k.gapless(j, 2)
	l.cut()
	w.planAs(w.brief("p2"))
	w.eventually("another owner", func() bool { return w.owner(w.shard()) == "p2" })
	k.gapless(j, len(k.performed(j))+2)
	w.is(retried, job.Completed, 1, 1, 0)
	l.mend()
	w.eventually("an even share", func() bool { return w.owner(0) != w.owner(1) })
	k.gapless(j, len(k.performed(j))+2)
}

// Redis may be away: what was due meanwhile is planned when it is back.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var l line
	cfg := w.brief("p1")
	_, cfg.Store = w.connect(&l)
	w.planAs(cfg)
	w.ready()
	k := w.work()
	j := w.create("often", job.Definition{Recurrence: every(1, 0)})
	k.gapless(j, 1)
	l.cut()
	w.passed(k.performed(j)[0].At.Add(2500 * time.Millisecond))
	if n := len(k.performed(j)); n != 1 {
		t.Fatalf("performed %d times", n)
	}
	l.mend()
	k.gapless(j, 5)
}

// I10: "two planners never both commit an occurrence": one that lost its lease
// and does not know it cannot.
func TestStalePlannerCannotCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := &spy{Handler: slog.NewTextHandler(w.Output(), nil)}
	cfg := w.brief("stale")
	cfg.Term, cfg.Log = time.Hour, slog.New(seen) // it does not look before
	w.planAs(cfg)
	w.ready()
	w.must(w.rdb.HSet(w.Context(), leaseKey(w.shard()), "owner", "").Err())
	l, err := w.store.Lease(w.Context(), w.shard(), "thief", 3*time.Second)
	if err != nil || !l.Held() {
		t.Fatalf("lease %+v: %v", l, err)
	}
	j := w.create("once", job.Definition{})
	w.eventually("the stale planner to try", func() bool { return seen.saw("lease lost") })
	if s := w.read(j).Status; s.Planned != 0 || len(w.runs()) != 0 || len(w.dispatched()) != 0 {
		t.Errorf("the stale planner planned: %+v", s)
	}
	w.planAs(w.brief("p2")) // which takes over when the thief's lease ends
	k := w.work()
	w.is(j, job.Completed, 1, 0, 0)
	if n := len(k.performed(j)); n != 1 {
		t.Errorf("performed %d times", n)
	}
}

// A spy remembers what was logged.
type spy struct {
	slog.Handler
	mu    sync.Mutex
	lines []string
}

func (s *spy) Enabled(context.Context, slog.Level) bool { return true }
func (s *spy) WithAttrs([]slog.Attr) slog.Handler       { return s }

func (s *spy) Handle(_ context.Context, r slog.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	s.lines = append(s.lines, line)
	return nil
}

func (s *spy) saw(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(s.lines, "\n"), text)
}
