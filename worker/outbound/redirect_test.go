package outbound

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// seen is what reached a server, as it came in.
type seen struct {
	Method, Host, Body string
	Header             http.Header
}

// newSink returns a server that remembers requests and answers each with a
// redirect to next, or with 200 when next is empty.
func newSink(t *testing.T, status int, next func() string) (*httptest.Server, func() []seen) {
	t.Helper()
	var mu sync.Mutex
	var got []seen
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got = append(got, seen{r.Method, r.Host, string(body), r.Header})
		mu.Unlock()
		if to := next(); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(status)
		}
	})
	return s, func() []seen {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}
}

// AZURE §6: "Redirects: up to 5".
func TestUpToFiveRedirects(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/")); n > 0 {
			http.Redirect(w, r, "/"+strconv.Itoa(n-1), http.StatusFound)
		}
	})
	c := newClient(t, Config{})
	if resp, err := c.Do(newRequest(t, "GET", s.URL+"/5", "")); err != nil || resp.Status != 200 {
		t.Errorf("5: %v, %v", resp, err)
	}
	if _, err := c.Do(newRequest(t, "GET", s.URL+"/6", "")); !errors.Is(err, ErrTooManyRedirects) {
		t.Errorf("6: %v", err)
	}
}

var credentials = []string{
	"authorization", "Bearer s3cret", // in the job's own case
	"COOKIE", "session=s3cret",
	"Proxy-Authorization", "Basic s3cret",
	"X-Api-Key", "s3cret",
	"x-functions-key", "s3cret",
	"Ocp-Apim-Subscription-Key", "s3cret",
	"X-Anything", "s3cret",
	"Referer", "http://h/?s3cret",
}

// AZURE §6: "credentials never follow to another host".
func TestCredentialsDoNotFollowToAnotherHost(t *testing.T) {
	far, got := newSink(t, 0, func() string { return "" })
	for _, status := range []int{301, 302, 303, 307, 308} {
		near, _ := newSink(t, status, func() string {
			return strings.Replace(far.URL, "http://", "http://name:word@", 1) + "/landed"
		})
		req := newRequest(t, "POST", near.URL+"/?code=s3cret", "x",
			append(slices.Clone(credentials), "Accept", "text/plain", "x-ms-scheduler-jobid", "j", "User-Agent", "agent")...)
		req.Host = "virtual.example"
		if _, err := newClient(t, Config{}).Do(req); err != nil {
			t.Fatal(err)
		}
		all := got()
		last := all[len(all)-1]
		for name, values := range last.Header {
			if strings.Contains(strings.Join(values, ""), "s3cret") || name == "Authorization" {
				t.Errorf("%d: %s followed: %q", status, name, values)
			}
		}
		if last.Header.Get("Accept") != "text/plain" || last.Header.Get("X-Ms-Scheduler-Jobid") != "j" || last.Header.Get("User-Agent") != "agent" {
			t.Errorf("%d: harmless headers did not follow: %v", status, last.Header)
		}
		if last.Host != strings.TrimPrefix(far.URL, "http://") {
			t.Errorf("%d: host %q", status, last.Host)
		}
	}
}

// The virtual host of a job is meant for the host it calls, also where Location
// names another one without a scheme.
func TestHostHeaderDoesNotFollowToAnotherHost(t *testing.T) {
	far, got := newSink(t, 0, func() string { return "" })
	near, _ := newSink(t, 307, func() string { return strings.TrimPrefix(far.URL, "http:") + "/landed" })
	req := newRequest(t, "GET", near.URL, "")
	req.Host = "virtual.example"
	if _, err := newClient(t, Config{}).Do(req); err != nil {
		t.Fatal(err)
	}
	if host := got()[0].Host; host != strings.TrimPrefix(far.URL, "http://") {
		t.Errorf("host %q", host)
	}
}

func TestCredentialsFollowOnTheSameHost(t *testing.T) {
	for _, absolute := range []bool{true, false} {
		var s *httptest.Server
		first := true
		s, got := newSink(t, http.StatusTemporaryRedirect, func() string {
			switch {
			case !first:
				return ""
			case absolute:
				first = false
				return s.URL + "/landed"
			default:
				first = false
				return "/landed"
			}
		})
		if _, err := newClient(t, Config{}).Do(newRequest(t, "POST", s.URL+"/?code=q", "x", credentials...)); err != nil {
			t.Fatal(err)
		}
		all := got()
		if len(all) != 2 {
			t.Fatalf("%d requests", len(all))
		}
		if diff := cmp.Diff(all[0].Header, all[1].Header); diff != "" {
			t.Errorf("absolute %t: headers changed (-first +second):\n%s", absolute, diff)
		}
	}
}

// Back home by way of another host is not home: that host chose the path.
func TestCredentialsDoNotComeBack(t *testing.T) {
	var home *httptest.Server
	away, _ := newSink(t, 307, func() string { return home.URL + "/chosen" })
	first := true
	home, got := newSink(t, 307, func() string {
		if first {
			first = false
			return away.URL
		}
		return ""
	})
	if _, err := newClient(t, Config{}).Do(newRequest(t, "POST", home.URL, "x", credentials...)); err != nil {
		t.Fatal(err)
	}
	if last := got()[1]; last.Header.Get("Authorization") != "" || last.Header.Get("X-Api-Key") != "" {
		t.Errorf("came back: %v", last.Header)
	}
}

// No header tells a target where the call came from: net/http would send the
// last URL with its query.
func TestNoRefererIsMade(t *testing.T) {
	first := true
	s, got := newSink(t, 302, func() string {
		if first {
			first = false
			return "/landed"
		}
		return ""
	})
	if _, err := newClient(t, Config{}).Do(newRequest(t, "GET", s.URL+"/?code=s3cret", "")); err != nil {
		t.Fatal(err)
	}
	if r := got()[1].Header.Get("Referer"); r != "" {
		t.Errorf("Referer: %s", r)
	}
}

func TestMethodAndBodyOnRedirect(t *testing.T) {
	for _, test := range []struct {
		status       int
		method, then string
		body         bool
	}{
		{301, "POST", "GET", false},
		{302, "PUT", "GET", false},
		{303, "POST", "GET", false},
		{303, "HEAD", "HEAD", false},
		{307, "POST", "POST", true},
		{308, "PUT", "PUT", true},
		{307, "pAtCh", "pAtCh", true},
	} {
		first := true
		s, got := newSink(t, test.status, func() string {
			if first {
				first = false
				return "/landed"
			}
			return ""
		})
		if _, err := newClient(t, Config{}).Do(newRequest(t, test.method, s.URL, "text", "Content-Type", "text/x")); err != nil {
			t.Fatal(err)
		}
		last := got()[1]
		if last.Method != test.then || (last.Body == "text") != test.body || (last.Header.Get("Content-Type") != "") != test.body {
			t.Errorf("%d %s: then %s with body %q, type %q", test.status, test.method, last.Method, last.Body, last.Header.Get("Content-Type"))
		}
	}
}

func TestRedirectToNoWebAddressIsTheAnswer(t *testing.T) {
	for _, to := range []string{"ftp://h/x", "file:///etc/passwd", ""} {
		s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			if to != "" {
				w.Header().Set("Location", to)
			}
			w.WriteHeader(http.StatusFound)
		})
		resp, err := newClient(t, Config{}).Do(newRequest(t, "GET", s.URL, ""))
		if err != nil || resp.Status != http.StatusFound {
			t.Errorf("%q: %v, %v", to, resp, err)
		}
	}
}

func TestCrossed(t *testing.T) {
	for _, test := range []struct {
		path string
		want bool
	}{
		{"https://h/a https://h/b", false},
		{"https://h/a https://H:443/b", false},
		{"http://h:80/a http://h/b", false},
		{"https://h/ http://h/", true}, // downgrade
		{"https://h:8443/ http://h:8443/", true},
		{"http://h/ https://h/", true},
		{"http://h/ http://h:8080/", true},
		{"http://h/ http://www.h/", true}, // net/http would let credentials follow
		{"http://h/ http://evil/ http://h/", true},
	} {
		var via []*http.Request
		for uri := range strings.FieldsSeq(test.path) {
			via = append(via, newRequest(t, "GET", uri, ""))
		}
		n := len(via) - 1
		if got := crossed(via[n], via[:n]); got != test.want {
			t.Errorf("%s: %t", test.path, got)
		}
	}
}
