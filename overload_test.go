package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
)

// crowd is a planner, a worker and an API server on real servers, with jobs that
// are due every second, a few times, and a target that counts.
type crowd struct {
	*testing.T
	api             string
	planner, worker *process
	server          *process // of the API
	crashes         int      // each of which may have had an attempt performed again
	on              []string // flags that name the servers
	admin           string   // URL of the planner's admin listener
	workerAdmin     string
	rdb             *redis.Client
	js              jetstream.JetStream
	redis, nats     *process
	redisDir, keys  string
	startRedis      func()
	startNATS       func(settings string)

	mu    sync.Mutex
	calls map[string]int // by execution tag
	gate  chan struct{}  // closed: the target answers
	each  int
}

const crowdJobs = 20

// newCrowd starts everything, or returns nil where there are no real servers.
// The servers have the settings of a profile in deploy, if one is named.
func newCrowd(t *testing.T, profile string) *crowd {
	redisPath, natsPath := program(t, "redis-server"), program(t, "nats-server")
	if redisPath == "" || natsPath == "" {
		t.Log("the embedded parts know no bounds to run into, and end with their process")
		return nil
	}
	c := &crowd{T: t, calls: make(map[string]int), gate: make(chan struct{}), keys: keyFile(t), redisDir: t.TempDir()}
	close(c.gate)
	redisAddress, natsAddress, natsDir := freeAddress(t), freeAddress(t), t.TempDir()
	c.startRedis = func() { c.redis = redisBy(t, redisPath, redisAddress, c.redisDir, profile) }
	c.startNATS = func(settings string) { c.nats = natsBy(t, natsPath, natsAddress, natsDir, profile, settings) }
	c.startRedis()
	c.startNATS("")
	c.on = []string{"--redis", "redis://" + redisAddress, "--nats", "nats://" + natsAddress}
	c.rdb = redis.NewClient(&redis.Options{Addr: redisAddress, MaxRetries: -1})
	nc, err := nats.Connect("nats://"+natsAddress, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	c.must(err)
	c.js, err = jetstream.New(nc)
	c.must(err)
	t.Cleanup(func() { c.rdb.Close(); nc.Close() })
	c.plan()
	c.work()
	c.serve()
	eventually(t, 20*time.Second, func() error {
		_, err := request(c.api, "PUT", collections+"c", fastCollection)
		return err
	})
	return c
}

// redisBy starts a redis-server with the settings of a profile, if one is named.
func redisBy(t *testing.T, path, address, dir, profile string) *process {
	if profile == "" {
		return redisAt(t, path, address, dir)
	}
	_, port, _ := net.SplitHostPort(address)
	p := start(t, "redis-server", exec.Command(path, filepath.Join("deploy", "redis", profile+".conf"), "--port", port, "--dir", dir))
	eventually(t, 10*time.Second, func() error { return redisPing(address) })
	return p
}

// natsBy starts a nats-server with the settings of a profile, if one is named, or
// with others.
func natsBy(t *testing.T, path, address, dir, profile, settings string) *process {
	conf := filepath.Join("deploy", "nats", profile+".conf")
	if profile == "" {
		conf = filepath.Join(t.TempDir(), "nats.conf")
		if err := os.WriteFile(conf, []byte("jetstream { "+settings+" }\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host, port, _ := net.SplitHostPort(address)
	p := start(t, "nats-server", exec.Command(path, "-c", conf, "-a", host, "-p", port, "-sd", dir))
	eventually(t, 10*time.Second, func() error {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			conn.Close()
		}
		return err
	})
	return p
}

func (c *crowd) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// plan starts a planner.
func (c *crowd) plan() {
	address := freeAddress(c.T)
	c.planner, c.admin = carillon(c.T, append([]string{"planner", "--admin-listen", address}, c.on...)...), "http://"+address
}

// work starts a worker.
func (c *crowd) work() {
	address := freeAddress(c.T)
	c.worker = carillon(c.T, "worker", "--keys", c.keys, "--admin-listen", address, "--concurrency", "8", c.on[2], c.on[3])
	c.workerAdmin = "http://" + address
}

// serve starts an API server.
func (c *crowd) serve() {
	c.server = carillon(c.T, append([]string{"apiserver", "--keys", c.keys, "--listen", "127.0.0.1:0", "--max-jobs", "100000", "--fastest", "1s"}, c.on...)...)
	c.api = c.server.said(c.T, `url=(http://\S+)`, 20*time.Second)
}

// schedule creates the jobs, each of which has so many occurrences, one a second.
func (c *crowd) schedule(each int) {
	c.each = each
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.calls[r.Header.Get("x-ms-execution-tag")]++
		gate := c.gate
		c.mu.Unlock()
		<-gate
	}))
	c.Cleanup(target.Close)
	c.Cleanup(c.open)
	for i := range crowdJobs {
		_, err := request(c.api, "PUT", fmt.Sprintf("%sc/jobs/j%d", collections, i), fmt.Sprintf(
			`{"properties":{"action":{"type":"Http","request":{"method":"POST","uri":%q,"body":%q}},"recurrence":{"frequency":"second","interval":1,"count":%d}}}`,
			target.URL, strings.Repeat("x", 1000), each))
		c.must(err)
	}
}

// shut has the target wait with its answers until open.
func (c *crowd) shut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate = make(chan struct{})
}

func (c *crowd) open() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.gate:
	default:
		close(c.gate)
	}
}

// called returns how many occurrences the target has seen.
func (c *crowd) called() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

// says waits until a process's /readyz says, with a 200, what matches; or until
// it says nothing of the kind, if not.
func (c *crowd) says(url, pattern string, not bool) {
	c.Helper()
	re := regexp.MustCompile(pattern)
	eventually(c.T, 40*time.Second, func() error {
		body, err := readyz(url)
		if err == nil && re.MatchString(body) == not {
			err = fmt.Errorf("readyz says %s", body)
		}
		return err
	})
}

func readyz(url string) (string, error) {
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get(url + "/readyz")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("readyz: %s %s", resp.Status, body)
	}
	return string(body), err
}

// finish waits until every occurrence has been executed, and holds what the jobs
// say, and how often the target was called, against that.
func (c *crowd) finish() {
	c.Helper()
	for i := range crowdJobs {
		eventually(c.T, 60*time.Second, func() error {
			body, err := request(c.api, "GET", fmt.Sprintf("%sc/jobs/j%d", collections, i), "")
			if err != nil {
				return err
			}
			if want := fmt.Sprintf(`"executionCount":%d,"failureCount":0,`, c.each); !strings.Contains(string(body), want) || !strings.Contains(string(body), `"state":"completed"`) {
				return fmt.Errorf("%s", body)
			}
			return nil
		})
		if rows, of := c.history(i); of != c.each || rows > of && c.crashes == 0 {
			c.Errorf("job %d has %d rows of %d occurrences, want %d", i, rows, of, c.each)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) != crowdJobs*c.each {
		c.Errorf("%d occurrences were executed, want %d", len(c.calls), crowdJobs*c.each)
	}
	for tag, n := range c.calls {
		if n > 1+c.crashes {
			c.Errorf("%s was executed %d times", tag, n)
		}
	}
}

// history returns how many rows a job's history has, and of how many occurrences.
func (c *crowd) history(i int) (rows, of int) {
	c.Helper()
	body, err := request(c.api, "GET", fmt.Sprintf("%sc/jobs/j%d/history", collections, i), "")
	c.must(err)
	var h struct {
		Value []struct {
			Properties struct{ StartTime, ExpectedExecutionTime, Message string }
		}
	}
	c.must(json.Unmarshal(body, &h))
	seen := make(map[string]string)
	for _, v := range h.Value {
		p := v.Properties
		row := p.StartTime + " " + p.Message
		if was, ok := seen[p.ExpectedExecutionTime]; ok {
			c.Logf("job %d, %s has two rows: %s and %s", i, p.ExpectedExecutionTime, was, row)
		}
		seen[p.ExpectedExecutionTime] = row
	}
	return len(h.Value), len(seen)
}

// count returns how many lines of a process's log match.
func (c *crowd) count(p *process, pattern string) int {
	c.Helper()
	out, err := os.ReadFile(p.log)
	c.must(err)
	return len(regexp.MustCompile(`(?m)^.*`+pattern+`.*$`).FindAll(out, -1))
}

// saidOnce checks that a process said once that something begins, and once that
// it is over, and nothing of shards or leases that were interrupted.
func (c *crowd) saidOnce(p *process, what string) {
	c.Helper()
	over := `"no longer held up".* by="?` + what
	p.said(c.T, over, 30*time.Second)
	for pattern, want := range map[string]int{
		`level=WARN msg="held up".* by="?` + what: 1,
		over:                  1,
		`shard interrupted`:   0,
		`lease lost`:          0,
		`cannot renew leases`: 0,
	} {
		if n := c.count(p, pattern); n != want {
			c.Errorf("%s said %q %d times, want %d", p.name, pattern, n, want)
		}
	}
}

// far is a job that is not due for a year, of some size.
func far(size int) string {
	return fmt.Sprintf(`{"properties":{"startTime":%q,"action":{"type":"Http","request":{"method":"POST","uri":"http://127.0.0.1:1/","body":%q}}}}`,
		time.Now().AddDate(1, 0, 0).UTC().Format(time.RFC3339), strings.Repeat("x", size))
}

// putUntilRefused writes jobs until one is refused, and returns the answer.
func (c *crowd) putUntilRefused(prefix string) string {
	c.Helper()
	body := far(8000)
	for i := range 2000 {
		if _, err := request(c.api, "PUT", fmt.Sprintf("%sc/jobs/%s%d", collections, prefix, i), body); err != nil {
			return err.Error()
		}
	}
	c.Fatal("nothing was refused")
	return ""
}

func (c *crowd) maxMemory(bytes int64) {
	c.Helper()
	c.must(c.rdb.ConfigSet(context.Background(), "maxmemory", fmt.Sprint(bytes)).Err())
}

// TestRedisFull: Redis runs out of memory while jobs are planned and written. It
// is said once, leases are kept, a planner can even be replaced; and when there
// is memory again every occurrence is executed once.
func TestRedisFull(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, "")
	if c == nil {
		return
	}
	c.schedule(10)
	eventually(t, 30*time.Second, func() error { return atLeast(c.called(), 3*crowdJobs) })
	info, err := c.rdb.Info(t.Context(), "memory").Result()
	c.must(err)
	var used int64
	_, err = fmt.Sscan(regexp.MustCompile(`used_memory:(\d+)`).FindStringSubmatch(info)[1], &used)
	c.must(err)
	c.maxMemory(used + 1<<20)
	answer := c.putUntilRefused("fill")
	for _, want := range []string{"503", "ServerBusy", "Redis is out of memory. Nothing was changed."} {
		if !strings.Contains(answer, want) {
			t.Errorf("the API says %s, want %q", answer, want)
		}
	}
	c.says(c.api, `"redis: out of memory, for `, false)

	c.maxMemory(1 << 20) // what was at the limit is beyond it now
	c.says(c.admin, `"redis: out of memory, for [5-9]s"`, false)
	stands := c.called()
	if _, err := request(c.api, "GET", collections+"c/jobs/j0", ""); err != nil {
		t.Errorf("a read: %v", err)
	}
	first := c.planner
	if code := first.stop(t, 10*time.Second); code != 0 {
		t.Errorf("planner: exit %d", code)
	}
	c.plan()
	c.says(c.admin, `"redis: out of memory, for `, false)
	if n := c.called(); n != stands {
		t.Errorf("%d occurrences were planned without memory", n-stands)
	}

	c.maxMemory(0)
	c.finish()
	if _, err := request(c.api, "PUT", collections+"c/jobs/last", far(1)); err != nil {
		t.Error(err)
	}
	if n := c.count(first, `level=WARN msg="held up".* by=redis`); n != 1 {
		t.Errorf("the planner that ended said %d times that redis is full", n)
	}
	_, err = request(c.api, "PUT", collections+"c/jobs/one", soon())
	c.must(err)
	c.saidOnce(c.planner, "redis")
	c.says(c.admin, `out of memory`, true)
}

// soon is a job that gives the planner something to plan, every second.
func soon() string {
	return `{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":"http://127.0.0.1:1/"}},"recurrence":{"frequency":"second","interval":1}}}`
}

func atLeast(n, want int) error {
	if n < want {
		return fmt.Errorf("%d occurrences, want %d", n, want)
	}
	return nil
}

// bound sets how many bytes a stream may hold beyond what it holds; -1 takes the
// bound away.
func (c *crowd) bound(stream string, bytes int64) {
	c.Helper()
	s, err := c.js.Stream(c.Context(), stream)
	c.must(err)
	cfg := s.CachedInfo().Config
	if cfg.MaxBytes = bytes; bytes >= 0 {
		cfg.MaxBytes += int64(s.CachedInfo().State.Bytes)
	}
	_, err = c.js.UpdateStream(c.Context(), cfg)
	c.must(err)
}

// TestDispatchesFull: while workers are slow, dispatches fill their stream. The
// planner says so once and waits.
func TestDispatchesFull(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, "")
	if c == nil {
		return
	}
	c.bound("DISPATCH", 60_000) // some 40 of them
	c.shut()
	c.schedule(8)
	c.says(c.admin, `"nats DISPATCH: full, maximum bytes exceeded, for [5-9]s"`, false)
	if n := c.called(); n > 8 {
		t.Errorf("the worker performs %d at once", n)
	}
	c.says(c.admin, `"backlog: \d+ due, oldest \d+\.\d s late, for `, false)
	c.open()
	c.finish()
	_, err := request(c.api, "PUT", collections+"c/jobs/one", soon())
	c.must(err)
	c.saidOnce(c.planner, "nats DISPATCH")
	c.saidOnce(c.planner, "backlog")
	c.says(c.admin, `conditions`, true)
}

// TestHistoryFull: a worker whose results are refused keeps what it has, for
// longer than an attempt may be silent, and performs nothing twice.
func TestHistoryFull(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, "")
	if c == nil {
		return
	}
	c.schedule(8)
	eventually(t, 30*time.Second, func() error { return atLeast(c.called(), crowdJobs) })
	c.bound("HISTORY", 0)
	c.says(c.workerAdmin, `"nats HISTORY: full, maximum bytes exceeded, for 1[2-9]s"`, false)
	stands := c.called()
	c.says(c.workerAdmin, `"nats HISTORY: full, maximum bytes exceeded, for (1[6-9]|2\d)s"`, false)
	if n := c.called(); n != stands {
		t.Errorf("%d more were performed though no result can be stored", n-stands)
	}
	c.bound("HISTORY", -1)
	c.finish()
	c.worker.said(t, `no longer held up".* by="nats HISTORY"`, 30*time.Second)
	if n := c.count(c.worker, `level=WARN`); n != 1 {
		t.Errorf("the worker warned %d times", n)
	}
}

// TestJournalFull: writes are refused in words, and change nothing; what is
// planned goes on. When there is room, the one write that found out is journaled
// with the next, so that Redis may be lost.
func TestJournalFull(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, "")
	if c == nil {
		return
	}
	c.schedule(8)
	c.bound("DEFINITIONS", 50_000)
	if answer := c.putUntilRefused("fill"); !strings.Contains(answer, "503") || !strings.Contains(answer, "may have been carried out") {
		t.Errorf("the one that found out is told %s", answer)
	}
	before, err := request(c.api, "GET", collections+"c/jobs", "")
	c.must(err)
	for _, r := range []struct{ method, path, body string }{
		{"PUT", "c/jobs/another", far(1)},
		{"PATCH", "c/jobs/fill0", `{"properties":{"state":"disabled"}}`},
		{"DELETE", "c/jobs/fill0", ""},
	} {
		if _, err := request(c.api, r.method, collections+r.path, r.body); err == nil || !strings.Contains(err.Error(), "no room. Nothing was changed.") {
			t.Errorf("%s %s: %v", r.method, r.path, err)
		}
	}
	counters := regexp.MustCompile(`"status":\{[^}]*\}|"state":"completed"`)
	bare := func(b []byte) string { return counters.ReplaceAllString(string(b), "") }
	if after, err := request(c.api, "GET", collections+"c/jobs", ""); err != nil || len(bare(after)) > len(bare(before)) || strings.Contains(string(after), "another") || strings.Contains(string(after), "disabled") {
		t.Errorf("jobs were %s and are %s, %v", before, after, err)
	}
	c.says(c.api, `"nats DEFINITIONS: full, maximum bytes exceeded, for `, false)
	c.finish()

	c.bound("DEFINITIONS", -1)
	_, err = request(c.api, "PUT", collections+"c/jobs/last", far(1))
	c.must(err)
	names := func() string {
		body, err := request(c.api, "GET", collections+"c/jobs", "")
		if err != nil {
			return err.Error()
		}
		return strings.Join(regexp.MustCompile(`"name":"c/[^"]+"`).FindAllString(string(body), -1), " ")
	}
	want := names()
	c.must(c.rdb.FlushAll(t.Context()).Err())
	eventually(t, 30*time.Second, func() error {
		if got := names(); got != want || !strings.Contains(got, "c/last") {
			return fmt.Errorf("jobs are %s, want %s", got, want)
		}
		return nil
	})
}

// TestStorageFull: the nats-server has used up its storage, so that every stream
// refuses. All wait, and nothing is lost or doubled.
func TestStorageFull(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, "")
	if c == nil {
		return
	}
	c.schedule(15)
	eventually(t, 30*time.Second, func() error { return atLeast(c.called(), 2*crowdJobs) })
	// What is reserved for dispatches would not fit.
	s, err := c.js.Stream(t.Context(), "DISPATCH")
	c.must(err)
	cfg := s.CachedInfo().Config
	cfg.MaxBytes = -1
	_, err = c.js.UpdateStream(t.Context(), cfg)
	c.must(err)
	_, err = c.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "BALLAST", Subjects: []string{"ballast"}})
	c.must(err)
	c.nats.kill()
	c.startNATS("max_file_store: 4MB")
	ballast := make([]byte, 500_000)
	eventually(t, 20*time.Second, func() error {
		for range 20 {
			if _, err := c.js.Publish(t.Context(), "ballast", ballast); err != nil {
				if strings.Contains(err.Error(), "insufficient resources") {
					return nil
				}
				return err
			}
		}
		return errors.New("there is room yet")
	})
	c.says(c.admin, `"nats DISPATCH: full, insufficient resources, for [5-9]s"`, false)
	if answer := c.putUntilRefused("fill"); !strings.Contains(answer, "503") {
		t.Errorf("the API says %s", answer)
	}
	c.says(c.api, `"nats DEFINITIONS: full, insufficient resources, for `, false)
	c.must(c.js.DeleteStream(t.Context(), "BALLAST"))
	c.finish()
	c.says(c.admin, `full`, true)
}
