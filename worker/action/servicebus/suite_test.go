package servicebus_test

import (
	"crypto/tls"
	"sync/atomic"
	"testing"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action/actiontest"
	"github.com/carillon-scheduler/carillon/worker/action/bustest"
	"github.com/carillon-scheduler/carillon/worker/action/servicebus"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// A target is a Service Bus with an entity in every mood, named after it, and
// one named "willing/topic".
type target struct {
	address   string
	messages  func(t testing.TB) []bustest.Message
	endpoint  string
	network   *outbound.Network
	connected func(t testing.TB) (made int)
	drop      func(t testing.TB)
	detach    func(t testing.TB) // of willing
}

// The same holds of every action; here of queues and topics, with TLS and
// without, at two Service Buses that know nothing of each other.
func TestSuite(t *testing.T) {
	for name, start := range map[string]func(t testing.TB, secure bool) target{"bustest": startBustest, "rhea": startRhea} {
		for _, test := range []struct {
			name, entity string
			kind         job.ActionType
			secure       bool
		}{
			{"queue", "willing", job.ServiceBusQueue, false},
			{"topic with TLS", "willing/topic", job.ServiceBusTopic, true},
		} {
			t.Run(name+" "+test.name, func(t *testing.T) {
				t.Parallel()
				runSuite(t, start(t, test.secure), test.kind, test.entity)
			})
		}
	}
}

func runSuite(t *testing.T, to target, kind job.ActionType, willing string) {
	const another = "another key, wrong as well"
	var refusals atomic.Int64
	actiontest.Run(t, actiontest.Rig{
		Action: newAction(t, servicebus.Config{Endpoint: to.endpoint, Network: to.network, Timeout: actiontest.Timeout}),
		Dispatch: func(_ *testing.T, m actiontest.Mood) *job.Dispatch {
			d := newDispatch(to.address, string(m))
			d.Action.Type, d.RetryCount = kind, 0
			switch m {
			case actiontest.Willing:
				d.Action.Bus.Entity = willing
			case actiontest.Refusing:
				if refusals.Add(1)%2 == 0 {
					d.Action.Bus.SASKey = another
				}
			case actiontest.Unreachable:
				d.Action.Bus.Namespace = "127.0.0.1:1"
			case actiontest.Forbidden:
				d.Action.Bus.Namespace = "169.254.169.254"
			case actiontest.Hanging, actiontest.Breaking, actiontest.Busy:
			}
			return d
		},
		Delivered: func() int { return len(to.messages(t)) },
		Secrets:   []string{secret, another},
		Prefix:    string(kind) + " Action - ",
	})
}

func startBustest(t testing.TB, secure bool) target {
	t.Helper()
	to := target{endpoint: plain, network: outbound.NewNetwork(outbound.NetworkConfig{})}
	var cfg bustest.Config
	if secure {
		cert, pool := certificate(t)
		cfg.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
		to.endpoint = servicebus.DefaultEndpoint
		to.network = outbound.NewNetwork(outbound.NetworkConfig{RootCAs: pool})
	}
	s := newPeer(t, cfg)
	s.Missing("refusing")
	s.Behave("hanging", bustest.Behavior{Hang: true})
	s.Behave("breaking", bustest.Behavior{Break: true})
	s.Behave("busy", bustest.Behavior{Reject: "com.microsoft:server-busy"})
	to.address = s.Address()
	to.messages = func(testing.TB) []bustest.Message { return s.Messages() }
	to.connected = func(testing.TB) int { _, made := s.Connections(); return made }
	to.drop = func(testing.TB) { s.Drop() }
	to.detach = func(testing.TB) { s.Detach("willing", "amqp:link:detach-forced") }
	return to
}
