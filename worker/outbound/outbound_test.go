package outbound

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	c := NewClient(cfg)
	t.Cleanup(c.CloseIdle)
	return c
}

func newServer(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// newRequest returns a request with headers given as names and values in turn.
func newRequest(t *testing.T, method, uri, body string, headers ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, uri, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header[headers[i]] = []string{headers[i+1]}
	}
	return req
}

// newListener serves each connection with serve and returns the address.
func newListener(t *testing.T, serve func(n int, c net.Conn, r *bufio.Reader)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(n, c, bufio.NewReader(c))
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// AZURE §7: HTTP timeout 60 s.
func TestTimeoutIsAMinuteUnlessSet(t *testing.T) {
	for _, cfg := range []Config{{}, {Timeout: -1, Concurrency: -1}} {
		if c := newClient(t, cfg); c.timeout != time.Minute {
			t.Errorf("timeout %v", c.timeout)
		}
	}
}

// AZURE §7: the timeout covers waiting for the answer, and reading its body
// however slowly it trickles.
func TestTimeoutCoversHeaderAndBody(t *testing.T) {
	release := make(chan struct{})
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/trickle" {
			for range 1000 {
				if _, err := w.Write([]byte(".")); err != nil {
					return
				}
				w.(http.Flusher).Flush()
				select {
				case <-release:
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	c := newClient(t, Config{Timeout: 150 * time.Millisecond})
	for _, path := range []string{"/silent", "/trickle"} {
		t.Run(path, func(t *testing.T) {
			start := time.Now()
			_, err := c.Do(newRequest(t, "GET", s.URL+path, ""))
			if !errors.Is(err, ErrTimeout) {
				t.Errorf("got %v", err)
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

func TestDoReturnsTheCauseOfItsContext(t *testing.T) {
	release := make(chan struct{})
	s := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
	if _, err := newClient(t, Config{}).Do(newRequest(t, "GET", s.URL, "").WithContext(ctx)); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// AZURE §7: response kept ≤ 2048 bytes of UTF-16. The rest is not read.
func TestBodyIsReadOnlyToTheBound(t *testing.T) {
	var sent atomic.Int64
	addr := newListener(t, func(_ int, c net.Conn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err != nil {
			return
		}
		c.(*net.TCPConn).SetWriteBuffer(16 << 10)
		n, _ := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n")
		sent.Store(int64(n))
		for chunk := bytes.Repeat([]byte("x"), 16<<10); sent.Load() < 100<<20; {
			n, err := c.Write(chunk)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})
	resp, err := newClient(t, Config{}).Do(newRequest(t, "GET", "http://"+addr, ""))
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Body) != MaxBody {
		t.Errorf("kept %d bytes", len(resp.Body))
	}
	if n := sent.Load(); n > 20<<20 { // what the sockets' buffers take
		t.Errorf("%d bytes were sent", n)
	}
}

// A target that has answered and then stalls is not waited for.
func TestStalledRestOfABodyIsNotWaitedFor(t *testing.T) {
	release := make(chan struct{})
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, MaxBody+1))
		w.(http.Flusher).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	start := time.Now()
	resp, err := newClient(t, Config{Timeout: 20 * time.Second}).Do(newRequest(t, "GET", s.URL, ""))
	if err != nil || resp.Status != 200 || len(resp.Body) != MaxBody {
		t.Fatalf("got %v, %v", resp, err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestHeaderFloodIsCut(t *testing.T) {
	addr := newListener(t, func(_ int, c net.Conn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err != nil {
			return
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		for line := "X-Flood: " + strings.Repeat("x", 1000) + "\r\n"; ; {
			if _, err := io.WriteString(c, line); err != nil {
				return
			}
		}
	})
	if _, err := newClient(t, Config{}).Do(newRequest(t, "GET", "http://"+addr, "")); !errors.Is(err, ErrHeaderTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestSwitchedProtocolIsNotRead(t *testing.T) {
	addr := newListener(t, func(_ int, c net.Conn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err != nil {
			return
		}
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
		io.Copy(io.Discard, r)
	})
	resp, err := newClient(t, Config{Timeout: 5 * time.Second}).Do(newRequest(t, "GET", "http://"+addr, ""))
	if err != nil || resp.Status != 101 {
		t.Errorf("got %v, %v", resp, err)
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	var conns atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write(make([]byte, 2*MaxBody)) // more than is kept
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	c := newClient(t, Config{})
	for range 5 {
		if _, err := c.Do(newRequest(t, "POST", s.URL, "x")); err != nil {
			t.Fatal(err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestTLS(t *testing.T) {
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.Config.ErrorLog = quiet()
	old.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	old.StartTLS()
	defer old.Close()

	modern := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Proto)
	}))
	modern.Config.ErrorLog = quiet()
	modern.EnableHTTP2 = true
	modern.StartTLS()
	defer modern.Close()

	pool := x509.NewCertPool()
	pool.AddCert(modern.Certificate())
	c := newClient(t, Config{Network: NewNetwork(NetworkConfig{RootCAs: pool})})

	t.Run("HTTP/1.1 only", func(t *testing.T) {
		resp, err := c.Do(newRequest(t, "GET", modern.URL, ""))
		if err != nil || string(resp.Body) != "HTTP/1.1" {
			t.Errorf("got %v, %v", resp, err)
		}
	})
	t.Run("untrusted", func(t *testing.T) {
		_, err := newClient(t, Config{}).Do(newRequest(t, "GET", modern.URL, ""))
		if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
			t.Errorf("got %v", err)
		}
	})
	t.Run("below 1.2", func(t *testing.T) {
		_, err := c.Do(newRequest(t, "GET", old.URL, ""))
		if _, ok := errors.AsType[*HandshakeError](err); !ok {
			t.Errorf("got %v", err)
		}
	})
	t.Run("refused connection is no handshake", func(t *testing.T) {
		_, err := c.Do(newRequest(t, "GET", "https://127.0.0.1:1", ""))
		if _, ok := errors.AsType[*HandshakeError](err); ok || err == nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	c := newClient(t, Config{})
	if c.http.Transport.(*http.Transport).Proxy != nil {
		t.Error("a proxy function is set")
	}
}

// An error is for logs and messages, and webhooks keep their keys in queries.
func TestErrorsHoldNoURL(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			w.Header().Set("Location", r.URL.String())
			w.WriteHeader(http.StatusFound)
		case "/bad":
			w.Header().Set("Location", "http://a b/?s3cret")
			w.WriteHeader(http.StatusFound)
		}
	})
	c := newClient(t, Config{})
	for _, uri := range []string{
		s.URL + "/loop?key=s3cret", s.URL + "/bad?key=s3cret",
		"http://127.0.0.1:1/s3cret?key=s3cret", "http://malformed.invalid/s3cret?s3cret", "gopher://h/?s3cret",
	} {
		_, err := c.Do(newRequest(t, "GET", uri, "s3cret"))
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("got %v", err)
		}
		if strings.Contains(uri, "malformed.invalid") && errors.Is(err, ErrMalformed) {
			t.Errorf("a name was taken for the fault: %v", err)
		}
	}
}
