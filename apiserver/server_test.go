package apiserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a server until the test ends and returns where, and a stop that
// returns what Run did.
func start(t *testing.T, cfg Config) (url string, stop func() error) {
	t.Helper()
	if cfg.Listener == nil {
		cfg.Listener = listen(t)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var ended error
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended = s.Run(ctx)
	}()
	stop = sync.OnceValue(func() error {
		cancel()
		<-done
		return ended
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + cfg.Listener.Addr().String(), stop
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// client keeps no connections, so that none outlives the test.
func client() *http.Client { return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} }

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	resp, err := client().Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestHealthIsAlwaysOK(t *testing.T) {
	url, _ := start(t, Config{Ready: []Check{{"redis", func(context.Context) error { return errors.New("away") }}}})
	if status, body := get(t, url+"/healthz"); status != 200 || body != "ok\n" {
		t.Errorf("%d %s", status, body)
	}
	resp, err := client().Post(url+"/healthz", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", resp.StatusCode, resp.Header)
	}
	// Without an API there is nothing else.
	if status, _ := get(t, url+"/subscriptions"); status != 404 {
		t.Errorf("elsewhere: %d", status)
	}
}

func TestReadyNamesEachCheckAndKeepsReasonsToTheLog(t *testing.T) {
	var log bytes.Buffer
	var redis error
	url, stop := start(t, Config{
		Log:   slog.New(slog.NewTextHandler(&log, nil)),
		Ready: []Check{{"redis", func(context.Context) error { return redis }}, {"nats", func(context.Context) error { return nil }}},
	})
	if status, body := get(t, url+"/readyz"); status != 200 || body != `{"ready":true,"checks":[{"name":"redis","ready":true},{"name":"nats","ready":true}]}`+"\n" {
		t.Errorf("%d %s", status, body)
	}
	redis = errors.New("dial 10.0.0.1")
	if status, body := get(t, url+"/readyz"); status != 503 || body != `{"ready":false,"checks":[{"name":"redis","ready":false},{"name":"nats","ready":true}]}`+"\n" {
		t.Errorf("%d %s", status, body)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "dial 10.0.0.1") || !strings.Contains(log.String(), "check=redis") {
		t.Error(log.String())
	}
}

// What is under pressure is ready, and says what holds it up.
func TestReadyTellsConditions(t *testing.T) {
	url, _ := start(t, Config{
		Ready:      []Check{{"redis", func(context.Context) error { return nil }}},
		Conditions: func(context.Context) []string { return []string{"redis: out of memory, for 12s"} },
	})
	if status, body := get(t, url+"/readyz"); status != 200 || body != `{"ready":true,"checks":[{"name":"redis","ready":true}],"conditions":["redis: out of memory, for 12s"]}`+"\n" {
		t.Errorf("%d %s", status, body)
	}
}

func TestReadyWithoutChecks(t *testing.T) {
	url, _ := start(t, Config{})
	if status, body := get(t, url+"/readyz"); status != 200 || body != `{"ready":true,"checks":[]}`+"\n" {
		t.Errorf("%d %s", status, body)
	}
}

func TestRequestsUnderWayFinishBeforeRunReturns(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	url, stop := start(t, Config{API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-leave
		if r.Context().Err() != nil {
			t.Error("the request was cut off within the grace")
		}
		fmt.Fprint(w, "done")
	})})
	answered := make(chan string)
	go func() {
		_, body := get(t, url+"/x")
		answered <- body
	}()
	<-entered
	ended := make(chan error)
	go func() { ended <- stop() }()
	select {
	case err := <-ended:
		t.Fatal("Run returned with a request under way:", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(leave)
	if body := <-answered; body != "done" {
		t.Errorf("answer %q", body)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if resp, err := client().Get(url + "/x"); err == nil {
		resp.Body.Close()
		t.Error("the server still takes connections")
	}
}

func TestRequestsThatOutlastTheGraceAreCutOff(t *testing.T) {
	entered := make(chan struct{})
	returned := false
	url, stop := start(t, Config{Grace: 20 * time.Millisecond, API: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		time.Sleep(20 * time.Millisecond)
		returned = true
	})})
	failed := make(chan error)
	go func() {
		resp, err := client().Get(url + "/x")
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	<-entered
	if err := stop(); err != nil {
		t.Error(err)
	}
	if !returned {
		t.Error("Run returned before the handler")
	}
	if err := <-failed; err == nil {
		t.Error("the client got an answer")
	}
}

func TestConnectionsThatDoNothingDoNotHoldUpTheStop(t *testing.T) {
	ln := listen(t)
	_, stop := start(t, Config{Listener: ln, Grace: 10 * time.Second})
	idle, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	if _, err := io.WriteString(idle, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := idle.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := stop(); err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestRunSaysWhyItCouldNotServe(t *testing.T) {
	ln := listen(t)
	ln.Close()
	s, err := New(Config{Listener: ln, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run: %v", err)
	}
}

func TestATLSListenerMakesTheRequestTLS(t *testing.T) {
	borrowed := httptest.NewTLSServer(nil)
	defer borrowed.Close()
	ln := tls.NewListener(listen(t), &tls.Config{Certificates: borrowed.TLS.Certificates, MinVersion: tls.VersionTLS12})
	url, _ := start(t, Config{Listener: ln, API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.TLS != nil)
	})})
	c := borrowed.Client()
	defer c.CloseIdleConnections()
	resp, err := c.Get(strings.Replace(url, "http:", "https:", 1) + "/x")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); string(b) != "true" {
		t.Errorf("answer %q", b)
	}
}

func TestConfigIsChecked(t *testing.T) {
	_, err := New(Config{Ready: []Check{{}}, Grace: -1})
	if err == nil {
		t.Fatal("an empty Config is accepted")
	}
	for _, field := range []string{"Listener", "Log", "check", "Grace"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
}
