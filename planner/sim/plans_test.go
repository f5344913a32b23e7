package sim_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

const (
	chaos = 14 * time.Second // for how long things go wrong
	peace = 2 * time.Minute  // within which everything has to be done after that
)

// A plan is what may go wrong in a world.
type plan struct {
	name    string
	chances chances
	deaths  int // of processes, between two steps of theirs
	naps    int // longer than a lease, or than a worker may be silent
	cuts    int // for how often a server is away
	older   int // how often Redis comes back as it was a while ago
	empty   int // how often it comes back empty
	restart int // how often NATS restarts, and forgets the ids of what it holds no longer
	purge   int // how often the dispatch stream loses what it holds
	toggles bool
}

// plans take turns, seed by seed. None has both Redis and the dispatch stream
// lose what they hold: that no one of them is lost is what all rests on.
var plans = []plan{
	{name: "nothing goes wrong"},
	{name: "deaths", deaths: 10},
	{name: "naps", naps: 8},
	{name: "network", chances: chances{fail: 30, late: 15, slow: 20}, cuts: 2},
	{name: "redis goes back", older: 2, deaths: 2},
	{name: "redis comes back empty", empty: 2, deaths: 2},
	{name: "nats", restart: 2, purge: 1, deaths: 3, naps: 2},
	{
		name: "everything", chances: chances{fail: 15, late: 8, slow: 10},
		deaths: 5, naps: 3, cuts: 1, older: 1, empty: 1, restart: 1, toggles: true,
	},
}

// schedule draws when what goes wrong.
func (w *world) schedule() {
	p := &w.plan
	w.chances = p.chances
	add := func(n int, what string, do func(w *world)) {
		for range n {
			at := time.Since(w.began) + time.Duration(w.rng.Int64N(int64(chaos)))
			w.events = append(w.events, event{at, what, do})
		}
	}
	add(p.deaths, "somebody is to die", (*world).doom)
	add(p.naps, "somebody is to fall asleep", (*world).lull)
	add(p.cuts, "a server goes away", (*world).cut)
	add(p.older, "redis makes a copy", (*world).copyRedis)
	add(p.empty, "redis loses everything", func(w *world) { w.lose(nil) })
	add(p.restart, "nats restarts", (*world).restartNATS)
	add(p.purge, "the dispatch stream loses everything", func(w *world) {
		w.broker.purge(w.rng.IntN(2) == 0)
		w.book.shocks = append(w.book.shocks, time.Now())
	})
	slices.SortStableFunc(w.events, func(a, b event) int { return int(a.at - b.at) })
}

// victim draws a process; planners and workers twice as often as others.
func (w *world) victim() *proc {
	i := w.rng.IntN(len(w.roles) + 4)
	return w.roles[i%len(w.roles)].current()
}

func (w *world) doom() {
	p := w.victim()
	if w.rng.IntN(4) == 0 {
		w.tell(p.name, "dies", "", "")
		p.die()
		return
	}
	kind := dieBefore
	if w.rng.IntN(2) == 0 {
		kind = dieAfter
	}
	p.trap = &trap{kind: kind, skip: w.rng.IntN(8), writing: w.rng.IntN(4) > 0}
}

func (w *world) lull() {
	kind := fine // before a step
	if w.rng.IntN(2) == 0 {
		kind = sleepsOn
	}
	w.victim().trap = &trap{kind: kind, skip: w.rng.IntN(6), writing: w.rng.IntN(4) > 0, asleep: 2*time.Second + time.Duration(w.rng.Int64N(int64(6*time.Second)))}
}

func (w *world) cut() {
	server := []string{"redis", "nats "}[w.rng.IntN(2)]
	w.away[server] = time.Now().Add(time.Duration(100+w.rng.IntN(4000)) * time.Millisecond)
}

// copyRedis has Redis come back as it is now, after a while.
func (w *world) copyRedis() {
	s := takeSnapshot(w.redis)
	at := time.Since(w.began) + time.Duration(50+w.rng.IntN(4000))*time.Millisecond
	e := event{at, "redis goes back to its copy", func(w *world) { w.lose(s) }}
	i, _ := slices.BinarySearchFunc(w.events, e, func(a, b event) int { return int(a.at - b.at) })
	w.events = slices.Insert(w.events, i, e)
}

// lose has Redis come back as it once was, and all connections break.
func (w *world) lose(s *snapshot) {
	s.putBack(w.redis)
	w.book.forgetEpochs(s)
	w.book.setBlind(w.shards)
	w.book.losses = append(w.book.losses, time.Now())
	w.away["redis"] = time.Now().Add(time.Duration(w.rng.IntN(300)) * time.Millisecond)
	w.bus.send(-1, all)
}

func (w *world) restartNATS() {
	w.broker.restart()
	w.book.shocks = append(w.book.shocks, time.Now())
	w.away["nats "] = time.Now().Add(time.Duration(w.rng.IntN(500)) * time.Millisecond)
}

// invite draws the customers: the first has the collections, the others a job
// each. One in two only watches what becomes of it.
func (w *world) invite() {
	w.customers = []*customer{{name: "admin"}}
	for i := range 2 + w.rng.IntN(3) {
		c := &customer{name: fmt.Sprint("job", i+1), collection: []string{"one", "two"}[w.rng.IntN(2)]}
		if w.rng.IntN(2) == 0 {
			for range 1 + w.rng.IntN(5) {
				c.ops = append(c.ops, []string{"put", "delete", "run", "run", "disable", "enable", "schedule", "action"}[w.rng.IntN(8)])
			}
		}
		w.customers = append(w.customers, c)
	}
	for _, c := range w.customers {
		c.w, c.rng = w, rand.New(rand.NewPCG(w.seed, draw(w.seed, c.name, 0)))
	}
}

// open makes the collections.
func (c *customer) open() {
	for _, name := range []string{"one", "two"} {
		c.ask(http.MethodPut, collections+name, `{"location":"westus","properties":{"quota":{"maxJobCount":50,"maxRecurrence":{"frequency":"Second","interval":1}}}}`)
	}
}

// enable enables the collections.
func (c *customer) enable() {
	for _, name := range []string{"one", "two"} {
		c.ask(http.MethodPost, collections+name+"/enable", "")
	}
}

// toggle disables and enables collections.
func (c *customer) toggle() {
	for range c.rng.IntN(3) {
		c.pause(time.Duration(c.rng.IntN(500)) * grid)
		path := collections + []string{"one", "two"}[c.rng.IntN(2)]
		c.ask(http.MethodPost, path+"/disable", "")
		c.pause(time.Duration(c.rng.IntN(300)) * grid)
		c.ask(http.MethodPost, path+"/enable", "")
	}
}
