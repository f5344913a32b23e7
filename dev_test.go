package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// dev is a carillon dev as a process.
type dev struct {
	*process
	api string
}

func startDev(t *testing.T, data string, flags ...string) *dev {
	t.Helper()
	p := carillon(t, append([]string{"dev", "--data", data, "--listen", "127.0.0.1:0", "--demo-listen", "127.0.0.1:0"}, flags...)...)
	return &dev{p, p.said(t, `API +(http://\S+)`, 30*time.Second)}
}

// ran waits until the README's job was executed n times.
func (d *dev) ran(t *testing.T, n int) {
	t.Helper()
	eventually(t, 20*time.Second, func() error {
		s, err := d.status("jc/jobs/hello")
		if err == nil && s.ExecutionCount < n {
			err = fmt.Errorf("executed %d times, want %d", s.ExecutionCount, n)
		}
		return err
	})
}

type status struct {
	State                                      string `json:"-"`
	NextExecutionTime                          string
	ExecutionCount, FailureCount, FaultedCount int
}

// status reads a job's status.
func (d *dev) status(path string) (status, error) {
	body, err := request(d.api, http.MethodGet, collections+path, "")
	if err != nil {
		return status{}, err
	}
	var j struct {
		Properties struct {
			State  string
			Status status
		}
	}
	err = json.Unmarshal(body, &j)
	j.Properties.Status.State = j.Properties.State
	return j.Properties.Status, err
}

// put creates a resource.
func (d *dev) put(t *testing.T, path, body string) {
	t.Helper()
	if _, err := request(d.api, http.MethodPut, collections+path, body); err != nil {
		t.Fatal(err)
	}
}

const fastCollection = `{"location":"westus","properties":{"sku":{"name":"Standard"},"quota":{"maxJobCount":1000,"maxRecurrence":{"frequency":"second","interval":1}}}}`

// TestDemo: dev --demo shows executions, retries and an error action within
// 15 s; Ctrl-C ends it within 5 s, exit 0; started again it goes on with the
// same jobs and counters, after kill -9 too.
func TestDemo(t *testing.T) {
	t.Parallel()
	data, target := t.TempDir(), freeAddress(t)
	began := time.Now()
	start := func() *dev { return startDev(t, data, "--demo", "--demo-listen", target) }
	d := start()
	for _, line := range []string{
		`bells/heartbeat +#\d+ +attempt 1 +\d+ ms late +completed`,
		`bells/flaky +#\d+ +attempt 1 +\d+ ms late +failed`,
		`bells/flaky +#\d+ +retry 1 +\d+ ms late +completed`,
		`bells/broken +#\d+ +retry 1 +\d+ ms late +failed`,
		`bells/broken +#\d+ +error action +\d+ ms late +completed`,
	} {
		d.said(t, "("+line+")", 15*time.Second-time.Since(began))
	}
	path := "/subscriptions/demo/resourceGroups/demo/providers/Microsoft.Scheduler/jobCollections/"
	counts := func(d *dev, name string) status {
		d2 := *d
		body, err := request(d2.api, http.MethodGet, path+"bells/jobs/"+name, "")
		if err != nil {
			t.Fatal(err)
		}
		var j struct{ Properties struct{ Status status } }
		if err := json.Unmarshal(body, &j); err != nil {
			t.Fatal(err)
		}
		return j.Properties.Status
	}
	before := map[string]status{}
	note := func(d *dev) {
		for _, name := range []string{"heartbeat", "flaky", "broken"} {
			before[name] = counts(d, name)
		}
	}
	goesOn := func(d *dev) {
		t.Helper()
		for name, was := range before {
			now := counts(d, name)
			if now.ExecutionCount < was.ExecutionCount || now.FailureCount < was.FailureCount || now.FaultedCount < was.FaultedCount {
				t.Errorf("%s: counters fell from %+v to %+v", name, was, now)
			}
		}
		was := before["heartbeat"].ExecutionCount
		eventually(t, 15*time.Second, func() error {
			if now := counts(d, "heartbeat").ExecutionCount; now <= was {
				return fmt.Errorf("heartbeat was executed %d times before the restart, and %d times now", was, now)
			}
			return nil
		})
	}
	note(d)
	if code := d.stop(t, 5*time.Second); code != 0 {
		t.Errorf("Ctrl-C: exit %d", code)
	}
	d = start()
	goesOn(d)
	note(d)
	d.kill()
	d = start()
	goesOn(d)
	if code := d.stop(t, 5*time.Second); code != 0 {
		t.Errorf("Ctrl-C: exit %d", code)
	}
}

// TestDevKill: jobs, counters, history and pending retries survive kill -9.
func TestDevKill(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	calls := map[string]int{} // by path
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		calls[r.URL.Path]++
		if r.URL.Path == "/fails" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer target.Close()
	called := func(path string, n int) func() error {
		return func() error {
			mu.Lock()
			defer mu.Unlock()
			if calls[path] < n {
				return fmt.Errorf("%s called %d times, want %d", path, calls[path], n)
			}
			return nil
		}
	}
	data := t.TempDir()
	d := startDev(t, data)
	d.put(t, "c", fastCollection)
	d.put(t, "c/jobs/ticks", fmt.Sprintf(`{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"%s/ticks"}},"recurrence":{"frequency":"second","interval":1,"count":6}}}`, target.URL))
	d.put(t, "c/jobs/retries", fmt.Sprintf(`{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"%s/fails"},"retryPolicy":{"retryType":"fixed","retryInterval":"PT4S","retryCount":1},
		"errorAction":{"type":"Http","request":{"method":"GET","uri":"%s/alarm"}}}}}`, target.URL, target.URL))
	d.put(t, "c/jobs/later", fmt.Sprintf(`{"properties":{"startTime":%q,"action":{"type":"Http","request":{"method":"GET","uri":"%s/later"}}}}`,
		time.Now().Add(24*time.Hour).UTC().Format(time.RFC3339), target.URL))
	if _, err := request(d.api, http.MethodPost, collections+"c/jobs/later/run", ""); err != nil {
		t.Fatal(err)
	}
	for _, check := range []func() error{called("/ticks", 2), called("/fails", 1), called("/later", 1)} {
		eventually(t, 10*time.Second, check)
	}
	later, err := d.status("c/jobs/later")
	if err != nil {
		t.Fatal(err)
	}
	d.kill()

	d = startDev(t, data)
	for _, check := range []func() error{called("/ticks", 6), called("/fails", 2), called("/alarm", 1)} {
		eventually(t, 15*time.Second, check)
	}
	for path, want := range map[string]status{
		"c/jobs/ticks":   {State: "completed", ExecutionCount: 6},
		"c/jobs/retries": {State: "faulted", ExecutionCount: 1, FailureCount: 2, FaultedCount: 1},
		"c/jobs/later":   {State: "enabled", ExecutionCount: 1, NextExecutionTime: later.NextExecutionTime},
	} {
		eventually(t, 10*time.Second, func() error {
			got, err := d.status(path)
			if err == nil && got != want {
				err = fmt.Errorf("%s: %+v, want %+v", path, got, want)
			}
			return err
		})
		body, err := request(d.api, http.MethodGet, collections+path+"/history", "")
		if err != nil {
			t.Fatal(err)
		}
		rows := want.ExecutionCount + want.FailureCount
		if strings.HasSuffix(path, "retries") {
			rows = 3 // two attempts and the error action
		}
		if n := bytes.Count(body, []byte(`"type":"Microsoft.Scheduler/jobCollections/jobs/history"`)); n != rows {
			t.Errorf("%s: %d rows of history, want %d: %s", path, n, rows, body)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	// The attempt under way at the kill may have been performed twice.
	if calls["/ticks"] > 7 || calls["/fails"] > 3 || calls["/alarm"] > 1 || calls["/later"] > 2 {
		t.Errorf("calls: %v", calls)
	}
}

// TestDevExclusive: two processes cannot share a data directory.
func TestDevExclusive(t *testing.T) {
	data := t.TempDir()
	startDev(t, data)
	p := carillon(t, "dev", "--data", data, "--listen", "127.0.0.1:0")
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the second one goes on")
	}
	out, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	if code := p.ProcessState.ExitCode(); code != 1 || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), data) {
		t.Errorf("exit %d, said %q; want 1 and a line that names the directory", code, out)
	}
}

// command runs a command in this process.
func command(ctx context.Context, stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errb bytes.Buffer
	code = run(ctx, args, strings.NewReader(stdin), &out, &errb)
	return code, out.String(), errb.String()
}

// TestCommands: unknown flags and bad values are one line and exit 2; a server
// that is missing at start is one line that says what was tried, and exit 1.
func TestCommands(t *testing.T) {
	nobody, keys := freeAddress(t), keyFile(t)
	for _, tt := range []struct {
		name   string
		args   []string
		env    map[string]string
		code   int
		stderr string // pattern
	}{
		{"no command", nil, nil, 2, `^$`},
		{"unknown command", []string{"nope"}, nil, 2, `unexpected argument nope`},
		{"unknown flag", []string{"dev", "--nope"}, nil, 2, `unknown flag --nope`},
		{"bad number", []string{"planner", "--shards", "x"}, nil, 2, `--shards: .*"x"`},
		{"number out of range", []string{"planner", "--shards", "0"}, nil, 2, `--shards must be 1 to 1024`},
		{"bad number in the environment", []string{"planner"}, map[string]string{"CARILLON_SHARDS": "many"}, 2, `--shards: .*"many".*CARILLON_SHARDS`},
		{"bad duration", []string{"worker", "--grace", "soon"}, nil, 2, `--grace: .*"soon"`},
		{"bad level", []string{"worker", "--log-level", "loud"}, nil, 2, `--log-level: .*loud`},
		{"bad format", []string{"worker", "--log-format", "xml"}, nil, 2, `--log-format must be one of "text","json"`},
		{"not loopback", []string{"dev", "--listen", "0.0.0.0:8080"}, nil, 2, `--listen: 0.0.0.0:8080 is not a loopback address`},
		{"any address", []string{"apiserver", "--listen", ":8080"}, nil, 2, `--listen: .*not a loopback address`},
		{"no port", []string{"dev", "--listen", "localhost"}, nil, 2, `--listen: "localhost" is not HOST:PORT`},
		{"bad redis url", []string{"planner", "--redis", "localhost:6379"}, nil, 2, `--redis: `},
		{"bad redis scheme", []string{"planner", "--redis", "redis+moon://localhost:6379"}, nil, 2, `--redis: scheme redis\+moon`},
		{"missing redis", []string{"planner", "--redis", "redis://user:hidden@" + nobody}, nil, 1, `cannot reach Redis at redis://user:xxxxx@` + nobody + `: .*--redis or CARILLON_REDIS`},
		{"missing nats", []string{"worker", "--keys", keys, "--nats", "nats://user:hidden@" + nobody}, nil, 1, `cannot reach NATS at nats://user:xxxxx@` + nobody + `: .*--nats or CARILLON_NATS`},
		{"no keys, worker", []string{"worker"}, nil, 2, `carillon worker: no key file: .*'carillon keys new FILE'.*--keys or CARILLON_KEYS`},
		{"no keys, api server", []string{"apiserver"}, nil, 2, `carillon apiserver: no key file: `},
		{"missing key file", []string{"worker", "--keys", "/nonexistent"}, nil, 1, `there is no key file /nonexistent: make one`},
		{"not a key file", []string{"dev", "--keys", "go.mod"}, nil, 1, `go.mod is no key file`},
		{"bad deny list", []string{"worker", "--keys", keys, "--egress-deny", "10.0.0.0/8,ht tp"}, nil, 2, `--egress-deny "ht tp": this is no host name`},
		{"bad allow list", []string{"dev", "--egress-allow", "10.0.0.0/99"}, nil, 2, `--egress-allow "10.0.0.0/99": `},
		{"bad storage endpoint", []string{"worker", "--keys", keys, "--storage-endpoint", "https://queue.example"}, nil, 2, `--storage-endpoint: .*\{account\}`},
		{"bad service bus endpoint", []string{"worker", "--keys", keys, "--servicebus-endpoint", "http://bus.example"}, nil, 2, `--servicebus-endpoint: .*the scheme is none of amqps, sb and amqp`},
		{"bad authority", []string{"worker", "--keys", keys, "--oauth-authority", "http://login.example"}, nil, 2, `--oauth-authority: .*https`},
		{"missing authorities", []string{"worker", "--keys", keys, "--tls-ca", "/nonexistent"}, nil, 1, `--tls-ca: .*/nonexistent`},
		{"no authorities", []string{"worker", "--keys", keys, "--tls-ca", "go.mod"}, nil, 2, `--tls-ca: .*go.mod holds no certificate in PEM`},
		{"bad TLS version", []string{"worker", "--keys", keys, "--tls-min-version", "1.1"}, nil, 2, `--tls-min-version must be one of "1.2","1.3"`},
		{"key file exists", []string{"keys", "new", keys}, nil, 1, `carillon keys new: .*there is a key file`},
		{"directory is missing", []string{"keys", "new", "/nonexistent/keys"}, nil, 1, `write key file: .*no such file or directory`},
		{"no such key", []string{"keys", "remove", keys, "1"}, nil, 1, `there is no key 00000001`},
		{"not a key's id", []string{"keys", "remove", keys, "first"}, nil, 2, `KEY must be 8 hex digits`},
		{"n out of range", []string{"preview", "-n", "0"}, nil, 2, `-n must be at least 1`},
		{"bad now", []string{"preview", "--now", "noon"}, nil, 2, `--now: `},
		{"nothing to verify", []string{"verify", "--api", "http://" + nobody}, nil, 1, `carillon verify: the API does not answer: .*` + nobody + `.*--api or CARILLON_API`},
		{"bad api url", []string{"verify", "--api", "localhost"}, nil, 2, `--api: `},
		{"no such form", []string{"verify", "--forms", "nosuch"}, nil, 2, `there is no form "nosuch"`},
		{"a target nowhere", []string{"verify", "--target-listen", ":0"}, nil, 2, `":0" names no one address`},
		{"missing file", []string{"preview", "/nonexistent"}, nil, 1, `/nonexistent`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			code, _, stderr := command(t.Context(), "", tt.args...)
			if code != tt.code || !regexp.MustCompile(tt.stderr).MatchString(stderr) || strings.Count(stderr, "\n") > 1 || strings.Contains(stderr, "hidden") {
				t.Errorf("exit %d, %q; want %d and one line like %q", code, stderr, tt.code, tt.stderr)
			}
		})
	}
}

// TestHelp: help shows all commands, a command's help all its flags with their
// variables, and version the version.
func TestHelp(t *testing.T) {
	code, out, _ := command(t.Context(), "", "help")
	for _, cmd := range []string{"dev", "apiserver", "planner", "worker", "keys", "backup", "restore", "verify", "preview", "version", "help"} {
		if code != 0 || !strings.Contains(out, "\n  "+cmd+" ") {
			t.Errorf("help: exit %d, no %s in %s", code, cmd, out)
		}
	}
	for _, cmd := range []string{"dev", "apiserver", "planner", "worker"} {
		code, out, _ := command(t.Context(), "", "help", cmd)
		if flags := regexp.MustCompile(`\n +--[a-z]`).FindAllString(out, -1); code != 0 || len(flags) < 6 || strings.Count(out, "CARILLON_") != len(flags) {
			t.Errorf("help %s: exit %d, %d flags, %d variables", cmd, code, len(flags), strings.Count(out, "CARILLON_"))
		}
	}
	if code, out, _ := command(t.Context(), "", "version"); code != 0 || !strings.HasPrefix(out, "carillon ") {
		t.Errorf("version: exit %d, %q", code, out)
	}
}

// TestPreview prints the next occurrences of each form of definition.
func TestPreview(t *testing.T) {
	example, err := os.ReadFile("apiserver/wire/testdata/http-job.jsonc")
	if err != nil {
		t.Fatal(err)
	}
	const now = "2026-03-01T00:00:00Z"
	for _, tt := range []struct {
		name, in, now string
		code          int
		out, stderr   string
	}{
		{
			"just startTime and recurrence", `{"startTime":"2026-03-31T08:00:00Z","recurrence":{"frequency":"month"}}`, now, 0,
			"2026-03-31T08:00:00Z\n2026-04-30T08:00:00Z\n2026-05-31T08:00:00Z\n", "",
		},
		{
			"fewer than asked for", `{"startTime":"2026-03-31T08:00:00Z","recurrence":{"frequency":"day","count":2}}`, now, 0,
			"2026-03-31T08:00:00Z\n2026-04-01T08:00:00Z\n", "",
		},
		{"once", `{"properties":{"startTime":"2026-04-01T00:00:00.5Z"}}`, now, 0, "2026-04-01T00:00:00.5Z\n", ""},
		{"once, now", `{}`, now, 0, now + "\n", ""},
		{
			"Microsoft's example", string(example), "2012-08-04T00:00:00Z", 0,
			"2012-08-06T10:00:00Z\n2012-08-06T22:00:00Z\n2012-08-08T10:00:00Z\n", "",
		},
		{"the past", string(example), now, 1, "", "recurrence.endTime"},
		{"never", `{"recurrence":{"frequency":"month","schedule":{"monthDays":[31],"months":[2]}}}`, now, 1, "", "recurrence.schedule"},
		{"invalid", `{"recurrence":{"frequency":"fortnight"}}`, now, 1, "", "recurrence.frequency"},
		{"no JSON", `startTime`, now, 1, "", "."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, stderr := command(t.Context(), tt.in, "preview", "-n", "3", "--now", tt.now)
			if code != tt.code || out != tt.out || !regexp.MustCompile(tt.stderr).MatchString(stderr) || strings.Count(stderr, "\n") != tt.code {
				t.Errorf("exit %d, %q, %q; want %d, %q, %q", code, out, stderr, tt.code, tt.out, tt.stderr)
			}
		})
	}
}

// TestDevInProcess: dev ends when its context does.
func TestDevInProcess(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, errors.New("Ctrl-C"))
	defer cancel()
	code, out, stderr := command(ctx, "", "dev", "--data", t.TempDir(), "--listen", "127.0.0.1:0")
	if code != 0 || stderr != "" || !strings.Contains(out, "is up.") {
		t.Errorf("exit %d, %q, %q", code, out, stderr)
	}
}

// TestCrossOrigin: what a page of another site has a browser send is refused.
func TestCrossOrigin(t *testing.T) {
	d := startDev(t, t.TempDir())
	for _, tt := range []struct {
		site string
		want int
	}{{"cross-site", http.StatusForbidden}, {"same-origin", http.StatusCreated}, {"", http.StatusCreated}} {
		req, err := http.NewRequest(http.MethodPut, d.api+collections+"c?api-version=2016-03-01", strings.NewReader(fastCollection))
		if err != nil {
			t.Fatal(err)
		}
		if tt.site != "" {
			req.Header.Set("Sec-Fetch-Site", tt.site)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("%q: %s, want %d", tt.site, resp.Status, tt.want)
		}
	}
}
