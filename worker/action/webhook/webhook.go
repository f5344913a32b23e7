// Package webhook is the HTTP and HTTPS action: it makes a job's call, proves who
// calls, and tells history what came of it. It knows Azure's headers and message
// formats; connections, redirects and bounds are outbound's.
package webhook

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// Config configures an Action. Client and Agent are required.
type Config struct {
	// Client makes the calls, and lends its network and its timeout to those to
	// the authority and to those that present a certificate. Whoever made it
	// closes it.
	Client *outbound.Client
	// Agent is the User-Agent where a job sets none: "Carillon/1.2.3".
	Agent string
	// Authority is the URL of who gives tokens for ActiveDirectoryOAuth, to which
	// the tenant is added. It must be https, or on this machine. Default
	// [DefaultAuthority]; national clouds have others.
	Authority string
}

// Action makes HTTP calls. Create one with New; close it when no call is made
// any more. It keeps what it proves itself with, certificates and tokens, for a
// while.
type Action struct {
	client       *outbound.Client
	agent        string
	certificates *certificates
	tokens       *tokens
}

var _ action.Action = (*Action)(nil)

// New returns an Action, or an error that names every field that is wrong.
func New(cfg Config) (*Action, error) {
	if cfg.Client == nil || cfg.Agent == "" {
		return nil, errors.New("client and agent are required")
	}
	from, err := newAuthority(cmp.Or(cfg.Authority, DefaultAuthority), cfg.Client)
	if err != nil {
		return nil, err
	}
	return &Action{
		client: cfg.Client, agent: cfg.Agent,
		certificates: newCertificates(cfg.Client),
		tokens:       newTokens(from.fetch, cfg.Client.Timeout()),
	}, nil
}

// Close ends calls to the authority, and forgets certificates and tokens. It
// blocks until all that the Action began is over. No call of Do may be under way
// or follow.
func (a *Action) Close() {
	a.tokens.close()
	a.certificates.close()
}

// Do makes the call. A final status of 2xx is a success (AZURE, schedules). 429
// and 503 with a Retry-After postpone if the attempt may be tried again, and
// fail otherwise (our decision). Everything else fails. What it takes to prove
// who calls is part of the time that a call may take.
func (a *Action) Do(outer context.Context, d *job.Dispatch) action.Report {
	ctx, cancel := context.WithTimeoutCause(outer, a.client.Timeout(), outbound.ErrTimeout)
	defer cancel()
	req, authenticate, err := a.request(ctx, d)
	if err != nil {
		return failure(outer, d, err)
	}
	p := &proof{client: a.client}
	if auth := d.Action.Request.Authentication; auth != nil {
		if p, err = a.prove(ctx, req, auth, authenticate); err != nil {
			return failure(outer, d, err)
		}
	}
	resp, err := p.client.Do(req)
	p.end(resp)
	if err != nil {
		return failure(outer, d, err)
	}
	report := action.Report{Outcome: job.Failed, Message: answered(action.Target(&d.Action), resp, p.conceal)}
	switch {
	case resp.Status >= 200 && resp.Status <= 299:
		report.Outcome = job.Succeeded
	case resp.Status == http.StatusTooManyRequests, resp.Status == http.StatusServiceUnavailable:
		wait, ok := retryAfter(resp.Header.Get("Retry-After"), time.Now())
		if ok && d.RetryCount < d.Retries {
			report.Outcome, report.RetryAfter = job.Postponed, wait
		}
	}
	return report
}

// A refusalError is why a call was not made: a sentence for history, without any
// secret.
type refusalError string

// Error returns the sentence.
func (e refusalError) Error() string { return string(e) }

// failure reports why a call got no answer. ctx is the worker's: when that is
// done it was not the target that was slow.
func failure(ctx context.Context, d *job.Dispatch, err error) action.Report {
	if e, ok := errors.AsType[refusalError](err); ok {
		return action.Failure(&d.Action, e.Error())
	}
	return action.Failure(&d.Action, outbound.Reason(ctx, err))
}
