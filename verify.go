package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/carillon-scheduler/carillon/apiserver/client"
	"github.com/carillon-scheduler/carillon/apiserver/verify"
)

type verifyCmd struct {
	API          string        `name:"api" help:"URL of the API server." default:"http://127.0.0.1:8080"`
	Token        string        `help:"Bearer token for the API. Give it by the variable: others see the flags of a process." placeholder:"TOKEN"`
	APITimeout   time.Duration `name:"api-timeout" help:"How long one request to the API may take. It is sent again then." default:"5s" env:"-"`
	TargetListen string        `help:"Address to receive the jobs' requests on." default:"127.0.0.1:0"`
	TargetURL    string        `name:"target-url" help:"URL at which workers reach that address. Itself unless given." placeholder:"URL"`

	For    time.Duration `help:"How long to run jobs and change them. What is due then is waited for besides. It takes 5m at least where the API allows no recurrence faster than a minute." default:"30s" env:"-"`
	Jobs   int           `help:"How many jobs to make." default:"100" env:"-"`
	Seed   *uint64       `help:"Number that the jobs, and what is done to them, are made from: the same for a run to be repeated. Any other unless given." placeholder:"N" env:"-"`
	Forms  []string      `help:"Forms of jobs to make, such as count,retry; all unless given." placeholder:"FORM" env:"-"`
	Output string        `short:"o" help:"Form of the report: table for people or json for programs." enum:"table,json" default:"table" env:"-"`

	MaxLate       time.Duration `help:"How late the latest request may be; 0 measures only." default:"0" env:"-"`
	MaxP99        time.Duration `name:"max-p99" help:"How late all but one in a hundred may be; 0 measures only." default:"0" env:"-"`
	MaxDuplicates int           `help:"How many attempts may arrive again under the same tag: as many as workers that may die in the middle of one." default:"0" env:"-"`
	MaxUnanswered int           `help:"How many attempts may fail without an answer of the checker's target." default:"0" env:"-"`
	ClockSkew     time.Duration `help:"How far the clocks of the cluster may be from this machine's: 0 where it is all one machine." default:"0" env:"-"`
	Grace         time.Duration `help:"How late planners may be: what is due no longer than that before a change may run or not. A tenth of --for, but at most 2s, unless given." placeholder:"DURATION" env:"-"`
	Settle        time.Duration `help:"How long what is due at the end may take to happen and to be recorded, and the API to be silent." default:"30s" env:"-"`
	StateLost     bool          `help:"Redis may lose its state meanwhile: retries may go on with a newer action then." env:"-"`
}

// errViolated ends a verify that found something.
var errViolated = errors.New("the report has violations")

// Run checks a running Carillon and reports.
func (c *verifyCmd) Run(ctx context.Context, s *streams) error {
	api, err := client.New(client.Config{BaseURL: c.API, Token: c.Token, Timeout: c.APITimeout})
	if err != nil {
		return &usageError{fmt.Sprintf("--api: %v", err)}
	}
	defer api.CloseIdle()
	seed := uint64(rand.Uint32()) //nolint:gosec // no secret hangs on it
	if c.Seed != nil {
		seed = *c.Seed
	}
	checker, err := verify.New(verify.Config{
		API: api, Seed: seed, For: c.For, Jobs: c.Jobs, Forms: c.Forms, Listen: c.TargetListen, TargetURL: c.TargetURL,
		MaxLate: c.MaxLate, MaxP99: c.MaxP99, MaxDuplicates: c.MaxDuplicates, MaxUnanswered: c.MaxUnanswered,
		ClockSkew: c.ClockSkew, Grace: c.Grace, Settle: c.Settle, StateLost: c.StateLost, Progress: s.err,
	})
	if err != nil {
		return &usageError{err.Error()}
	}
	report, err := checker.Run(ctx)
	if errors.Is(err, verify.ErrUnreachable) {
		return fmt.Errorf("%w. Start one, or name another with --api or CARILLON_API", err)
	}
	if report == nil {
		return err
	}
	if err := errors.Join(err, c.write(s, report)); err != nil {
		return err
	}
	if !report.OK() {
		return errViolated
	}
	return nil
}

func (c *verifyCmd) write(s *streams, r *verify.Report) error {
	if c.Output == "json" {
		e := json.NewEncoder(s.out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	return r.WriteTable(s.out)
}
