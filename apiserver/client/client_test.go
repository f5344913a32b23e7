package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, cfg Config, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	cfg.BaseURL = srv.URL + "/"
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.CloseIdle(); srv.Close() })
	return c
}

var ref = Ref{"s", "rg", "jc"}

// TestRequests: each call has the API's method, path and body, and carries the
// token and what the options say.
func TestRequests(t *testing.T) {
	const rg, jc = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Scheduler/jobCollections", "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Scheduler/jobCollections/jc"
	var got string
	c := serve(t, Config{Token: "secret"}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.URL.EscapedPath(), body))
		if r.URL.Query().Get("api-version") != apiVersion || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s: %v, %v", got, r.URL.Query(), r.Header)
		}
		w.Header().Set("ETag", `"u.1.0"`)
		fmt.Fprint(w, `{"name":"n","unknown":{"a":1},"properties":{"state":"enabled","future":[]},"value":[]}`)
	})
	ctx := t.Context()
	for _, tt := range []struct {
		call func() error
		want string
	}{
		{func() error { _, err := c.PutCollection(ctx, ref, Collection{Location: "westus"}); return err }, "PUT " + jc + ` {"location":"westus"}`},
		{func() error { _, err := c.PatchCollection(ctx, ref, map[string]any{"tags": nil}); return err }, "PATCH " + jc + ` {"tags":null}`},
		{func() error { _, err := c.GetCollection(ctx, ref); return err }, "GET " + jc},
		{func() error { return c.DeleteCollection(ctx, ref) }, "DELETE " + jc},
		{func() error { return c.EnableCollection(ctx, ref) }, "POST " + jc + "/enable"},
		{func() error { return c.DisableCollection(ctx, ref) }, "POST " + jc + "/disable"},
		{func() error { _, err := c.PutJob(ctx, ref, "a b", &Job{}); return err }, "PUT " + jc + `/jobs/a%20b {"properties":{}}`},
		{func() error { _, err := c.PatchJob(ctx, ref, "j", json.RawMessage(`{"x":1}`)); return err }, "PATCH " + jc + `/jobs/j {"x":1}`},
		{func() error { _, err := c.GetJob(ctx, ref, "j"); return err }, "GET " + jc + "/jobs/j"},
		{func() error { return c.DeleteJob(ctx, ref, "j") }, "DELETE " + jc + "/jobs/j"},
		{func() error { return c.RunJob(ctx, ref, "j") }, "POST " + jc + "/jobs/j/run"},
		{func() error { _, err := all(c.Collections(ctx, ref)); return err }, "GET " + rg},
		{func() error { _, err := all(c.Jobs(ctx, ref, Query{})); return err }, "GET " + jc + "/jobs"},
		{func() error { _, err := all(c.History(ctx, ref, "j", Query{})); return err }, "GET " + jc + "/jobs/j/history"},
		{func() error { _, err := all(c.Collections(ctx, Ref{})); return err }, "GET " + strings.NewReplacer("/s/", "/carillon/", "/rg/", "/carillon/").Replace(rg)},
	} {
		if err := tt.call(); err != nil || got != tt.want {
			t.Errorf("%s, %v; want %s", got, err, tt.want)
		}
	}
	j, err := c.GetJob(ctx, ref, "j")
	if want := (&Job{Name: "n", Properties: JobProperties{State: "enabled"}, ETag: `"u.1.0"`}); err != nil || !cmp.Equal(j, want) {
		t.Errorf("%v: %s", err, cmp.Diff(want, j))
	}
}

func all[T any](list func(func(*T, error) bool)) (items []*T, err error) {
	list(func(item *T, e error) bool {
		if e != nil {
			err = e
			return false
		}
		items = append(items, item)
		return true
	})
	return items, err
}

// TestOptions: an option becomes a header.
func TestOptions(t *testing.T) {
	var got http.Header
	c := serve(t, Config{}, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	if err := c.RunJob(t.Context(), ref, "j", IfMatch(`"1"`), RequestID("guid")); err != nil || got.Get("If-Match") != `"1"` || got.Get("X-Ms-Client-Request-Id") != "guid" || got.Get("Authorization") != "" {
		t.Errorf("%v: %v", err, got)
	}
	if err := c.RunJob(t.Context(), ref, "j", IfNew()); err != nil || got.Get("If-None-Match") != "*" {
		t.Errorf("%v: %v", err, got)
	}
}

// TestPages: a list goes on where nextLink says, at the host that was asked
// first, and stops when the caller does.
func TestPages(t *testing.T) {
	calls := 0
	c := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		calls++
		q := r.URL.Query()
		if q.Get("$filter") != "status eq 'failed'" || q.Get("$top") != "2" {
			t.Errorf("query %v", q)
		}
		switch q.Get("$skiptoken") {
		case "":
			fmt.Fprint(w, `{"value":[{"name":"3"},{"name":"2"}],"nextLink":"http://elsewhere.invalid/x?api-version=2016-03-01&$filter=status+eq+'failed'&$top=2&$skiptoken=a"}`)
		case "a":
			fmt.Fprint(w, `{"value":[{"name":"1"}],"nextLink":null}`)
		}
	})
	rows, err := all(c.History(t.Context(), ref, "j", Query{Filter: "status eq 'failed'", Top: 2}))
	if err != nil || len(rows) != 3 || rows[2].Name != "1" || calls != 2 {
		t.Errorf("%v, %v after %d calls", rows, err, calls)
	}
	for range c.History(t.Context(), ref, "j", Query{Filter: "status eq 'failed'", Top: 2}) {
		break
	}
	if calls != 3 {
		t.Errorf("%d calls, want 3", calls)
	}
}

// TestErrors: an answer that is an error has status, code and message; what is no
// answer has none. No error holds a query.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		want    Error
		unclear bool
	}{
		{"the API's", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"error":{"code":"Conflict","message":"no"}}`)
		}, Error{Status: 409, Code: "Conflict", Message: "no"}, false},
		{"busy", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"error":{"code":"ServerBusy","message":"later"}}`)
		}, Error{Status: 503, Code: "ServerBusy", Message: "later", RetryAfter: 3 * time.Second}, true},
		{"a proxy's", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, strings.Repeat("x", 2*maxError), http.StatusBadGateway)
		}, Error{Status: 502, Message: strings.Repeat("x", maxError) + "…"}, true},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusFound)
		}, Error{Status: 302, Message: `<a href="http://elsewhere.invalid/">Found</a>.`}, false},
		{"cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, Error{}, true},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }, Error{}, true},
		{"too much", func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, maxAnswer+1)) }, Error{Status: 507, Message: "an answer of more than 16777216 bytes is refused"}, true},
		{"silence", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, Error{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, Config{Timeout: 100 * time.Millisecond}, tt.handler)
			if tt.name != "silence" {
				c.cfg.Timeout = 10 * time.Second
			}
			_, err := c.GetJob(t.Context(), ref, "j")
			got, ok := errors.AsType[*Error](err)
			if ok != (tt.want.Status != 0) || ok && !cmp.Equal(*got, tt.want) || StatusOf(err) != tt.want.Status || Unclear(err) != tt.unclear {
				t.Errorf("%v, unclear %t; want %+v, %t", err, Unclear(err), tt.want, tt.unclear)
			}
			if err == nil || strings.Contains(err.Error(), "api-version") || !strings.HasPrefix(err.Error(), "GET /subscriptions/s/") {
				t.Errorf("%q", err)
			}
		})
	}
}

// TestRetry: a request is sent again only if the caller asks, only while it may
// help, and not beyond the time given.
func TestRetry(t *testing.T) {
	var calls atomic.Int32
	status := http.StatusServiceUnavailable
	c := serve(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) < 3 {
			w.WriteHeader(status)
		}
	})
	if err := c.RunJob(t.Context(), ref, "j"); StatusOf(err) != 503 || calls.Load() != 1 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	if err := c.RunJob(t.Context(), ref, "j", Retry(20*time.Second)); err != nil || calls.Load() != 3 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	calls.Store(0)
	if err := c.RunJob(t.Context(), ref, "j", Retry(firstWait/2)); StatusOf(err) != 503 || calls.Load() != 1 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	calls.Store(0)
	status = http.StatusConflict
	if err := c.RunJob(t.Context(), ref, "j", Retry(time.Minute)); StatusOf(err) != 409 || calls.Load() != 1 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("Ctrl-C"))
	if err := c.RunJob(ctx, ref, "j", Retry(time.Minute)); err == nil || !strings.Contains(err.Error(), "Ctrl-C") {
		t.Errorf("%v", err)
	}
}

// TestNew refuses what cannot work.
func TestNew(t *testing.T) {
	for _, cfg := range []Config{
		{},
		{BaseURL: "127.0.0.1:8080"},
		{BaseURL: "ftp://127.0.0.1"},
		{BaseURL: "http://127.0.0.1/?x=1"},
		{BaseURL: "http://127.0.0.1", Timeout: -1},
		{BaseURL: "http://127.0.0.1", Token: "a\nb"},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
	if _, err := New(Config{BaseURL: "https://api.example/carillon/"}); err != nil {
		t.Error(err)
	}
}
