// Package webhook is the HTTP and HTTPS action: it makes a job's call and tells
// history what came of it. It knows Azure's headers and message formats;
// connections, redirects and bounds are outbound's.
package webhook

import (
	"context"
	"net/http"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// Action makes HTTP calls. Create one with New.
type Action struct {
	client *outbound.Client
	agent  string
}

var _ action.Action = (*Action)(nil)

// New returns an Action that calls with client. Its User-Agent is agent,
// "Carillon/1.2.3" say, where a job sets none.
func New(client *outbound.Client, agent string) *Action {
	return &Action{client: client, agent: agent}
}

// Do makes the call. A final status of 2xx is a success (AZURE, schedules). 429
// and 503 with a Retry-After postpone if the attempt may be tried again, and
// fail otherwise (our decision). Everything else fails.
func (a *Action) Do(ctx context.Context, d *job.Dispatch) action.Report {
	req, refusal := a.request(ctx, d)
	if refusal != "" {
		return action.Failure(&d.Action, refusal)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return action.Failure(&d.Action, outbound.Reason(ctx, err))
	}
	report := action.Report{Outcome: job.Failed, Message: answered(action.Target(&d.Action), resp, concealer(d.Action.Request.Authentication))}
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
