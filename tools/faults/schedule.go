package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"
)

// plan is what a seed means: a cluster, and what breaks in it.
type plan struct {
	seed   uint64
	length time.Duration // of the load
	layout layout
	events []*event
}

const (
	// perRun is how many faults a run has.
	perRun = 5
	// calm is how long nothing breaks before and after a fault whose recovery is
	// held to a bound.
	calm = 5500 * time.Millisecond
)

// newPlan makes up the run of a seed. Faults come in turn, so that so many seeds
// in a row have every kind of them. Half of the clusters have three nodes of NATS.
func newPlan(seed uint64, kinds []*fault) *plan {
	rng := rand.New(rand.NewPCG(seed, 2))
	p := &plan{seed: seed, layout: layout{natsNodes: 1 + 2*int(seed%2)}}
	chosen := deal(seed, kinds)
	for _, f := range chosen {
		if f.disk && (p.layout.disk == "" || f.whom(1)[0] == p.layout.disk) {
			p.layout.disk = f.whom(1)[0]
		}
	}
	if rng.IntN(3) == 0 {
		p.layout.skewed = []string{"planner1", "apiserver1", "worker1"}[rng.IntN(3)]
		p.layout.skew = time.Duration(1+rng.IntN(2)) * time.Second
		if rng.IntN(2) == 0 {
			p.layout.skew = -p.layout.skew
		}
	}
	at := 1500 * time.Millisecond
	for _, f := range chosen {
		if f.disk && f.whom(1)[0] != p.layout.disk {
			continue // one small disk is enough
		}
		who := f.whom(p.layout.natsNodes)
		e := &event{fault: f, who: who[rng.IntN(len(who))], at: at, lasts: between(rng, f.least, f.most)}
		p.events = append(p.events, e)
		switch {
		case f.name == killPlanner:
			at = e.at + max(calm, e.lasts) + between(rng, 0, time.Second)
		case rng.IntN(3) == 0: // the next one comes meanwhile
			at = e.at + between(rng, 0, e.lasts)
		default:
			at = e.at + e.lasts + between(rng, 200*time.Millisecond, 2500*time.Millisecond)
		}
	}
	p.length = max(20*time.Second, p.over()+2*time.Second).Truncate(time.Second)
	return p
}

// over is when the last fault ends.
func (p *plan) over() time.Duration {
	var last time.Duration
	for _, e := range p.events {
		last = max(last, e.at+e.lasts)
	}
	return last
}

// deal returns the faults of a seed, in any order: those of a row of seeds are all
// kinds in turn. One that is held to a bound comes first: nothing is broken yet.
func deal(seed uint64, kinds []*fault) []*fault {
	n := uint64(len(kinds))
	chosen := make([]*fault, 0, perRun)
	for i := seed * perRun; i < (seed+1)*perRun; i++ {
		order := rand.New(rand.NewPCG(i/n, 3)).Perm(len(kinds))
		chosen = append(chosen, kinds[order[i%n]])
	}
	for i, f := range chosen {
		if f.name == killPlanner {
			chosen[0], chosen[i] = chosen[i], chosen[0]
			break
		}
	}
	return chosen
}

// cost is what a plan's faults may bring about.
func (p *plan) cost() cost {
	var sum cost
	for _, e := range p.events {
		sum.again = sum.again || e.fault.cost.again
		sum.unanswered = sum.unanswered || e.fault.cost.unanswered
		sum.stateLost = sum.stateLost || e.fault.cost.stateLost
	}
	return sum
}

// crashes is how many of its faults may have something performed once more.
func (p *plan) crashes() int {
	n := 0
	for _, e := range p.events {
		if e.fault.cost.again {
			n++
		}
	}
	return n
}

func (p *plan) write(w io.Writer) {
	fmt.Fprintf(w, "seed %d: %d nats, load for %v%s\n", p.seed, p.layout.natsNodes, p.length, p.layout.oddities())
	for _, e := range p.events {
		fmt.Fprintf(w, "  %s\n", e)
	}
}

func (l *layout) oddities() string {
	var list []string
	if l.skewed != "" {
		list = append(list, fmt.Sprintf("%s's clock %v off", l.skewed, l.skew))
	}
	if l.disk != "" {
		list = append(list, "small disk for "+l.disk)
	}
	if len(list) == 0 {
		return ""
	}
	return ", " + strings.Join(list, ", ")
}

func cutName(pair string) (from, to string, ok bool) { return strings.Cut(pair, "-") }
