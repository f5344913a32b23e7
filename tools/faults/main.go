package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// settings are the flags.
type settings struct {
	root, logs, binary, output string
	only                       string
	lasts                      time.Duration
	seed                       uint64
	runs                       int
	mutants, keep              bool
	schedule                   bool
}

func parse(args []string, stderr io.Writer) (*settings, error) {
	s := new(settings)
	f := flag.NewFlagSet("faults", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&s.root, "root", "../..", "the repository")
	f.StringVar(&s.logs, "logs", "", "folder for the logs, of which those of bad runs are kept; a new one unless given")
	f.StringVar(&s.binary, "binary", "", "a carillon to use in place of building one")
	f.DurationVar(&s.lasts, "for", 0, "begin runs until so much time has passed")
	f.IntVar(&s.runs, "runs", 1, "how many runs to make at least")
	f.Uint64Var(&s.seed, "seed", anySeed(), "seed of the first run; each one has the next. To go on with an earlier series, give the seed after its last")
	f.BoolVar(&s.keep, "keep", false, "keep the logs of good runs too")
	f.BoolVar(&s.mutants, "mutants", false, "show that the suite can fail, in place of runs")
	f.StringVar(&s.only, "only", "", "kinds of faults, or safeguards, separated by commas; others are left out")
	f.BoolVar(&s.schedule, "schedule", false, "print what would be done, and do nothing")
	f.StringVar(&s.output, "o", "table", "form of the report: table or json")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 || s.output != "table" && s.output != "json" || s.runs < 1 {
		err := errors.New("there are no arguments, -o is table or json, and -runs at least 1")
		fmt.Fprintln(stderr, "faults:", err)
		return nil, err
	}
	return s, nil
}

// run is main without the process. It returns 0 if all was well, 1 if not, and 2 if
// it was called wrongly.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	set, err := parse(args, stderr)
	if err != nil {
		return 2
	}
	ok, err := set.carryOut(ctx, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "faults:", err)
	}
	if err != nil || !ok {
		return 1
	}
	return 0
}

func (set *settings) carryOut(ctx context.Context, stdout, stderr io.Writer) (ok bool, err error) {
	kinds, err := set.kinds(stderr)
	if err != nil {
		return false, err
	}
	if set.schedule {
		for i := range set.runs {
			newPlan(set.seed+uint64(i), kinds).write(stdout)
		}
		return true, nil
	}
	if set.logs == "" {
		if set.logs, err = os.MkdirTemp("", "carillon-faults-"); err != nil {
			return false, err
		}
	}
	s, err := set.prepare(ctx, stderr)
	if err != nil {
		return false, err
	}
	defer func() {
		err = errors.Join(err, os.RemoveAll(s.bin()))
		_ = os.Remove(s.dir) // unless something is kept there
	}()
	if set.mutants {
		list := slices.DeleteFunc(mutants(), func(m *mutant) bool { return !set.wants(m.name) })
		return s.mutations(ctx, list, stdout, set.output)
	}
	sum := &summary{}
	for began, seed := time.Now(), set.seed; ctx.Err() == nil && (len(sum.Runs) < set.runs || time.Since(began) < set.lasts); seed++ {
		p := newPlan(seed, kinds)
		p.write(stderr)
		if err := s.equip(ctx, p); err != nil {
			return false, err
		}
		r := s.run(ctx, p)
		if ctx.Err() != nil {
			break // it was broken off
		}
		sum.add(r)
		r.write(stderr)
	}
	return sum.ok(), errors.Join(sum.write(stdout, set.output), context.Cause(ctx))
}

// kinds are the faults that there can be on this machine.
func (set *settings) kinds(stderr io.Writer) ([]*fault, error) {
	dir, err := os.MkdirTemp("", "carillon-faults-disk-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(dir) }() // an empty folder at worst
	disks := true
	if err := canMount(dir); err != nil {
		disks = false
		fmt.Fprintln(stderr, "no full disks here:", err)
	}
	list := slices.DeleteFunc(faults(), func(f *fault) bool { return f.disk && !disks || !set.wants(f.name) })
	if len(list) == 0 && !set.mutants {
		return nil, fmt.Errorf("there are no faults named %s", set.only)
	}
	return list, nil
}

// wants reports whether something is among what -only names.
func (set *settings) wants(name string) bool {
	return set.only == "" || slices.Contains(strings.Split(set.only, ","), name)
}

// prepare finds the programs and builds carillon.
func (set *settings) prepare(ctx context.Context, stderr io.Writer) (*suite, error) {
	root, err := filepath.Abs(set.root)
	if err != nil {
		return nil, err
	}
	s := &suite{programs: programs{root: root}, dir: set.logs, starter: newStarter(), out: stderr, binary: set.binary, keep: set.keep}
	if s.redis, err = program(root, "redis-server"); err != nil {
		return nil, err
	}
	if s.nats, err = program(root, "nats-server"); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.bin(), 0o700); err != nil {
		return nil, err
	}
	if s.binary == "" {
		s.binary, err = build(ctx, root, s.bin(), "carillon", nil)
	}
	return s, err
}

// equip gives a plan the binary that it needs.
func (s *suite) equip(ctx context.Context, p *plan) (err error) {
	p.layout.binary = s.binary
	if p.layout.skewed == "" {
		return nil
	}
	if s.skewable == "" {
		if s.skewable, err = build(ctx, s.root, s.bin(), "carillon-skewed", skewEdits()); err != nil {
			return err
		}
	}
	p.layout.binary = s.skewable
	return nil
}
