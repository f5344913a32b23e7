package servicebus_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
	"github.com/carillon-scheduler/carillon/worker/action/actiontest"
	"github.com/carillon-scheduler/carillon/worker/action/bustest"
	"github.com/carillon-scheduler/carillon/worker/action/servicebus"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The key that the peers accept. It is used as it is written: it is no base64.
const (
	keyName = "RootManageSharedAccessKey"
	secret  = "s3cret key, no base64!+/=&?"
)

// plain sends to full host names without TLS.
const plain = "amqp://{namespace}.servicebus.test"

func newAction(t testing.TB, cfg servicebus.Config) *servicebus.Action {
	t.Helper()
	if cfg.Network == nil {
		cfg.Network = outbound.NewNetwork(outbound.NetworkConfig{})
	}
	if cfg.Endpoint == "" {
		cfg.Endpoint = plain
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 20 * time.Second
	}
	a, err := servicebus.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := a.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return a
}

func newPeer(t testing.TB, cfg bustest.Config) *bustest.Server {
	t.Helper()
	if cfg.Keys == nil {
		cfg.Keys = map[string]string{keyName: secret}
	}
	s, err := bustest.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

var tags atomic.Int64

// newDispatch returns the second of three attempts to send a message to a queue.
func newDispatch(namespace, entity string) *job.Dispatch {
	d := &job.Dispatch{Action: job.Action{Type: job.ServiceBusQueue, Bus: &job.ServiceBusMessage{
		Entity: entity, Namespace: namespace, AuthType: "sharedAccessKey", SASKeyName: keyName, SASKey: secret, Message: "membership",
	}}}
	d.Tag = fmt.Sprintf("%032x", tags.Add(1))
	d.At = time.Date(2015, 9, 10, 0, 0, 0, 0, time.UTC)
	d.Phase, d.RetryCount, d.Retries = job.MainAction, 1, 2
	d.Job, d.Collection = "job", "collection"
	return d
}

// do performs d and checks what must hold of every report.
func do(t testing.TB, a action.Action, d *job.Dispatch) action.Report {
	t.Helper()
	r := a.Do(t.Context(), d)
	if !strings.HasPrefix(r.Message, string(d.Action.Type)+" Action - Message to '") {
		t.Errorf("PowerShell does not know this message: %q", r.Message)
	}
	for _, form := range actiontest.Forms(secret) {
		if strings.Contains(r.Message, form) {
			t.Errorf("secret in message: %q", r.Message)
		}
	}
	if strings.Contains(r.Message, "SharedAccessSignature") || strings.Contains(r.Message, "sig=") {
		t.Errorf("signature in message: %q", r.Message)
	}
	return r
}

// deliver performs d, which must succeed.
func deliver(t testing.TB, a action.Action, d *job.Dispatch) {
	t.Helper()
	if r := do(t, a, d); r.Outcome != job.Succeeded {
		t.Errorf("%s: %s", r.Outcome, r.Message)
	}
}

// eventually waits until check returns nil.
func eventually(t testing.TB, check func() error) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// certificate returns one for the host of loopback.
func certificate(t testing.TB) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}
