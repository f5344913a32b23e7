package sim_test

import (
	"flag"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	oneSeed   = flag.Uint64("sim.seed", 0, "run this seed only, and print its trace")
	firstSeed = flag.Uint64("sim.from", 1, "the first seed")
	seeds     = flag.Uint64("sim.seeds", 60, "how many seeds to run")
	twice     = flag.Uint64("sim.twice", 8, "how many seeds to run twice")
	lateRedis = flag.Bool("sim.late", false, "have what planners ask of Redis take effect after they gave it up, too")
	tailLines = flag.Int("sim.tail", 80, "how many lines of a trace to print")
)

// TestSim holds what must always hold (DESIGN.md §4, ARCHITECTURE.md) against
// one world after another.
func TestSim(t *testing.T) {
	if *oneSeed != 0 {
		v := simulate(t, *oneSeed, "")
		for _, l := range v.tail() {
			t.Log(l)
		}
		v.fail(t)
		return
	}
	began := time.Now()
	var next, steps atomic.Uint64
	counts := make(chan map[string]int, *seeds)
	each(t, func(t *testing.T) {
		for {
			i := next.Add(1) - 1
			if i >= *seeds {
				return
			}
			v := simulate(t, *firstSeed+i, "")
			steps.Add(uint64(v.steps))
			counts <- v.counts
			v.fail(t)
		}
	})
	close(counts)
	sum := make(map[string]int)
	for c := range counts {
		for what, n := range c {
			sum[what] += n
		}
	}
	t.Logf("%d seeds, %d steps in %v: %v", next.Load()-uint64(runtime.GOMAXPROCS(0)), steps.Load(), time.Since(began).Round(time.Millisecond), sum)
}

// TestSameSeedSameRun shows that a seed decides everything.
func TestSameSeedSameRun(t *testing.T) {
	var next atomic.Uint64
	each(t, func(t *testing.T) {
		for i := next.Add(1); i <= *twice; i = next.Add(1) {
			a, b := simulate(t, 1000+i, ""), simulate(t, 1000+i, "")
			if a.hash == b.hash {
				continue
			}
			x, y := a.trace, b.trace
			for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
				x, y = x[1:], y[1:]
			}
			t.Errorf("seed %d was not the same twice; first\n%v\nthen\n%v", 1000+i, a.trace[max(0, len(a.trace)-len(x)-12):len(a.trace)-len(x)+3], y[:min(3, len(y))])
		}
	})
}

// each runs f on every processor.
func each(t *testing.T, f func(t *testing.T)) {
	t.Run("all", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(i+1), func(t *testing.T) {
				t.Parallel()
				f(t)
			})
		}
	})
}

// A verdict is what came of a seed.
type verdict struct {
	seed   uint64
	plan   string
	steps  int
	hash   uint64
	trace  []line
	counts map[string]int
	wrong  []string
}

// simulate plays the world of a seed.
func simulate(t *testing.T, seed uint64, mutant string) verdict {
	t.Helper()
	var v verdict
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(seed, mutant)
		defer w.close()
		w.live()
		w.judge()
		v = verdict{seed, w.plan.name, w.steps, w.hash, w.trace, w.book.counts, w.book.wrong}
	})
	return v
}

func (v *verdict) tail() []line { return v.trace[max(0, len(v.trace)-*tailLines):] }

// fail fails the test if the verdict is that something was wrong.
func (v *verdict) fail(t *testing.T) {
	t.Helper()
	if len(v.wrong) == 0 {
		return
	}
	text := ""
	for _, s := range v.wrong {
		text += s + "\n"
	}
	trace := "the end of its trace:\n"
	for _, l := range v.tail() {
		trace += l.String() + "\n"
	}
	t.Errorf("seed %d (%s), %d steps:\n%s\nto see it again:\n\tgo test ./planner/sim -run TestSim -v -args -sim.seed %d -sim.tail 4000\n%s",
		v.seed, v.plan, v.steps, text, v.seed, trace)
}

// live has everything happen: the cluster comes up, things go wrong for a while,
// then they do not any more, and what is left is done. At last somebody asks for
// one more thing, which has to be done at once.
func (w *world) live() {
	w.populate()
	w.behind(w.customers[0].open)
	w.play(w.began.Add(peace), w.idleCustomers)
	w.tell("", "things begin to go wrong", w.plan.name, "")
	w.schedule()
	w.calm = false
	for _, c := range w.customers[1:] {
		w.behind(c.live)
	}
	if w.plan.toggles {
		w.behind(w.customers[0].toggle)
	}
	w.play(time.Now().Add(chaos), nil)
	w.calm = true
	w.wake()
	w.tell("", "nothing goes wrong any more", "", "")
	if w.plan.toggles {
		w.behind(w.customers[0].enable)
	}
	w.play(time.Now().Add(peace), func() bool { return w.idleCustomers() && w.undone() == "" })
	if left := w.undone(); left != "" || !w.idleCustomers() {
		w.book.blame("I14: after %v without faults: %s; customers are served: %t", peace, left, w.idleCustomers())
		return
	}
	w.play(time.Now().Add(10*time.Second), nil) // who slept or died is back
	w.probe()
}

// wake ends what was to go wrong still.
func (w *world) wake() {
	w.away = make(map[string]time.Time)
	w.broker.losing = 0
	for _, p := range w.procs {
		p.trap = nil
	}
}

// behind has a customer do something.
func (w *world) behind(f func()) {
	w.busy.Add(1)
	w.loose.Go(func() {
		defer w.busy.Add(-1)
		defer signal(w.turns.arrived)
		f()
	})
}

func (w *world) idleCustomers() bool { return w.busy.Load() == 0 }

// probe asks for a new job when all is well.
func (w *world) probe() {
	c := w.customers[1]
	c.name += "probe"
	asked := time.Now()
	w.behind(func() {
		c.ask("PUT", c.path(), document(map[string]any{"action": map[string]any{
			"type": "http", "request": map[string]any{"uri": "http://target.example/" + c.name + "/1/good", "method": "GET"},
		}}))
	})
	w.play(asked.Add(30*time.Second), func() bool { return w.idleCustomers() && w.undone() == "" })
	w.book.mu.Lock()
	defer w.book.mu.Unlock()
	for _, f := range w.book.perfs {
		if f.Job == c.name {
			if late := f.start.Sub(asked); late > time.Second {
				w.book.wrong = append(w.book.wrong, fmt.Sprintf("I14: a job that was made when all was well ran after %v", late))
			}
			return
		}
	}
	w.book.wrong = append(w.book.wrong, "I14: a job that was made when all was well never ran")
}
