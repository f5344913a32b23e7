// Package servicebus is the Service Bus action: it sends a job's message to a
// queue or topic over AMQP 1.0 and tells history what came of it. It knows
// Azure's properties, conditions and message formats; which addresses may be
// called is outbound's.
package servicebus

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// Defaults of a Config.
const (
	DefaultTimeout        = 60 * time.Second
	DefaultIdleTimeout    = 2 * time.Minute
	DefaultMaxConnections = 128
)

// Config configures an Action. Only Network is required.
type Config struct {
	// Network makes every connection.
	Network *outbound.Network
	// Endpoint says where namespaces are: SCHEME://HOST or SCHEME://HOST:PORT.
	// SCHEME is amqps (sb means the same), or amqp for emulators, which is not
	// encrypted. In HOST, {namespace} stands for the bare name that a job gives;
	// a job that gives a full host name goes there. A HOST without {namespace}
	// is an emulator, which takes the messages of every namespace. PORT is by
	// default 5671, and 5672 for amqp; that of a job's namespace outweighs it.
	// Default [DefaultEndpoint].
	Endpoint string
	// Timeout covers the whole of an attempt. Default, also if negative,
	// [DefaultTimeout].
	Timeout time.Duration
	// IdleTimeout is how long a connection is kept that nobody uses. Default,
	// also if negative, [DefaultIdleTimeout]; none is kept for longer than four
	// minutes.
	IdleTimeout time.Duration
	// MaxConnections is how many connections are kept. More are open only while
	// more are in use at once. Default, also if negative,
	// [DefaultMaxConnections].
	MaxConnections int
	// Agent is who connects: "Carillon/1.2.3", say. Optional.
	Agent string
}

// Action sends messages to Service Bus. Create one with New. It is safe for
// concurrent use.
type Action struct {
	network  *outbound.Network
	endpoint endpoint
	timeout  time.Duration
	agent    string
	pool     *pool
}

var _ action.Action = (*Action)(nil)

// New returns an Action. It connects when there is something to send.
func New(cfg Config) (*Action, error) {
	e, err := parseEndpoint(cmp.Or(cfg.Endpoint, DefaultEndpoint))
	if cfg.Network == nil {
		err = errors.Join(errors.New("service bus: a network is required"), err)
	}
	if err != nil {
		return nil, err
	}
	return &Action{
		network:  cfg.Network,
		endpoint: e,
		timeout:  cmp.Or(max(cfg.Timeout, 0), DefaultTimeout),
		agent:    cfg.Agent,
		pool: newPool(
			cmp.Or(max(cfg.MaxConnections, 0), DefaultMaxConnections),
			cmp.Or(max(cfg.IdleTimeout, 0), DefaultIdleTimeout),
		),
	}, nil
}

// Close closes every connection and returns when that is done. Attempts that
// are under way have until ctx ends, then it breaks their connections and
// returns ctx's error. What is to be sent after Close fails.
func (a *Action) Close(ctx context.Context) error { return a.pool.close(ctx) }

// maxTries is how many connections an attempt tries to send its message over:
// one that may have been lost since it was last used, and a new one.
const maxTries = 2

// Do sends d's message. It succeeds when the service has accepted it. A service
// that is busy postpones it if the attempt may be tried again (our decision).
// Everything else fails. Nothing is sent a second time unless it is certain that
// the first time nothing was sent.
func (a *Action) Do(ctx context.Context, d *job.Dispatch) action.Report {
	to, refusal := a.destination(&d.Action)
	if refusal != "" {
		return action.Failure(&d.Action, refusal)
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	if ctx.Err() != nil {
		return failure(ctx, d, nil, false)
	}
	m := message(d, time.Now())
	for try := 1; ; try++ {
		l, err := a.pool.acquire(ctx, to.key, func(ctx context.Context) (*connection, error) { return a.connect(ctx, to) })
		if err != nil {
			return failure(ctx, d, err, false)
		}
		tried, err := l.connection.send(ctx, m)
		a.pool.release(l, usable(err))
		switch {
		case err == nil:
			return success(d)
		case tried || ctx.Err() != nil || try == maxTries:
			return failure(ctx, d, err, tried)
		}
	}
}

// destination is where a message goes and with which right.
type destination struct {
	key  key
	host string // of the namespace: what tokens are made for
	bus  *job.ServiceBusMessage
}

// destination returns where a's message goes. If it goes nowhere, refusal is a
// sentence for history.
func (a *Action) destination(act *job.Action) (to destination, refusal string) {
	m := act.Bus
	switch {
	case m == nil || m.Entity == "":
		return to, "The job has no Service Bus message."
	case m.SASKeyName == "" || m.SASKey == "":
		return to, "The job gives no key: Service Bus takes messages only with a shared access key (authentication: sasKeyName, sasKey)."
	case m.SASKey.Sealed():
		return to, "The job's key could not be opened."
	case strings.Contains(m.SASKeyName, ";") || strings.Contains(string(m.SASKey), ";"):
		return to, "The job's key is not valid: neither it nor its name can have a semicolon."
	}
	host, address, ok := a.endpoint.resolve(m.Namespace)
	if !ok {
		return to, "The job's namespace is not valid."
	}
	k := key{address: address, entity: m.Entity, keyName: m.SASKeyName, key: sha256.Sum256([]byte(m.SASKey))}
	return destination{key: k, host: host, bus: m}, ""
}
