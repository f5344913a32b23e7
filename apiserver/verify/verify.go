// Package verify checks a running Carillon from outside, as its users see it: it
// makes jobs of every form through the API, runs the target that they call, keeps
// its own log of what the API acknowledged and of what arrived, works out by its
// own means what should have arrived, reads history back, and judges.
//
// It must not know how Carillon plans: of the module it imports the client of the
// API and nothing else.
package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/apiserver/client"
)

// Config configures a Checker. API is required.
type Config struct {
	// API calls the API to check. Its timeout should be short: what is not
	// answered is asked again.
	API *client.Client
	// Seed makes the jobs and what is done to them; the same seed makes the same.
	// 0 is a seed like others.
	Seed uint64
	For  time.Duration // how long jobs are run and changed; default 30 s
	Jobs int           // how many; default 100, which has every form once
	// Forms, if not empty, are the forms of jobs to make, such as "count".
	Forms []string

	Listen string // address of the target; default 127.0.0.1:0
	// TargetURL is where workers reach the target; default what it listens on.
	TargetURL string

	// MaxLate and MaxP99 make lateness beyond them a violation; 0: it is only
	// measured.
	MaxLate, MaxP99 time.Duration
	// MaxDuplicates is how many attempts may arrive again under the same tag. A
	// worker that dies in the middle of one is the reason for such.
	MaxDuplicates int
	// MaxUnanswered is how many attempts may fail without an answer of the target.
	MaxUnanswered int
	// ClockSkew is how far the clocks of the cluster may be from this machine's.
	ClockSkew time.Duration
	// Grace is how late planners may be. What was due no longer than that before
	// its definition was changed may have run, or not; default a tenth of For, but
	// at most 2 s.
	Grace time.Duration
	// Settle is how long what is due at the end may take to happen and to be
	// recorded, and how long the API may be silent then; default 30 s.
	Settle time.Duration
	// StateLost says that Redis may lose its state meanwhile. Retries may then go
	// on with a newer definition's action, which is otherwise a violation.
	StateLost bool

	Progress io.Writer // lines for people; nil: none
}

// Checker checks. Create one with New; run it with Run, once.
type Checker struct {
	cfg  Config
	name string // of the run, part of all names that it makes
}

// New returns a Checker, or an error that names every field that is wrong.
func New(cfg Config) (*Checker, error) {
	var errs []error
	if cfg.API == nil {
		errs = append(errs, errors.New("api is required"))
	}
	if min(cfg.For, cfg.MaxLate, cfg.MaxP99, cfg.ClockSkew, cfg.Grace, cfg.Settle) < 0 || min(cfg.Jobs, cfg.MaxDuplicates, cfg.MaxUnanswered) < 0 {
		errs = append(errs, errors.New("times and numbers must not be negative"))
	}
	cfg.For, cfg.Jobs = cmp.Or(cfg.For, 30*time.Second), cmp.Or(cfg.Jobs, 100)
	if cfg.For < time.Second || cfg.For > 24*time.Hour {
		errs = append(errs, errors.New("for must be 1s to 24h"))
	}
	if cfg.Jobs > maxJobs {
		errs = append(errs, fmt.Errorf("jobs must be at most %d", maxJobs))
	}
	for _, name := range cfg.Forms {
		if !slices.Contains(Forms(), name) {
			errs = append(errs, fmt.Errorf("there is no form %q, only %s", name, strings.Join(Forms(), ", ")))
		}
	}
	cfg.Listen = cmp.Or(cfg.Listen, "127.0.0.1:0")
	if err := reachable(cfg.Listen, cfg.TargetURL); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("verify config: %w", err)
	}
	cfg.Grace = cmp.Or(cfg.Grace, min(cfg.For/10, 2*time.Second))
	cfg.Settle = cmp.Or(cfg.Settle, 30*time.Second)
	if cfg.Progress == nil {
		cfg.Progress = io.Discard
	}
	// Two runs with one seed at a time must not meet.
	return &Checker{cfg: cfg, name: fmt.Sprintf("carillon-verify-%d-%06x", cfg.Seed, rand.Uint32N(1<<24))}, nil //nolint:gosec // no secret hangs on it
}

// ErrUnreachable is why a run ended before it began.
var ErrUnreachable = errors.New("the API does not answer")

// maxJobs bounds what one checker keeps in memory.
const maxJobs = 10_000

// reachable checks that workers may find the target.
func reachable(listen, target string) error {
	if target != "" {
		u, err := url.Parse(target)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return errors.New("target url must be such as http://10.0.0.5:9000")
		}
		return nil
	}
	host, _, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err != nil || host == "" || ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("listen %q names no one address: give a target url too", listen)
	}
	return nil
}

// Forms lists the forms of jobs that there are.
func Forms() []string {
	var list []string
	for _, f := range forms() {
		list = append(list, f.name)
	}
	return list
}

// Run checks, and returns what it found. It makes collections of its own, and
// deletes them before it returns, whatever happens. When ctx ends it does so at
// once, and returns an error, [ErrUnreachable] if nobody answered from the first.
// An error besides a Report says that something was left behind.
func (c *Checker) Run(ctx context.Context) (_ *Report, err error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for jobs: %w", err)
	}
	s := &session{
		api: c.cfg.API, target: newTarget(c.name), ledger: &ledger{switches: make(map[string][]change)},
		url: strings.TrimRight(cmp.Or(c.cfg.TargetURL, "http://"+ln.Addr().String()), "/"), slots: make(chan struct{}, atOnce),
	}
	// The target outlives ctx, so that nothing fails for want of it meanwhile.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, serving := errgroup.WithContext(serving)
	g.Go(func() error { return s.target.serve(serving, ln) })
	report, err := c.check(ctx, s)
	if report == nil && ctx.Err() != nil {
		err = fmt.Errorf("stopped before the end: %w", err)
	}
	stop()
	return report, errors.Join(err, g.Wait())
}

// check runs the checks between making collections and deleting them.
func (c *Checker) check(ctx context.Context, s *session) (report *Report, err error) {
	p := newPlan(c)
	defer func() {
		switch left := c.clean(ctx, s, p); {
		case err == nil:
			err = left
		case left != nil:
			err = fmt.Errorf("%w; %w", err, left)
		}
	}()
	if err := c.prepare(ctx, s, p); err != nil {
		return nil, err
	}
	c.say("seed %d: %d jobs in %d collections named %s-*, for %v", c.cfg.Seed, len(p.canaries), len(p.refs), c.name, p.length)
	if err := c.act(ctx, s, p); err != nil {
		return nil, err
	}
	v, err := c.conclude(ctx, s, p)
	if err != nil {
		return nil, err
	}
	return c.report(s, p, v), nil
}

func (c *Checker) say(format string, args ...any) {
	fmt.Fprintf(c.cfg.Progress, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

func (c *Checker) bounds() bounds {
	return bounds{
		margins: margins{skew: c.cfg.ClockSkew, grace: c.cfg.Grace},
		maxLate: c.cfg.MaxLate, maxP99: c.cfg.MaxP99,
		maxDuplicates: c.cfg.MaxDuplicates, maxUnanswered: c.cfg.MaxUnanswered, stateLost: c.cfg.StateLost,
	}
}
