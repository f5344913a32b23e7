package webhook_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
	"github.com/carillon-scheduler/carillon/worker/action/webhook"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret stands in whatever a job holds that must not come out.
const secret = "s3cret"

func newAction(t testing.TB, cfg outbound.Config) *webhook.Action {
	t.Helper()
	return newActionAt(t, cfg, "")
}

// newActionAt returns an action that gets tokens from authority.
func newActionAt(t testing.TB, cfg outbound.Config, authority string) *webhook.Action {
	t.Helper()
	client := outbound.NewClient(cfg)
	t.Cleanup(client.CloseIdle)
	a, err := webhook.New(webhook.Config{Client: client, Agent: "Carillon/1.2.3", Authority: authority})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// newDispatch returns the second of three attempts to make r.
func newDispatch(r job.Request) *job.Dispatch {
	d := &job.Dispatch{Action: job.Action{Type: job.HTTP, Request: &r}}
	d.Tag = "e927cf76d24da9625608248ce654cfa7"
	d.At = time.Date(2015, 9, 10, 0, 0, 0, 0, time.UTC)
	d.Phase, d.RetryCount, d.Retries = job.MainAction, 1, 2
	d.Job, d.Collection = "job", "collection"
	return d
}

// do performs d and checks what must hold of every report.
func do(t *testing.T, a action.Action, d *job.Dispatch) action.Report {
	t.Helper()
	r := a.Do(t.Context(), d)
	if strings.Contains(r.Message, secret) {
		t.Errorf("secret in message: %q", r.Message)
	}
	if !utf8.ValidString(r.Message) {
		t.Errorf("message is not UTF-8: %q", r.Message)
	}
	if !strings.HasPrefix(r.Message, "Http Action - Re") {
		t.Errorf("PowerShell does not know this message: %q", r.Message)
	}
	if b, err := json.Marshal(r.Message); err != nil || !json.Valid(b) {
		t.Errorf("message is not JSON: %v", err)
	}
	return r
}

func newServer(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// A wire is a server that shows the bytes it got. It serves connection after
// connection, request after request.
type wire struct {
	URL string
	mu  sync.Mutex
	got []string
}

// newWire answers each request with answer; if that is empty it closes the
// connection.
func newWire(t *testing.T, answer func(n int) string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{URL: "http://" + l.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { w.serve(c, answer) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return w
}

func (w *wire) serve(c net.Conn, answer func(n int) string) {
	defer c.Close()
	var raw bytes.Buffer
	r := bufio.NewReader(io.TeeReader(c, &raw))
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body)
		w.mu.Lock()
		w.got = append(w.got, raw.String())
		n := len(w.got)
		w.mu.Unlock()
		raw.Reset()
		text := answer(n)
		if text == "" {
			return
		}
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
	}
}

func (w *wire) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.got...)
}

func ok(int) string { return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" }

// send performs a request and returns its bytes as they arrived.
func send(t *testing.T, r job.Request) string {
	t.Helper()
	w := newWire(t, ok)
	r.URI = strings.Replace(r.URI, "target", strings.TrimPrefix(w.URL, "http://"), 1)
	a := newAction(t, outbound.Config{})
	if report := do(t, a, newDispatch(r)); report.Outcome != job.Succeeded {
		t.Fatalf("report %+v", report)
	}
	return w.requests()[0]
}

// AZURE §6: "HTTP success: final status 2xx", after redirects too.
func TestSuccessIsAFinalStatusOf2xx(t *testing.T) {
	status := 0
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/start" {
			http.Redirect(w, r, "/end", http.StatusSeeOther)
			return
		}
		w.WriteHeader(status)
	})
	a := newAction(t, outbound.Config{})
	for _, status = range []int{200, 201, 202, 204, 206, 299, 300, 304, 400, 401, 404, 429, 500, 503} {
		for _, path := range []string{"/", "/start"} {
			want := job.Failed
			if status < 300 {
				want = job.Succeeded
			}
			if r := do(t, a, newDispatch(job.Request{Method: "POST", URI: s.URL + path})); r.Outcome != want {
				t.Errorf("%d by %s: %s", status, path, r.Outcome)
			}
		}
	}
}

// AZURE §6: 429 and 503 with Retry-After within the retry budget are postponed.
func TestRetryAfterPostponesWhileRetriesAreLeft(t *testing.T) {
	for _, test := range []struct {
		name       string
		status     int
		header     string
		retryCount int // of 2 retries
		want       job.Outcome
		wait       time.Duration
	}{
		{"503 seconds", 503, "120", 0, job.Postponed, 2 * time.Minute},
		{"429 seconds", 429, "1", 1, job.Postponed, time.Second},
		{"at once", 503, "0", 0, job.Postponed, 0},
		{"bounded", 503, "999999999", 0, job.Postponed, 24 * time.Hour},
		{"past date", 503, "Wed, 21 Oct 2015 07:28:00 GMT", 0, job.Postponed, 0},
		{"far date", 503, "Wed, 21 Oct 2199 07:28:00 GMT", 0, job.Postponed, 24 * time.Hour},
		{"last attempt", 503, "120", 2, job.Failed, 0},
		{"no header", 503, "", 0, job.Failed, 0},
		{"nonsense", 503, "soon", 0, job.Failed, 0},
		{"other status", 500, "120", 0, job.Failed, 0},
		{"success", 200, "120", 0, job.Succeeded, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
				if test.header != "" {
					w.Header().Set("Retry-After", test.header)
				}
				w.WriteHeader(test.status)
			})
			d := newDispatch(job.Request{Method: "GET", URI: s.URL})
			d.RetryCount = test.retryCount
			r := do(t, newAction(t, outbound.Config{}), d)
			if r.Outcome != test.want || r.RetryAfter != test.wait {
				t.Errorf("%s after %v", r.Outcome, r.RetryAfter)
			}
		})
	}
}

// Where net/http would send a POST again by itself, it does not: an attempt is
// performed once (DESIGN, I5).
func TestBrokenKeptConnectionDoesNotRepeatThePost(t *testing.T) {
	w := newWire(t, func(n int) string {
		if n == 2 {
			return ""
		}
		return ok(n)
	})
	a := newAction(t, outbound.Config{})
	d := newDispatch(job.Request{Method: "POST", URI: w.URL, Body: "x"})
	if r := do(t, a, d); r.Outcome != job.Succeeded {
		t.Fatalf("first: %+v", r)
	}
	if r := do(t, a, d); r.Outcome != job.Failed || !strings.Contains(r.Message, "failed: ConnectionClosed ") {
		t.Errorf("second: %+v", r)
	}
	if n := len(w.requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

func TestShutdownCancelsTheCall(t *testing.T) {
	release := make(chan struct{})
	s := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(errors.New("shutdown")) })
	r := newAction(t, outbound.Config{}).Do(ctx, newDispatch(job.Request{Method: "GET", URI: s.URL}))
	if r.Outcome != job.Failed || !strings.Contains(r.Message, "failed: RequestCanceled ") {
		t.Errorf("got %+v", r)
	}
}

func BenchmarkDo(b *testing.B) {
	s := newServer(b, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("done")) })
	a := newAction(b, outbound.Config{})
	d := newDispatch(job.Request{
		Method: "POST", URI: s.URL + "/hook?x=1", Body: strings.Repeat("x", 512),
		Headers: map[string]string{"Content-Type": "text/plain", "X-Custom": "1"},
	})
	b.ReportAllocs()
	for b.Loop() {
		if r := a.Do(b.Context(), d); r.Outcome != job.Succeeded {
			b.Fatalf("report %+v", r)
		}
	}
}
