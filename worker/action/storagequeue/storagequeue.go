// Package storagequeue is the StorageQueue action: it puts a job's message on a
// queue of Azure Storage, or of what speaks its protocol, and tells history
// what came of it. It knows Azure's envelope, SAS tokens and error codes; which
// addresses may be called, and TLS, are outbound's.
package storagequeue

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// DefaultEndpoint is where Azure's accounts have their queues.
const DefaultEndpoint = "https://{account}.queue.core.windows.net"

// Config configures an Action. Its zero value is valid.
type Config struct {
	// Endpoint is the URL below which an account has its queues, http or https.
	// It holds {account} once, in its host or its path. Default
	// [DefaultEndpoint].
	Endpoint string
	// Timeout covers the whole of an attempt. Default, also if negative,
	// [outbound.DefaultTimeout].
	Timeout time.Duration
	// Concurrency is how many attempts are made at once at most; as many idle
	// connections are kept to a host. It limits nothing. Default, also if
	// negative, 256.
	Concurrency int
	// Agent is sent as User-Agent, "Carillon/1.2.3" say. Default "Carillon".
	Agent string
	// Network makes the connections. nil: one of its own, with Timeout.
	Network *outbound.Network
}

// Action puts messages on queues. Create one with New. It is safe for
// concurrent use.
type Action struct {
	endpoint *endpoint
	timeout  time.Duration
	client   *caller
	options  azqueue.ClientOptions
}

var _ action.Action = (*Action)(nil)

// New returns an Action. Its error says what is wrong with the endpoint.
func New(cfg Config) (*Action, error) {
	at, err := parseEndpoint(cmp.Or(cfg.Endpoint, DefaultEndpoint))
	if err != nil {
		return nil, err
	}
	a := &Action{endpoint: at, timeout: cmp.Or(max(cfg.Timeout, 0), outbound.DefaultTimeout)}
	network := cfg.Network
	if network == nil {
		network = outbound.NewNetwork(outbound.NetworkConfig{Timeout: a.timeout})
	}
	a.client = newCaller(network, cmp.Or(max(cfg.Concurrency, 0), 256), cmp.Or(cfg.Agent, "Carillon"))
	a.options.ClientOptions = policy.ClientOptions{
		Retry:     policy.RetryOptions{MaxRetries: -1}, // none: trying again is the planner's
		Telemetry: policy.TelemetryOptions{Disabled: true},
		Transport: a.client,
	}
	return a, nil
}

// CloseIdle closes the connections that are not in use.
func (a *Action) CloseIdle() { a.client.transport.CloseIdleConnections() }

// Do puts the message on the queue. How long it stays there is left to the
// service, which is 7 days unless the account says otherwise. A service that is
// busy (503, 429) postpones if the attempt may be tried again, and fails
// otherwise (our decision).
func (a *Action) Do(ctx context.Context, d *job.Dispatch) action.Report {
	q := d.Action.Queue
	if q == nil {
		return action.Failure(&d.Action, "The job has no queue message.")
	}
	token, refusal := parseToken(string(q.SASToken), time.Now())
	if refusal != "" {
		return action.Failure(&d.Action, refusal)
	}
	text, refusal := messageText(d)
	if refusal != "" {
		return action.Failure(&d.Action, refusal)
	}
	queue, ok := a.endpoint.queue(q.StorageAccount, q.QueueName, token)
	if !ok {
		return action.Failure(&d.Action, "The name of the storage account or the queue is not valid.")
	}
	got, err := a.put(ctx, queue, action.RequestID(d), text)
	if err != nil {
		return a.unanswered(ctx, d, err)
	}
	return answered(d, got)
}

// An answer is what of a service's answer matters. Nothing in it is free text.
type answer struct {
	status int
	code   string // of the error, if it has one
	wait   string // value of Retry-After
}

// put makes the call. An error means that there was no answer.
func (a *Action) put(ctx context.Context, queue, requestID, text string) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, a.timeout, outbound.ErrTimeout)
	defer cancel()
	client, err := azqueue.NewQueueClientWithNoCredential(queue, &a.options)
	if err != nil {
		return answer{}, errors.New("make client") // err's text might hold the URL
	}
	var raw *http.Response
	call := policy.WithCaptureResponse(ctx, &raw)
	call = policy.WithHTTPHeader(call, http.Header{"X-Ms-Client-Request-Id": {requestID}})
	_, err = client.EnqueueMessage(call, text, nil)
	if raw != nil && raw.StatusCode == http.StatusCreated {
		return answer{status: raw.StatusCode}, nil // whatever became of the rest: the message is in the queue
	}
	if refused, ok := errors.AsType[*azcore.ResponseError](err); ok && refused.RawResponse != nil {
		return answer{
			status: refused.StatusCode,
			code:   refused.ErrorCode,
			wait:   refused.RawResponse.Header.Get("Retry-After"),
		}, nil
	}
	switch {
	case ctx.Err() != nil:
		return answer{}, context.Cause(ctx)
	case err == nil:
		return answer{}, outbound.ErrMalformed
	}
	return answer{}, err
}
