package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"
)

// mutant is Carillon without one of its safeguards, and a run that needs it.
type mutant struct {
	name  string
	edits []edit
	// breaks is what is broken, in a run of so long a load. The same has to go well
	// with the safeguard in place.
	breaks []*event
	length time.Duration
	layout layout
	load   func(*load)
	// expect are the kinds of violations of which the checker has to report one.
	expect []string
}

// tries is how many seeds a mutant is given to show itself.
const tries = 3

// mutants are the safeguards to be missed.
func mutants() []*mutant {
	return []*mutant{epochMutant(), messageIDMutant(), watchdogMutant(), ackMutant(), revisionMutant()}
}

// epochMutant lets a planner go on writing whose lease has passed to another. It
// shows when the link to Redis is so slow that two planners cannot renew: they try
// to bring shards up to date that the third one works on by then. The check of the
// place in ready.lua stands behind it, and is taken away too.
func epochMutant() *mutant {
	m := &mutant{
		name: "epoch check", length: 16 * time.Second, load: func(*load) {},
		expect: []string{"counters", "doubled, same tag", "doubled, different tag", "history", "count"},
	}
	for _, script := range []string{
		"adopt", "dispatched", "plan", "ready", "record", "reset", "restore_collection", "restore_job", "restore_progress", "settle",
	} {
		m.edits = append(m.edits, edit{"shared/store/lua/" + script + ".lua", "if redis.call('HGET', lease, 'epoch') ~= ", "if 'off' == "})
	}
	m.edits = append(m.edits, edit{"shared/store/lua/ready.lua", "if ARGV[6] ~= '' and ", "if false and "})
	slow := &fault{name: "slow link", begin: toxics(toxic{Type: "latency", Stream: "upstream", Attributes: map[string]int{"latency": 1500}})}
	for _, who := range []string{"planner1-redis", "planner2-redis"} {
		m.breaks = append(m.breaks, &event{fault: slow, who: who, at: 2 * time.Second, lasts: 11 * time.Second})
	}
	return m
}

// messageIDMutant has a dispatch that is sent twice stored twice. It is when what a
// planner sent is so long on its way that another one has its lease by then.
func messageIDMutant() *mutant {
	m := &mutant{
		name:   "message id",
		edits:  []edit{{"shared/queue/dispatch.go", "\t\tm.id = d.ID()\n", ""}},
		length: 12 * time.Second, load: func(*load) {},
		expect: []string{"doubled, same tag"},
	}
	slow := &fault{name: "slow link", begin: toxics(toxic{Type: "latency", Stream: "upstream", Attributes: map[string]int{"latency": 7000}})}
	for _, who := range []string{"planner1", "planner2"} {
		m.breaks = append(m.breaks,
			&event{fault: slow, who: who + "-nats", at: 2 * time.Second, lasts: 8 * time.Second},
			&event{fault: &fault{name: "cut", begin: cutPair}, who: who + "-redis", at: 2500 * time.Millisecond, lasts: 8 * time.Second})
	}
	return m
}

// watchdogMutant never looks for a dispatch that has no result. It is missed when
// dispatches vanish that no worker has had.
func watchdogMutant() *mutant {
	m := &mutant{
		name:   "watchdog",
		edits:  []edit{{"planner/dispatch.go", "\t\t\tlost = append(lost, w)\n", ""}},
		length: 10 * time.Second, layout: layout{watchAfter: 2 * time.Second},
		load:   func(l *load) { l.maxDuplicates = workers * concurrency },
		expect: []string{"lost", "retry or error action missing"},
	}
	for _, who := range each("worker", workers)(1) {
		m.breaks = append(m.breaks, &event{fault: &fault{name: "kill worker", begin: kill}, who: who, at: 3 * time.Second, lasts: 2 * time.Second})
	}
	m.breaks = append(m.breaks, &event{fault: &fault{name: "purge dispatches", begin: purge}, who: dispatchStream, at: 4500 * time.Millisecond})
	return m
}

// ackMutant acknowledges a dispatch before its result is stored. That is missed
// when workers die in the middle; the watchdog, which would find that out too, is
// told to take its time.
func ackMutant() *mutant {
	m := &mutant{
		name:   "ack after result",
		edits:  []edit{{"shared/queue/consume.go", "\t\tverdict := c.work(m, meta)\n", "\t\tc.settle(m, job.Verdict{})\n\t\tverdict := c.work(m, meta)\n"}},
		length: 10 * time.Second, layout: layout{watchAfter: time.Hour},
		load: func(l *load) {
			l.maxDuplicates, l.forms, l.jobs = workers*concurrency, []string{"slow", "every-past"}, 40
		},
		expect: []string{"history", "lost", "retry or error action missing"},
	}
	for _, who := range each("worker", workers)(1) {
		m.breaks = append(m.breaks, &event{fault: &fault{name: "kill worker", begin: kill}, who: who, at: 4 * time.Second, lasts: 200 * time.Millisecond})
	}
	return m
}

// revisionMutant plans from definitions that have changed. Nothing has to break.
func revisionMutant() *mutant {
	return &mutant{
		name:   "revision check",
		edits:  []edit{{"shared/store/lua/plan.lua", "if have[1] ~= rev or ", "if "}},
		length: 10 * time.Second,
		load:   func(l *load) { l.grace = time.Second },
		expect: []string{"stopped", "mixed revisions", "unscheduled"},
	}
}

// runScenario runs what needs a safeguard, with a binary that has it or not.
func (s *suite) runScenario(ctx context.Context, m *mutant, binary, dir string, seed uint64) *result {
	p := &plan{seed: seed, length: m.length, layout: m.layout}
	p.layout.natsNodes, p.layout.binary = 1, binary
	for _, e := range m.breaks {
		same := *e
		p.events = append(p.events, &same)
	}
	l := load{seed: seed, length: m.length, jobs: jobs, settle: 20 * time.Second, grace: grace}
	m.load(&l)
	r := &result{Seed: seed, BeganAt: time.Now().UTC(), Logs: filepath.Join(s.dir, dir)}
	if err := s.conduct(ctx, r.Logs, p, l, r); err != nil {
		r.Error = err.Error()
	}
	r.EndedAt = time.Now().UTC()
	if len(r.Report.Violations) == 0 && r.Error == "" && !s.keep {
		_ = os.RemoveAll(r.Logs) // nobody needs them
	}
	return r
}

// mutation is what came of a mutant.
type mutation struct {
	Safeguard string   `json:"safeguard"`
	Found     []string `json:"found"` // violations of the kinds expected
	Seed      uint64   `json:"seed"`
	Took      seconds  `json:"tookSeconds"`
	// Sound is whether the same run goes well with the safeguard in place.
	Sound bool   `json:"sound"`
	Error string `json:"error,omitempty"`
}

func (m *mutation) ok() bool { return m.Sound && len(m.Found) > 0 && m.Error == "" }

// mutations shows for each safeguard that the suite misses it.
func (s *suite) mutations(ctx context.Context, list []*mutant, w io.Writer, form string) (ok bool, err error) {
	binaries := make([]string, len(list))
	for i, m := range list {
		if binaries[i], err = build(ctx, s.root, s.bin(), "mutant-"+strings.ReplaceAll(m.name, " ", "-"), m.edits); err != nil {
			return false, err
		}
	}
	found := make([]*mutation, len(list))
	var g errgroup.Group
	g.SetLimit(3) // most of a run is waiting
	for i, m := range list {
		g.Go(func() error { found[i] = s.mutate(ctx, m, binaries[i]); return nil })
	}
	_ = g.Wait() // they return no errors
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	ok = !slices.ContainsFunc(found, func(m *mutation) bool { return !m.ok() })
	if form == "json" {
		return ok, writeJSON(w, found)
	}
	return ok, writeMutations(w, found)
}

// mutate runs the safeguard's run with it, and then without until that shows.
func (s *suite) mutate(ctx context.Context, m *mutant, binary string) *mutation {
	began := time.Now()
	x := &mutation{Safeguard: m.name}
	defer func() { x.Took = seconds(time.Since(began)) }()
	r := s.runScenario(ctx, m, s.binary, "with-"+strings.TrimPrefix(filepath.Base(binary), "mutant-"), 1)
	if x.Sound = r.ok(); !x.Sound {
		x.Error = "with the safeguard in place: " + r.complaint()
		r.write(s.out)
		return x
	}
	for x.Seed = 1; x.Seed <= tries && ctx.Err() == nil; x.Seed++ {
		r := s.runScenario(ctx, m, binary, fmt.Sprintf("%s-%d", filepath.Base(binary), x.Seed), x.Seed)
		for _, v := range r.Report.Violations {
			if slices.Contains(m.expect, v.Kind) {
				x.Found = append(x.Found, fmt.Sprintf("%s: %s (%s): %s", v.Kind, v.Job, v.Form, v.Detail))
			}
		}
		if len(x.Found) > 0 {
			if !s.keep {
				_ = os.RemoveAll(r.Logs)
			}
			return x
		}
		r.write(s.out)
	}
	x.Error = "nobody missed it"
	return x
}

func writeMutations(w io.Writer, list []*mutation) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SAFEGUARD\tWITH IT\tWITHOUT IT\tFOR INSTANCE")
	for _, m := range list {
		with, without := "well", fmt.Sprintf("%d violations", len(m.Found))
		if !m.Sound {
			with = "BAD"
		}
		example := m.Error
		if len(m.Found) > 0 {
			example = m.Found[0]
		} else if m.Sound {
			without = "NOT MISSED"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", m.Safeguard, with, without, example)
	}
	return t.Flush()
}
