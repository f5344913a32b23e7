package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	jobs = 100
	// settle is how long what was disturbed may take to end well: a retry waits
	// for 30 s where nothing else was asked for, and may be disturbed once more.
	settle = 90 * time.Second
	// grace is how late planners may be while something is broken.
	grace = 10 * time.Second
	// perSecond is more than the requests that the load makes in a second.
	perSecond = 150
)

// suite runs plans.
type suite struct {
	programs
	dir      string // of everything
	starter  starter
	binary   string
	skewable string // the same with a clock that can be set wrong; empty: not built yet
	keep     bool   // the files of good runs
	out      io.Writer
}

// bin is the folder of what was built.
func (s *suite) bin() string { return filepath.Join(s.dir, "bin") }

// load says what `carillon verify` makes and what it tolerates.
type load struct {
	seed          uint64
	length        time.Duration
	jobs          int
	forms         []string
	settle, grace time.Duration
	maxDuplicates int
	maxUnanswered int
	clockSkew     time.Duration
	stateLost     bool
}

// loadOf is the load of a plan. What it tolerates is what its faults may bring
// about, and nothing where they may not.
func loadOf(p *plan) load {
	l := load{seed: p.seed, length: p.length, jobs: jobs, settle: settle, grace: grace, stateLost: p.cost().stateLost}
	l.maxDuplicates = p.crashes() * workers * concurrency
	for _, e := range p.events {
		if e.fault.cost.unanswered {
			l.maxUnanswered += perSecond * int(e.lasts/time.Second+1+6) // 5 s of time for an answer
		}
		if e.fault.cost.halted {
			l.maxUnanswered += concurrency
		}
	}
	if strings.HasPrefix(p.layout.skewed, "worker") { // whose clock history tells
		l.clockSkew = p.layout.skew.Abs() + 500*time.Millisecond
	}
	return l
}

// run runs a plan and returns what came of it. Its files are kept if that was
// bad.
func (s *suite) run(ctx context.Context, p *plan) *result {
	r := &result{Seed: p.seed, NATSNodes: p.layout.natsNodes, Crashes: p.crashes(), BeganAt: time.Now().UTC()}
	dir := filepath.Join(s.dir, fmt.Sprintf("seed-%d", p.seed))
	err := s.conduct(ctx, dir, p, loadOf(p), r)
	if err != nil {
		r.Error = err.Error()
	}
	r.judge(p)
	r.EndedAt = time.Now().UTC()
	if r.ok() && !s.keep {
		err = os.RemoveAll(dir)
	} else {
		r.Logs = dir
		err = r.save(filepath.Join(dir, "result.json"))
	}
	if err != nil {
		r.Error = strings.TrimSpace(r.Error + " " + err.Error())
	}
	return r
}

// conduct starts a cluster and a load, breaks things in time, and reads the
// checker's report.
func (s *suite) conduct(ctx context.Context, dir string, p *plan, l load, r *result) (err error) {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	c, err := startCluster(ctx, dir, s.programs, s.starter, p.layout)
	if err != nil {
		return fmt.Errorf("start cluster: %w", err)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	v, out, err := c.startLoad(ctx, l)
	if err != nil {
		return err
	}
	var supervising sync.WaitGroup
	defer supervising.Wait()
	watched, stop := context.WithCancel(ctx)
	defer stop()
	supervising.Go(func() { c.supervise(watched) })
	// A fault that cannot be mended makes everything after it worthless.
	err = c.carryOut(ctx, p.events, time.Now(), s.out)
	if err != nil {
		v.kill()
		return err
	}
	if !v.wait(l.length + 3*l.settle) {
		v.kill()
		return errors.New("the checker does not end")
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &r.Report); err != nil {
		return fmt.Errorf("the checker has no report, see its log: %w", err)
	}
	return c.panicked()
}

// startLoad starts the checker, and returns when it is at work.
func (c *cluster) startLoad(ctx context.Context, l load) (v *process, out string, err error) {
	out = filepath.Join(c.dir, "report.json")
	args := []string{
		"verify", "-o", "json", "--api", "http://" + c.frontAt, "--api-timeout", "2s",
		"--target-listen", c.targetAt, "--target-url", "http://" + c.targetVia,
		"--seed", strconv.FormatUint(l.seed, 10), "--for", l.length.String(), "--jobs", strconv.Itoa(l.jobs),
		"--settle", l.settle.String(), "--grace", l.grace.String(), "--clock-skew", l.clockSkew.String(),
		"--max-duplicates", strconv.Itoa(l.maxDuplicates), "--max-unanswered", strconv.Itoa(l.maxUnanswered),
	}
	if l.stateLost {
		args = append(args, "--state-lost")
	}
	if len(l.forms) > 0 {
		args = append(args, "--forms", strings.Join(l.forms, ","))
	}
	// A shell keeps report and log apart.
	v = &process{
		name: "verify", path: "/bin/sh", log: filepath.Join(c.dir, "verify.log"),
		args: append([]string{"-c", `out=$0; exec "$@" >"$out"`, out, c.binary}, args...),
	}
	c.all, c.named[v.name] = append(c.all, v), v
	if err := v.start(c.starter); err != nil {
		return nil, "", err
	}
	return v, out, eventually(ctx, 30*time.Second, func(context.Context) error {
		text, err := os.ReadFile(v.log)
		if err == nil && !strings.Contains(string(text), "  seed ") {
			err = fmt.Errorf("the checker does not begin: %s", text)
		}
		return err
	})
}

// carryOut breaks and mends things when it is their time, and returns when all is
// mended.
func (c *cluster) carryOut(ctx context.Context, events []*event, began time.Time, out io.Writer) error {
	g, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex
	say := func(e *event, what string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(out, "  %s  %s %s: %s\n", time.Now().UTC().Format(clockForm), e.fault.name, e.who, what)
	}
	for _, e := range events {
		g.Go(func() error {
			if !sleep(ctx, time.Until(began.Add(e.at))) {
				return context.Cause(ctx)
			}
			e.beganAt = time.Now()
			say(e, "begins")
			end, err := e.fault.begin(ctx, c, e)
			if err != nil {
				return fmt.Errorf("%s %s: %w", e.fault.name, e.who, err)
			}
			sleep(ctx, time.Until(e.beganAt.Add(e.lasts)))
			if err := end(context.WithoutCancel(ctx)); err != nil {
				return fmt.Errorf("end %s %s: %w", e.fault.name, e.who, err)
			}
			e.endedAt = time.Now()
			say(e, "over")
			return nil
		})
	}
	return g.Wait()
}

// supervise starts what ended by itself, as whoever runs processes for others
// does: Carillon's end when a server that they need is not there at their start.
// It returns when ctx ends.
func (c *cluster) supervise(ctx context.Context) {
	for sleep(ctx, 250*time.Millisecond) {
		for _, p := range c.all {
			if p.name != "verify" && p.gone() {
				_ = p.start(c.starter) // or else the next time
			}
		}
	}
}

// panicked returns an error if a process of Carillon has ended in a way that it
// never should.
func (c *cluster) panicked() error {
	var errs []error
	for _, p := range c.all {
		text, err := os.ReadFile(p.log)
		if err != nil {
			return err
		}
		if p.path == c.binary && (bytes.Contains(text, []byte("\npanic: ")) || bytes.Contains(text, []byte("\nfatal error: "))) {
			errs = append(errs, fmt.Errorf("%s panicked", p.name))
		}
	}
	return errors.Join(errs...)
}

// anySeed is a seed like any other.
func anySeed() uint64 { return uint64(rand.Uint32N(1 << 20)) }
