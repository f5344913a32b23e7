package storagequeue

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// What a failure of the token says besides why: what it takes.
const wanted = "It must be for this queue or its account, permit to add messages (sp=a), and its dates (st, se) must hold now."

// answered reports what the service answered. The words and quotes are those
// that AzureRM.Scheduler looks for (AZURE, history); the rest is ours.
func answered(d *job.Dispatch, got answer) action.Report {
	account, queue := d.Action.Queue.StorageAccount, d.Action.Queue.QueueName
	code := got.code
	if !isName(code) || len(code) > 64 {
		code = http.StatusText(got.status) // whatever it was, it was no code
	}
	status := strings.TrimSpace(strconv.Itoa(got.status) + " " + code)
	switch {
	case got.status == http.StatusCreated:
		return report(job.Succeeded, "Message to storage account '"+account+"' queue '"+queue+"' succeeded.")
	case code == string(queueerror.QueueNotFound):
		return report(job.Failed, "Queue '"+queue+"' does not exist in storage account '"+account+"'.")
	case code == string(queueerror.AccountIsDisabled):
		return action.Failure(&d.Action, "The storage account is disabled ("+status+").")
	case got.status == http.StatusForbidden, got.status == http.StatusUnauthorized:
		return action.Failure(&d.Action, "The service refused the SAS token ("+status+"). "+wanted)
	case got.status == http.StatusServiceUnavailable, got.status == http.StatusTooManyRequests:
		r := action.Failure(&d.Action, "The service is busy ("+status+").")
		if d.RetryCount < d.Retries {
			r.Outcome, r.RetryAfter = job.Postponed, retryAfter(got.wait)
		}
		return r
	default:
		return action.Failure(&d.Action, "The service answered "+status+".")
	}
}

// unanswered reports a call without an answer. An account is not found if the
// host that is its own has no address.
func (a *Action) unanswered(ctx context.Context, d *job.Dispatch, err error) action.Report {
	reason := outbound.Reason(ctx, err)
	account := d.Action.Queue.StorageAccount
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound && a.endpoint.ofAccount(account, dns.Name) {
		return report(job.Failed, "Storage account '"+account+"' could not be found: "+reason)
	}
	return action.Failure(&d.Action, reason)
}

func report(o job.Outcome, sentence string) action.Report {
	return action.Report{Outcome: o, Message: action.Text("StorageQueue Action - "+sentence, action.MaxMessage)}
}

// maxRetryAfter bounds how long a service may put a job off (our decision).
const maxRetryAfter = 24 * time.Hour

// retryAfter reads the value of a Retry-After header, which storage services
// give in seconds. What is no number of them is 0: it did not say.
func retryAfter(value string) time.Duration {
	seconds, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return maxRetryAfter
	}
	return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
}
