package servicebus_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action/bustest"
	"github.com/carillon-scheduler/carillon/worker/action/servicebus"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// hole is a server that serves each connection so.
func hole(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// AZURE §5: network failures in the words of .NET's WebExceptionStatus.
func TestNetworkFailures(t *testing.T) {
	swallow := func(c net.Conn) { io.Copy(io.Discard, c) }
	web := func(c net.Conn) {
		c.Read(make([]byte, 8))
		io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		swallow(c)
	}
	plainPeer := newPeer(t, bustest.Config{})
	cert, pool := certificate(t)
	secure := newPeer(t, bustest.Config{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
	hanging := newPeer(t, bustest.Config{})
	hanging.Behave("q", bustest.Behavior{Hang: true})
	mute := newPeer(t, bustest.Config{})
	mute.Behave("q", bustest.Behavior{Mute: true})
	breaking := newPeer(t, bustest.Config{})
	breaking.Behave("q", bustest.Behavior{Break: true})

	const closed = "The underlying connection was closed: "
	const maybe = ". The message may have been delivered all the same."
	tooOld := &tls.Config{Certificates: []tls.Certificate{cert}, MaxVersion: tls.VersionTLS12}
	for _, test := range []struct {
		name, endpoint, namespace, want string
		network                         outbound.NetworkConfig
	}{
		{name: "refused", namespace: "127.0.0.1:1", want: "ConnectFailure Unable to connect to the remote server"},
		{name: "no such namespace", endpoint: "amqps://{namespace}.servicebus.invalid", namespace: "ns", want: "NameResolutionFailure The remote name could not be resolved: 'ns.servicebus.invalid'"},
		{name: "no such host", namespace: "ns.invalid:7", want: "NameResolutionFailure The remote name could not be resolved: 'ns.invalid'"},
		{name: "metadata", namespace: "169.254.169.254", want: "ConnectFailure Unable to connect to the remote server: " + (&outbound.RefusedError{Always: true}).Error() + "."},
		{name: "metadata by the endpoint", endpoint: "amqp://169.254.169.254", namespace: "ns", want: "ConnectFailure Unable to connect to the remote server: " + (&outbound.RefusedError{Always: true}).Error() + "."},
		{name: "silent", namespace: hole(t, swallow), want: "Timeout The operation has timed out"},
		{name: "silent in the handshake", endpoint: servicebus.DefaultEndpoint, namespace: hole(t, swallow), want: "Timeout The operation has timed out"},
		{name: "silent about the token", namespace: mute.Address(), want: "Timeout The operation has timed out"},
		{name: "silent after the message", namespace: hanging.Address(), want: "Timeout The operation has timed out" + maybe},
		{name: "closed at once", namespace: hole(t, func(c net.Conn) { c.Read(make([]byte, 8)) }), want: "ConnectionClosed " + closed + "The connection was closed unexpectedly."},
		{name: "closed after the message", namespace: breaking.Address(), want: "ConnectionClosed " + closed + "The connection was closed unexpectedly" + maybe},
		{name: "not AMQP", namespace: hole(t, web), want: "ServerProtocolViolation The server committed a protocol violation."},
		{name: "untrusted", endpoint: servicebus.DefaultEndpoint, namespace: secure.Address(), want: "TrustFailure " + closed + "Could not establish trust relationship for the SSL/TLS secure channel."},
		{name: "another host's certificate", endpoint: "amqps://localhost:" + port(secure.Address()), namespace: "ns", network: outbound.NetworkConfig{RootCAs: pool}, want: "TrustFailure " + closed + "Could not establish trust relationship for the SSL/TLS secure channel."},
		{name: "no TLS", endpoint: servicebus.DefaultEndpoint, namespace: plainPeer.Address(), want: "SecureChannelFailure The request was aborted: Could not create SSL/TLS secure channel."},
		{name: "TLS too old", endpoint: servicebus.DefaultEndpoint, namespace: newPeer(t, bustest.Config{TLS: tooOld}).Address(), network: outbound.NetworkConfig{RootCAs: pool, MinVersion: tls.VersionTLS13}, want: "SecureChannelFailure The request was aborted: Could not create SSL/TLS secure channel."},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := servicebus.Config{Endpoint: test.endpoint, Network: outbound.NewNetwork(test.network)}
			if strings.HasPrefix(test.want, "Timeout") {
				cfg.Timeout = 200 * time.Millisecond
			}
			fails(t, newAction(t, cfg), newDispatch(test.namespace, "q"), test.want)
		})
	}
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// The operator's lists hold for Service Bus too.
func TestGuardRefuses(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	guard, err := outbound.NewGuard(nil, []string{"127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	a := newAction(t, servicebus.Config{Network: outbound.NewNetwork(outbound.NetworkConfig{Guard: guard})})
	fails(t, a, newDispatch(s.Address(), "q"), "ConnectFailure Unable to connect to the remote server: "+new(outbound.RefusedError).Error()+".")
	if _, made := s.Connections(); made != 0 {
		t.Errorf("%d connections", made)
	}
}

// What was cancelled says so, before it begins and while it waits.
func TestCancelled(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	s.Behave("q", bustest.Behavior{Hang: true})
	a := newAction(t, servicebus.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		eventually(t, func() error {
			if s.Links() == 0 {
				return context.Canceled
			}
			return nil
		})
	}()
	for range 2 {
		r := a.Do(ctx, newDispatch(s.Address(), "q"))
		if r.Outcome != job.Failed || !strings.Contains(r.Message, "failed: RequestCanceled The request was aborted: The request was canceled.") {
			t.Errorf("%s: %s", r.Outcome, r.Message)
		}
	}
	if _, made := s.Connections(); made != 1 {
		t.Errorf("%d connections", made)
	}
}
