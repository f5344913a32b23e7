package webhook

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/pfx"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// certificateNamed returns an authentication that stub opens.
func certificateNamed(name string) *job.Authentication {
	return &job.Authentication{Type: job.ClientCertificate, PFX: job.Secret(name)}
}

// stub opens any file, after a while, as a certificate that ends at a time. It
// counts how often.
func stub(t *testing.T, takes time.Duration, ends time.Time) (open func(string, string) (*pfx.Identity, error), opened *atomic.Int32) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: ends}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	opened = new(atomic.Int32)
	return func(file, _ string) (*pfx.Identity, error) {
		opened.Add(1)
		time.Sleep(takes)
		if file == "bad" {
			return nil, pfx.ErrCostly
		}
		return &pfx.Identity{Key: key, Chain: []*x509.Certificate{leaf}}, nil
	}, opened
}

// Opening a file costs computation, also in vain.
func TestFileIsOpenedOnceForAll(t *testing.T) {
	for _, name := range []string{"good", "bad"} {
		synctest.Test(t, func(t *testing.T) {
			c := newCertificates(outbound.NewClient(outbound.Config{}))
			defer c.close()
			var opened *atomic.Int32
			c.open, opened = stub(t, time.Second, time.Now().AddDate(1, 0, 0))
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() {
					_, done, err := c.use(t.Context(), certificateNamed(name))
					if (err == nil) != (name == "good") {
						t.Errorf("%s: %v", name, err)
					}
					if err == nil {
						done()
					}
				})
			}
			wg.Wait()
			time.Sleep(certificateIdle / 2)
			if _, done, err := c.use(t.Context(), certificateNamed(name)); err == nil {
				done()
			}
			if n := opened.Load(); n != 1 {
				t.Errorf("%s: opened %d times", name, n)
			}
			time.Sleep(certificateIdle)
			synctest.Wait()
			if n := len(c.clients.entries); n != 0 {
				t.Errorf("%s: %d are kept", name, n)
			}
		})
	}
}

// What is kept may expire meanwhile.
func TestKeptCertificateExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCertificates(outbound.NewClient(outbound.Config{}))
		defer c.close()
		c.open, _ = stub(t, 0, time.Now().Add(time.Minute))
		_, done, err := c.use(t.Context(), certificateNamed("x"))
		if err != nil {
			t.Fatal(err)
		}
		done()
		time.Sleep(time.Minute + 1)
		if _, _, err := c.use(t.Context(), certificateNamed("x")); err == nil {
			t.Error("presented after its end")
		}
	})
}

func TestNobodyWaitsForAFileLongerThanTheCallMayTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCertificates(outbound.NewClient(outbound.Config{}))
		c.open, _ = stub(t, time.Hour, time.Now().AddDate(1, 0, 0))
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, outbound.ErrTimeout)
		defer cancel()
		start := time.Now()
		if _, _, err := c.use(ctx, certificateNamed("x")); !errors.Is(err, outbound.ErrTimeout) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		c.close() // waits for what it began
		if time.Since(start) != time.Hour {
			t.Errorf("closed after %v", time.Since(start))
		}
	})
}

// A certificate that is dropped takes its connections along, but none in use.
func TestDroppedCertificateClosesItsConnections(t *testing.T) {
	closed := make(chan string, 9)
	release := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-release
		}
		io.WriteString(w, r.RemoteAddr)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- c.RemoteAddr().String()
		}
	}
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.StartTLS()
	defer s.Close()
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	client := outbound.NewClient(outbound.Config{Network: outbound.NewNetwork(outbound.NetworkConfig{RootCAs: pool})})
	c := newCertificates(client)
	defer c.close()
	c.open, _ = stub(t, 0, time.Now().AddDate(1, 0, 0))
	c.clients.size = 1

	call := func(name, path string) string {
		client, done, err := c.use(t.Context(), certificateNamed(name))
		if err != nil {
			t.Error(err)
			return ""
		}
		defer done()
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
		resp, err := client.Do(req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return ""
		}
		return string(resp.Body)
	}
	wantClosed := func(conn string) {
		t.Helper()
		select {
		case got := <-closed:
			if got != conn {
				t.Errorf("closed %s, want %s", got, conn)
			}
		case <-time.After(3 * time.Second): // it would be closed after 4 for want of use
			t.Error("nothing was closed")
		}
	}
	first := call("one", "/")
	slow := make(chan string)
	go func() { slow <- call("two", "/slow") }()
	wantClosed(first) // as soon as the other is begun and one's use has ended
	three := call("three", "/")
	wantClosed(three) // more than the size allows, and the other is in use
	close(release)
	if conn := <-slow; conn == "" {
		t.Error("a call in use was cut")
	}
}
