package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// verified is what the tests read of verify's report.
type verified struct {
	Jobs, Changes, Expected, Occurrences, Requests int
	Late                                           struct{ N int }
	Violations                                     []struct{ Kind, Job, Detail string }
}

func (v *verified) kinds() []string {
	var list []string
	for _, x := range v.Violations {
		list = append(list, x.Kind)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// verifyJSON runs carillon verify and reads its report.
func verifyJSON(t *testing.T, api string, flags ...string) (code int, v verified, stderr string) {
	t.Helper()
	code, out, stderr := command(t.Context(), "", append([]string{"verify", "--api", api, "-o", "json"}, flags...)...)
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Violations == nil {
		t.Fatalf("exit %d, %q is no report: %v\n%s", code, out, err, stderr)
	}
	return code, v, stderr
}

// nothingLeft checks that an API has no collection of verify's, or of a run with a
// seed.
func nothingLeft(t *testing.T, api, seed string) {
	t.Helper()
	body, err := request(api, http.MethodGet, "/subscriptions/carillon/resourceGroups/carillon/providers/Microsoft.Scheduler/jobCollections", "")
	if err != nil || strings.Contains(string(body), "carillon-verify-"+seed) {
		t.Errorf("left behind: %s, %v", body, err)
	}
}

// TestVerify: a Carillon that does as it should passes, in a table and in JSON,
// and nothing is left behind.
func TestVerify(t *testing.T) {
	d := startDev(t, t.TempDir())
	code, v, stderr := verifyJSON(t, d.api, "--for", "5s", "--jobs", "140", "--seed", "1", "--grace", "2s")
	if code != 0 || len(v.Violations) > 0 || v.Jobs != 140 || v.Changes < 150 || v.Expected < 50 || v.Occurrences < v.Expected || v.Requests < v.Occurrences || v.Late.N < v.Expected {
		t.Errorf("exit %d, %+v\n%s", code, v, stderr)
	}
	nothingLeft(t, d.api, "")
	code, out, stderr := command(t.Context(), "", "verify", "--api", d.api, "--for", "1s", "--jobs", "2", "--forms", "every,once-now")
	if code != 0 || !regexp.MustCompile(`(?m)^lost +[1-9]\d* +0$`).MatchString(out) || !strings.Contains(out, "first attempts") {
		t.Errorf("exit %d, %s\n%s", code, out, stderr)
	}
	if code, out, _ := command(t.Context(), "", "verify", "--api", d.api, "--for", "1s", "--jobs", "2", "--forms", "every", "--max-late", "1ns"); code != 1 || !strings.Contains(out, "VIOLATION late") {
		t.Errorf("late by more than 1 ns: exit %d, %s", code, out)
	}
}

// TestVerifyFinds: of a Carillon that breaks a rule, which proxies make of a good
// one, verify names the violation and exits with 1.
func TestVerifyFinds(t *testing.T) {
	d := startDev(t, t.TempDir())
	for i, tt := range []struct {
		name, forms string
		target, api func(p *proxy, w http.ResponseWriter, r *http.Request)
		want        []string
	}{
		{"an attempt performed twice", "every", (*proxy).twice, nil, []string{"doubled, same tag"}},
		{"an occurrence executed twice", "every", (*proxy).twiceWithOtherTag, nil, []string{"doubled, different tag", "history"}},
		{"an attempt that history made up", "every", (*proxy).answer, nil, []string{"history"}},
		{"a job that was acknowledged and dropped", "every-past", nil, (*proxy).drop, []string{"definition", "lost"}},
		{"a job that was not disabled", "disable", nil, (*proxy).pretend, []string{"state", "stopped"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			listen, seed := freeAddress(t), fmt.Sprint(100+i)
			flags := []string{"--seed", seed, "--for", "3s", "--jobs", "4", "--forms", tt.forms, "--settle", "3s", "--target-listen", listen, "--grace", "100ms"}
			api := d.api
			if tt.target != nil {
				flags = append(flags, "--target-url", newProxy(t, "http://"+listen, tt.target))
			} else {
				api = newProxy(t, d.api, tt.api)
			}
			code, v, stderr := verifyJSON(t, api, flags...)
			if code != 1 || !slices.Equal(v.kinds(), tt.want) || !strings.HasSuffix(stderr, "carillon verify: the report has violations\n") {
				t.Errorf("exit %d, %v, want %v: %+v\n%s", code, v.kinds(), tt.want, v, stderr)
			}
			nothingLeft(t, d.api, seed+"-")
		})
	}
}

// proxy hands requests on, and does something else with one of them.
type proxy struct {
	*httputil.ReverseProxy
	done atomic.Bool
}

func newProxy(t *testing.T, to string, handle func(p *proxy, w http.ResponseWriter, r *http.Request)) string {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{ReverseProxy: httputil.NewSingleHostReverseProxy(u)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(p, w, r) }))
	t.Cleanup(srv.Close)
	return srv.URL
}

// twice hands the first request on twice.
func (p *proxy) twice(w http.ResponseWriter, r *http.Request) { p.again(w, r, "") }

// twiceWithOtherTag does so under two tags.
func (p *proxy) twiceWithOtherTag(w http.ResponseWriter, r *http.Request) {
	p.again(w, r, strings.Repeat("0", 32))
}

func (p *proxy) again(w http.ResponseWriter, r *http.Request, tag string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	first, second := r.Clone(r.Context()), r.Clone(r.Context())
	first.Body, second.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
	p.ServeHTTP(w, first)
	if !p.done.CompareAndSwap(false, true) {
		return
	}
	if tag != "" {
		second.Header.Set("X-Ms-Execution-Tag", tag)
		second.Header.Set("Idempotency-Key", tag)
	}
	p.ServeHTTP(httptest.NewRecorder(), second)
}

// answer answers the first request itself.
func (p *proxy) answer(w http.ResponseWriter, r *http.Request) {
	if !p.done.CompareAndSwap(false, true) {
		p.ServeHTTP(w, r)
	}
}

// drop deletes the first job behind the back of whoever made it.
func (p *proxy) drop(w http.ResponseWriter, r *http.Request) {
	p.ServeHTTP(w, r)
	if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "-every-past") && p.done.CompareAndSwap(false, true) {
		gone := r.Clone(r.Context())
		gone.Method, gone.Body, gone.ContentLength, gone.Header = http.MethodDelete, http.NoBody, 0, http.Header{}
		p.ServeHTTP(httptest.NewRecorder(), gone)
	}
}

// pretend answers the first PATCH with how the job is, and that is all.
func (p *proxy) pretend(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPatch && p.done.CompareAndSwap(false, true) {
		r = r.Clone(r.Context())
		r.Method, r.Body, r.ContentLength, r.Header = http.MethodGet, http.NoBody, 0, http.Header{}
	}
	p.ServeHTTP(w, r)
}

// TestVerifyInterrupted: Ctrl-C ends it soon and leaves nothing behind. Where the
// API is gone, it says what it left.
func TestVerifyInterrupted(t *testing.T) {
	d := startDev(t, t.TempDir())
	for _, gone := range []bool{false, true} {
		p := carillon(t, "verify", "--api", d.api, "--jobs", "70", "--for", "1m", "--settle", "2s")
		prefix := p.said(t, `named (carillon-verify-\S+-\*)`, 20*time.Second)
		want := "carillon verify: stopped before the end: interrupt signal received"
		if gone {
			d.kill()
			want += "; left behind: 5 collections named " + prefix + ", delete them: "
		}
		code := p.stop(t, 10*time.Second)
		out, err := os.ReadFile(p.log)
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if last := lines[len(lines)-1]; err != nil || code != 1 || !strings.HasPrefix(last, want) || gone == (last == want) {
			t.Errorf("exit %d, %s", code, out)
		}
		if !gone {
			nothingLeft(t, d.api, "")
		}
	}
}

// TestVerifyCluster: three planners and three workers on real servers pass, a
// planner and a worker of which are killed in the middle.
func TestVerifyCluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	const inFlight = 64 // attempts that the worker may have begun
	p := carillon(t, "verify", "--api", c.api, "--jobs", "140", "--for", "12s", "--grace", "8s", "--settle", "60s", "--max-duplicates", fmt.Sprint(inFlight))
	p.said(t, `left, (\d+) requests received`, 20*time.Second)
	c.planners[0].kill()
	c.workers[0].kill()
	p.said(t, `(counted: .*)`, 150*time.Second)
	<-p.ended
	out, err := os.ReadFile(p.log)
	if code := p.ProcessState.ExitCode(); err != nil || code != 0 {
		t.Errorf("exit %d, %v", code, err)
	}
	t.Logf("%s", out)
	nothingLeft(t, c.api, "")
}
