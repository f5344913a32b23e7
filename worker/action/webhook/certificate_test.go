package webhook_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// A party has a certificate and its key.
type party struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// newParty returns a party until the given time, that by vouches for, or itself
// if that is nil.
func newParty(t testing.TB, name string, by *party, until time.Time) *party {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: until.AddDate(-9, 0, 0), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	parent, signer := template, crypto.Signer(key)
	if by != nil {
		parent, signer = by.certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	p := &party{key: key}
	if p.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return p
}

func nextYear() time.Time { return time.Now().AddDate(1, 0, 0) }

// pfxOf returns an authentication by a file that holds key and certificates.
func pfxOf(t testing.TB, e *pkcs12.Encoder, key crypto.Signer, certificates ...*x509.Certificate) *job.Authentication {
	t.Helper()
	der, err := e.Encode(key, certificates[0], certificates[1:], secret)
	if err != nil {
		t.Fatal(err)
	}
	return &job.Authentication{Type: job.ClientCertificate, PFX: job.Secret(base64.StdEncoding.EncodeToString(der)), Password: secret}
}

// proofOf returns an authentication by p's certificate.
func proofOf(t testing.TB, p *party) *job.Authentication {
	t.Helper()
	return pfxOf(t, pkcs12.LegacyRC2, p.key, p.certificate)
}

// A gate is a server that asks for certificates and notes who came how.
type gate struct {
	*httptest.Server
	mu      sync.Mutex
	callers []caller
}

type caller struct {
	names string // of the certificates that were presented, "" for none
	conn  string // address of the other end
	path  string
}

func (g *gate) seen() []caller {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.callers)
}

// newGate returns a gate that answers with answer, or 200 if that is nil.
func newGate(t testing.TB, cfg *tls.Config, answer http.HandlerFunc) *gate {
	t.Helper()
	g := new(gate)
	g.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := caller{conn: r.RemoteAddr, path: r.URL.Path}
		if r.TLS != nil {
			for _, certificate := range r.TLS.PeerCertificates {
				c.names = strings.TrimSpace(c.names + " " + certificate.Subject.CommonName)
			}
		}
		g.mu.Lock()
		g.callers = append(g.callers, c)
		g.mu.Unlock()
		if answer != nil {
			answer(w, r)
		}
	}))
	g.Config.ErrorLog = log.New(io.Discard, "", 0)
	if cfg != nil {
		g.TLS = cfg
		g.StartTLS()
	} else {
		g.Start()
	}
	t.Cleanup(g.Close)
	return g
}

// trusting returns a configuration that trusts the servers of tests.
func trusting(gates ...*gate) outbound.Config {
	pool := x509.NewCertPool()
	for _, g := range gates {
		if g.Certificate() != nil {
			pool.AddCert(g.Certificate())
		}
	}
	return outbound.Config{Network: outbound.NewNetwork(outbound.NetworkConfig{RootCAs: pool})}
}

func poolOf(p *party) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(p.certificate)
	return pool
}

// AZURE §8: "ClientCertificate (PFX, old RC2/3DES files too)", with its chain: a
// server that knows the root alone can check it.
func TestCertificateIsPresentedWithItsChain(t *testing.T) {
	root := newParty(t, "root", nil, nextYear())
	lower := newParty(t, "lower", root, nextYear())
	leaf := newParty(t, "leaf", lower, nextYear())
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		g := newGate(t, &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: poolOf(root), MaxVersion: version}, nil)
		a := newAction(t, trusting(g))
		for name, auth := range map[string]*job.Authentication{
			"RC2":  pfxOf(t, pkcs12.LegacyRC2, leaf.key, leaf.certificate, lower.certificate),
			"3DES": pfxOf(t, pkcs12.LegacyDES, leaf.key, root.certificate, lower.certificate, leaf.certificate),
			"AES":  pfxOf(t, pkcs12.Modern2023, leaf.key, lower.certificate, leaf.certificate, root.certificate),
		} {
			r := do(t, a, newDispatch(job.Request{Method: "POST", URI: g.URL, Body: "x", Authentication: auth}))
			all := g.seen()
			if r.Outcome != job.Succeeded || all[len(all)-1].names != "leaf lower" {
				t.Errorf("%s: %v, %s", name, all, r.Message)
			}
		}
	}
}

// A server may name authorities of which the file knows nothing. What the job
// asks for is presented, and it is for the server to refuse.
func TestCertificateIsPresentedWhateverAuthoritiesAreNamed(t *testing.T) {
	leaf, stranger := newParty(t, "leaf", nil, nextYear()), newParty(t, "stranger", nil, nextYear())
	g := newGate(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert, ClientCAs: poolOf(stranger)}, nil)
	if r := do(t, newAction(t, trusting(g)), newDispatch(job.Request{Method: "GET", URI: g.URL, Authentication: proofOf(t, leaf)})); r.Outcome != job.Succeeded {
		t.Error(r.Message)
	}
	strict := newGate(t, &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: poolOf(stranger)}, nil)
	r := do(t, newAction(t, trusting(strict)), newDispatch(job.Request{Method: "GET", URI: strict.URL, Authentication: proofOf(t, leaf)}))
	// The alert may be lost behind the closed connection.
	if r.Outcome != job.Failed || !strings.Contains(r.Message, "failed: SecureChannelFailure ") && !strings.Contains(r.Message, "failed: SendFailure ") && !strings.Contains(r.Message, "failed: ReceiveFailure ") {
		t.Errorf("refused: %s", r.Message)
	}
}

// A connection stays with the certificate that it was made with.
func TestConnectionsAreNotSharedBetweenCertificates(t *testing.T) {
	g := newGate(t, &tls.Config{ClientAuth: tls.RequestClientCert}, nil)
	a := newAction(t, trusting(g))
	one, two := proofOf(t, newParty(t, "one", nil, nextYear())), proofOf(t, newParty(t, "two", nil, nextYear()))
	conns := map[string]string{}
	for _, auth := range []*job.Authentication{one, nil, two, one, two, nil, one} {
		if r := do(t, a, newDispatch(job.Request{Method: "GET", URI: g.URL, Authentication: auth})); r.Outcome != job.Succeeded {
			t.Fatal(r.Message)
		}
		all := g.seen()
		last := all[len(all)-1]
		want := map[*job.Authentication]string{one: "one", two: "two", nil: ""}[auth]
		if last.names != want {
			t.Errorf("presented %q, want %q", last.names, want)
		}
		if conn, ok := conns[want]; ok && conn != last.conn {
			t.Errorf("%q: the connection was not used again", want)
		}
		conns[want] = last.conn
	}
	if conns["one"] == conns["two"] || conns["one"] == conns[""] || conns["two"] == conns[""] {
		t.Errorf("shared: %v", conns)
	}
}

// AZURE §6: "credentials never follow to another host", and a certificate is one.
func TestCertificateDoesNotFollowToAnotherOrigin(t *testing.T) {
	asking := func() *tls.Config { return &tls.Config{ClientAuth: tls.RequestClientCert} }
	var home *gate
	far := newGate(t, asking(), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/back" {
			http.Redirect(w, r, home.URL+"/landed", http.StatusTemporaryRedirect)
		}
	})
	plain := newGate(t, nil, nil)
	home = newGate(t, asking(), func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	})
	a := newAction(t, trusting(home, far))
	auth := proofOf(t, newParty(t, "leaf", nil, nextYear()))
	for _, c := range []struct {
		name, to string
		at       *gate
		want     string
	}{
		{"the same origin", "/landed", home, "leaf"},
		{"the same origin, spelled out", home.URL + "/landed", home, "leaf"},
		{"another host", far.URL + "/landed", far, ""},
		{"without TLS", plain.URL + "/landed", plain, ""},
		{"back by way of another", far.URL + "/back", home, ""},
		{"the same origin once more", "/landed", home, "leaf"},
	} {
		r := do(t, a, newDispatch(job.Request{Method: "POST", URI: home.URL + "/?to=" + c.to, Body: "x", Authentication: auth}))
		if r.Outcome != job.Succeeded {
			t.Fatalf("%s: %s", c.name, r.Message)
		}
		all := c.at.seen()
		if last := all[len(all)-1]; last.path != "/landed" || last.names != c.want {
			t.Errorf("%s: %+v", c.name, last)
		}
		if first := slices.IndexFunc(home.seen(), func(c caller) bool { return c.path == "/" && c.names != "leaf" }); first >= 0 {
			t.Errorf("%s: not presented at first", c.name)
		}
	}
	for _, c := range far.seen() {
		if c.names != "" {
			t.Errorf("presented to another: %+v", c)
		}
	}
}

// A certificate that cannot be presented is why the call fails; nothing is called
// without it.
func TestCertificateThatCannotBePresented(t *testing.T) {
	g := newGate(t, &tls.Config{ClientAuth: tls.RequestClientCert}, nil)
	plain := newGate(t, nil, nil)
	a := newAction(t, trusting(g))
	leaf, other := newParty(t, "leaf", nil, nextYear()), newParty(t, "other", nil, nextYear())
	expired := newParty(t, "old", nil, time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))
	locked := proofOf(t, leaf)
	locked.Password = "another " + secret
	for _, c := range []struct {
		name, uri string
		auth      *job.Authentication
		want      string
	}{
		{"expired", g.URL, proofOf(t, expired), "it expired at 2020-01-02T03:04:05Z"},
		{"wrong password", g.URL, locked, "the password does not open its PFX file"},
		{"no PFX", g.URL, &job.Authentication{Type: job.ClientCertificate, PFX: "czNjcmV0"}, "its PFX file cannot be read"},
		{"no base64", g.URL, &job.Authentication{Type: job.ClientCertificate, PFX: secret + "!"}, "its PFX file cannot be read"},
		{"another's", g.URL, pfxOf(t, pkcs12.LegacyRC2, leaf.key, other.certificate), "its PFX file has no certificate of its private key"},
		{"no TLS", plain.URL, proofOf(t, leaf), "the job's uri does not begin with https://"},
	} {
		for range 2 { // the second time it is known
			r := do(t, a, newDispatch(job.Request{Method: "GET", URI: c.uri, Authentication: c.auth}))
			want := "Http Action - Request to host '127.0.0.1' failed: ClientCertificate The job's certificate cannot be presented: " + c.want + "."
			if r.Outcome != job.Failed || r.Message != want {
				t.Errorf("%s:\ngot  %s\nwant %s", c.name, r.Message, want)
			}
		}
	}
	if n := len(g.seen()) + len(plain.seen()); n != 0 {
		t.Errorf("%d calls", n)
	}
}
