package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
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
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/backup"
	"github.com/carillon-scheduler/carillon/shared/job"
)

// site is a cluster to back up, or to restore into.
type site struct {
	t    *testing.T
	on   []string // flags: where and how large it is
	rdb  redis.UniversalClient
	nats string
	keys string
	api  string

	server *process
}

func newSite(t *testing.T, shards int, keys string) *site {
	t.Helper()
	redisURL, natsURL := servers(t)
	return siteOn(t, redisURL, natsURL, shards, keys)
}

func siteOn(t *testing.T, redisURL, natsURL string, shards int, keys string) *site {
	t.Helper()
	rdb, err := newRedis(redisURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rdb.Close() })
	on := []string{"--redis", redisURL, "--nats", natsURL, "--shards", strconv.Itoa(shards)}
	return &site{t: t, on: on, rdb: rdb, nats: natsURL, keys: keys}
}

// redis returns the flags that backup needs.
func (s *site) redis() []string { return s.on[:2] }

func (s *site) serve() {
	s.t.Helper()
	p := carillon(s.t, append([]string{"apiserver", "--keys", s.keys, "--listen", "127.0.0.1:0", "--max-jobs", "100000", "--fastest", "1s", "--min-retry-interval", "1s"}, s.on...)...)
	s.server, s.api = p, p.said(s.t, `url=(http://\S+)`, 20*time.Second)
}

func (s *site) planner(flags ...string) *process {
	s.t.Helper()
	return carillon(s.t, append(append([]string{"planner"}, s.on...), flags...)...)
}

func (s *site) worker() *process {
	s.t.Helper()
	return carillon(s.t, append([]string{"worker", "--keys", s.keys}, s.on[2:]...)...)
}

func (s *site) ready() {
	s.t.Helper()
	eventually(s.t, 30*time.Second, func() error {
		resp, err := http.Get(s.api + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				err = errors.New(resp.Status)
			}
		}
		return err
	})
}

func (s *site) call(method, path, body string) []byte {
	s.t.Helper()
	answer, err := request(s.api, method, collections+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer
}

// is waits until a job's status is as wanted.
func (s *site) is(path, state string, executions, failures, faults int) {
	s.t.Helper()
	eventually(s.t, 40*time.Second, func() error {
		got, err := (&dev{api: s.api}).status(path)
		if err == nil && (got.State != state || got.ExecutionCount != executions || got.FailureCount != failures || got.FaultedCount != faults) {
			err = fmt.Errorf("%s is %+v", path, got)
		}
		return err
	})
}

// documents returns what the API answers of collections and jobs, with their ETags.
func (s *site) documents(paths ...string) map[string]string {
	s.t.Helper()
	docs := make(map[string]string)
	for _, path := range paths {
		resp, err := http.Get(s.api + collections + path + "?api-version=2016-03-01")
		if err != nil {
			s.t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			s.t.Fatalf("%s: %s %s %v", path, resp.Status, body, err)
		}
		docs[path] = resp.Header.Get("ETag") + " " + strings.ReplaceAll(string(body), s.api, "")
	}
	return docs
}

// empty checks that nothing was ever written.
func (s *site) empty() {
	s.t.Helper()
	if n, err := s.rdb.DBSize(s.t.Context()).Result(); err != nil || n != 0 {
		s.t.Errorf("redis has %d keys, %v", n, err)
	}
	for name := range s.streams().StreamNames(s.t.Context()).Name() {
		s.t.Errorf("nats has a stream %s", name)
	}
}

// lose empties Redis, and deletes streams.
func (s *site) lose(streams ...string) {
	s.t.Helper()
	if err := s.rdb.FlushAll(s.t.Context()).Err(); err != nil {
		s.t.Fatal(err)
	}
	for _, name := range streams {
		if err := s.streams().DeleteStream(s.t.Context(), name); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *site) streams() jetstream.JetStream {
	s.t.Helper()
	nc, err := nats.Connect(s.nats)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		s.t.Fatal(err)
	}
	return js
}

// backup makes a backup and returns the file.
func (s *site) backup() string {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "backup")
	code, out, stderr := command(s.t.Context(), "", append([]string{"backup", file}, s.redis()...)...)
	if code != 0 || stderr != "" || !strings.HasPrefix(out, file+": ") {
		s.t.Fatalf("backup: exit %d, %q, %q", code, out, stderr)
	}
	return file
}

// restore restores a file and returns what was said of it.
func (s *site) restore(file string, flags ...string) string {
	s.t.Helper()
	code, out, stderr := command(s.t.Context(), "", append(append([]string{"restore", file}, s.on...), flags...)...)
	if code != 0 || stderr != "" {
		s.t.Fatalf("restore: exit %d, %q, %q", code, out, stderr)
	}
	return out
}

// unzipped returns the text of a backup.
func unzipped(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// backedUp returns what a file holds: its jobs by name.
func backedUp(t *testing.T, file string) (end backup.End, jobs map[string]*job.Snapshot) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := backup.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	jobs = make(map[string]*job.Snapshot)
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.End(), jobs
		}
		if err != nil {
			t.Fatal(err)
		}
		if rec.Job != nil {
			jobs[rec.Job.Job.Job] = rec.Job
		}
	}
}

// target is what jobs call: /ok answers 200, the rest 500.
type target struct {
	*httptest.Server
	mu    sync.Mutex
	calls map[string][]string // job -> execution tags
	auth  map[string]string   // job -> newest Authorization
}

func newTarget(t *testing.T) *target {
	g := &target{calls: make(map[string][]string), auth: make(map[string]string)}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		name := r.Header.Get("x-ms-scheduler-jobid")
		g.calls[name] = append(g.calls[name], r.Header.Get("x-ms-execution-tag"))
		g.auth[name] = r.Header.Get("Authorization")
		if !strings.HasPrefix(r.URL.Path, "/ok") {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(g.Close)
	return g
}

// take returns the calls so far and forgets them.
func (g *target) take() map[string][]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	calls := g.calls
	g.calls = make(map[string][]string)
	return calls
}

// a definition of a job that calls a path of the target.
func (g *target) calling(path, retry, rest string) string {
	action := fmt.Sprintf(`"action":{"type":"Http","request":{"uri":%q,"method":"POST","body":"x"},"retryPolicy":%s}`, g.URL+path, retry)
	return `{"properties":{` + action + rest + `}}`
}

const (
	once       = `{"retryType":"none"}`
	everyOther = `,"recurrence":{"frequency":"second","interval":2`
)

// everyKind makes collections and jobs in every state there is, and stops the
// planner when they are in it. It returns their paths: of those at rest, and of
// those that go on.
func everyKind(s *site, g *target) (still, moving []string) {
	t := s.t
	t.Helper()
	s.serve()
	planner, worker := s.planner(), s.worker()
	s.ready()
	for _, c := range []struct{ name, body string }{
		{"C", fastCollection},
		{"off", fastCollection},
		{"free", `{"location":"westus","tags":{"a":"b"},"properties":{"sku":{"name":"Free"}}}`},
	} {
		s.call(http.MethodPut, c.name, c.body)
		still = append(still, c.name)
	}
	later := fmt.Sprintf(`,"startTime":%q`, time.Now().AddDate(0, 6, 0).UTC().Format(time.RFC3339))
	put := func(list *[]string, path, body string) {
		t.Helper()
		s.call(http.MethodPut, path, body)
		*list = append(*list, path)
	}
	waiting := func(every string) string {
		return fmt.Sprintf(`{"retryType":"fixed","retryInterval":%q,"retryCount":2}`, every)
	}
	put(&still, "C/jobs/future", g.calling("/ok", once, later))
	put(&still, "C/jobs/Monthly", g.calling("/ok", once, later+`,"recurrence":{"frequency":"month","schedule":{"monthDays":[-1]},"count":7}`))
	put(&still, "C/jobs/completed", g.calling("/ok", once, ""))
	put(&still, "C/jobs/faulted", g.calling("/fail", once, ""))
	put(&still, "C/jobs/disabled", g.calling("/ok", once, everyOther+`},"state":"disabled"`))
	put(&still, "C/jobs/apologetic", strings.Replace(g.calling("/fail", once, ""), `"retryPolicy"`, fmt.Sprintf(`"errorAction":{"type":"Http","request":{"uri":%q,"method":"GET"}},"retryPolicy"`, g.URL+"/ok"), 1))
	put(&still, "C/jobs/patient", g.calling("/fail", waiting("PT1H"), ""))
	put(&still, "C/jobs/secretive", strings.Replace(g.calling("/ok", once, later), `"method"`, `"authentication":{"type":"Basic","username":"u","password":"hush"},"method"`, 1))
	put(&still, "off/jobs/idle", g.calling("/ok", once, `,"recurrence":{"frequency":"hour"}`))
	put(&still, "free/jobs/hourly", g.calling("/ok", once, `,"recurrence":{"frequency":"hour"}`))
	s.call(http.MethodPost, "C/jobs/disabled/run", "")
	s.is("C/jobs/disabled", "disabled", 1, 0, 0)
	s.is("C/jobs/completed", "completed", 1, 0, 0)
	s.is("C/jobs/faulted", "faulted", 1, 1, 1)
	s.is("C/jobs/apologetic", "faulted", 1, 1, 1)
	s.is("C/jobs/patient", "enabled", 1, 1, 0)
	s.is("free/jobs/hourly", "enabled", 1, 0, 0)
	s.is("off/jobs/idle", "enabled", 1, 0, 0)
	s.call(http.MethodPatch, "C/jobs/future", `{"properties":{"action":{"request":{"body":"y"}}}}`) // revision 2
	s.call(http.MethodPatch, "off", `{"properties":{"state":"Disabled"}}`)
	put(&moving, "C/jobs/counted", g.calling("/ok", once, everyOther+`,"count":6}`))
	s.is("C/jobs/counted", "enabled", 1, 0, 0)
	put(&moving, "C/jobs/retried", g.calling("/fail", waiting("PT10S"), ""))
	s.is("C/jobs/retried", "enabled", 1, 1, 0)
	eventually(t, 20*time.Second, func() error {
		got, err := (&dev{api: s.api}).status("C/jobs/counted")
		if err == nil && got.ExecutionCount < 2 {
			err = fmt.Errorf("counted is %+v", got)
		}
		return err
	})
	if code := planner.stop(t, 10*time.Second); code != 0 {
		t.Errorf("planner: exit %d", code)
	}
	if code := worker.stop(t, 10*time.Second); code != 0 {
		t.Errorf("worker: exit %d", code)
	}
	return still, append(moving, "C/jobs", "off/jobs", "free/jobs")
}

// TestBackup: what a cluster holds, in whatever state, answers in another with
// another number of shards as it did before, and goes on from there. Nothing that
// the backup knows as executed is executed again. That holds if Redis is lost
// right after: the journal has it all.
func TestBackup(t *testing.T) {
	t.Parallel()
	g, keys := newTarget(t), keyFile(t)
	from := newSite(t, 3, keys)
	still, moving := everyKind(from, g)
	before := from.documents(append(still, moving...)...)
	executed := g.take()
	file := from.backup()
	end, jobs := backedUp(t, file)
	if end.Collections != 3 || end.Jobs != 12 || end.Runs < 2 || len(end.Keys) != 1 || end.Keys[0].Jobs != 1 {
		t.Errorf("the backup holds %+v", end)
	}
	underWay := make(map[string]bool)
	for _, j := range jobs {
		for _, r := range j.Progress.Runs {
			underWay[r.Tag] = true
		}
	}
	if text := unzipped(t, file); !strings.Contains(text, "secretive") || strings.Contains(text, "hush") || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("hush"))) {
		t.Error("the secret is in the file, or its job is not")
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}

	for _, lost := range []bool{false, true} {
		t.Run(map[bool]string{false: "as restored", true: "redis lost after"}[lost], func(t *testing.T) {
			to := newSite(t, 5, keys)
			if out := to.restore(file, "--keys", keys); !strings.Contains(out, "restored 3 job collections and 12 jobs.") {
				t.Errorf("said %q", out)
			}
			to.serve()
			if lost {
				if err := to.rdb.FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
			} else {
				if d := cmp.Diff(before, to.documents(append(still, moving...)...)); d != "" {
					t.Errorf("answers (-before +restored):\n%s", d)
				}
			}
			g.take()
			to.planner()
			to.worker()
			to.ready()
			to.is("C/jobs/counted", "completed", 6, 0, 0)
			to.is("C/jobs/retried", "faulted", 1, 3, 1)
			for path, doc := range to.documents(still...) {
				if path != "off/jobs/idle" && doc != before[path] { // that one's next time moves on
					t.Errorf("%s:\nwas    %s\nis now %s", path, before[path], doc)
				}
			}

			// The sealed secret opens.
			to.call(http.MethodPost, "C/jobs/secretive/run", "")
			to.is("C/jobs/secretive", "enabled", 1, 0, 0)
			g.mu.Lock()
			if user, password, _ := (&http.Request{Header: http.Header{"Authorization": {g.auth["secretive"]}}}).BasicAuth(); user != "u" || password != "hush" {
				t.Errorf("authorization %q", g.auth["secretive"])
			}
			g.mu.Unlock()

			again := g.take()
			tags := make(map[string]int)
			for _, tag := range append(executed["counted"], again["counted"]...) {
				tags[tag]++
			}
			if len(tags) != 6 {
				t.Errorf("counted was executed with %d tags: %v", len(tags), tags)
			}
			for tag, n := range tags {
				if n > 1 && !underWay[tag] || n > 2 {
					t.Errorf("%s was executed %d times, under way: %v", tag, n, underWay[tag])
				}
			}
			for _, name := range []string{"completed", "faulted", "apologetic", "patient", "disabled", "hourly", "idle"} {
				if n := len(again[name]); n != 0 {
					t.Errorf("%s was executed %d times more", name, n)
				}
			}
			if n := len(again["retried"]); n != 2 || again["retried"][0] != executed["retried"][0] {
				t.Errorf("retried was executed with %v, and before with %v", again["retried"], executed["retried"])
			}
		})
	}
}

// TestBackupWhileBusy: each job in a backup of a cluster at work is of one
// moment, and restored while planners are at work it is executed as often as it
// says.
func TestBackupWhileBusy(t *testing.T) {
	t.Parallel()
	const jobs, count = 60, 8
	g, keys := newTarget(t), keyFile(t)
	from := newSite(t, 2, keys)
	from.serve()
	from.planner()
	from.worker()
	from.ready()
	from.call(http.MethodPut, "C", fastCollection)
	for i := range jobs {
		from.call(http.MethodPut, fmt.Sprintf("C/jobs/j%d", i), g.calling("/ok", once, fmt.Sprintf(`,"recurrence":{"frequency":"second","interval":1,"count":%d}`, count)))
	}
	var file string
	halfway := 0
	eventually(t, 30*time.Second, func() error { // back up again and again until some are executed
		file = from.backup()
		_, held := backedUp(t, file)
		if len(held) != jobs {
			t.Fatalf("%d jobs", len(held))
		}
		halfway = 0
		for name, j := range held {
			p := &j.Progress
			if p.Planned.Count != p.Planned.Executions+int64(len(p.Runs)) {
				t.Fatalf("%s: planned %d, executed %d, under way %d", name, p.Planned.Count, p.Planned.Executions, len(p.Runs))
			}
			if p.Planned.Count >= count/2 {
				halfway++
			}
		}
		if halfway < jobs/2 {
			return fmt.Errorf("%d jobs are halfway", halfway)
		}
		return nil
	})

	to := newSite(t, 4, keys)
	to.serve()
	to.planner()
	to.worker()
	to.ready()
	to.restore(file)
	for i := range jobs {
		to.is(fmt.Sprintf("C/jobs/j%d", i), "completed", count, 0, 0)
	}
}

// TestRestoreWhatWasLost: a cluster that lost its Redis and its NATS, or of that
// only the journal, goes on from its last backup, made while it was at work. Every
// occurrence is executed, under one tag, and counted once.
func TestRestoreWhatWasLost(t *testing.T) {
	all := []string{"DEFINITIONS", "HISTORY", "DISPATCH"}
	type losing struct {
		name  string
		redis func(*testing.T) string
		lost  []string
	}
	list := []losing{{"redis", startRedis, all}, {"history is left", startRedis, []string{"DEFINITIONS", "DISPATCH"}}}
	if program(t, "redis-server") != "" { // the stand-in is no cluster
		list = append(list, losing{"redis cluster", startRedisCluster, all})
	}
	for _, tt := range list {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			redisURL := tt.redis(t)
			const count = 12
			g := newTarget(t)
			s := siteOn(t, redisURL, startNATS(t), 3, keyFile(t))
			s.serve()
			roles := []*process{s.planner(), s.worker()}
			s.ready()
			s.call(http.MethodPut, "C", fastCollection)
			often := fmt.Sprintf(`,"recurrence":{"frequency":"second","interval":1,"count":%d}`, count)
			s.call(http.MethodPut, "C/jobs/counted", g.calling("/ok", once, often))
			s.call(http.MethodPut, "C/jobs/failing", g.calling("/fail", once, often))
			executed := func(name string) int {
				tags := make(map[string]bool)
				g.mu.Lock()
				defer g.mu.Unlock()
				for _, tag := range g.calls[name] {
					tags[tag] = true
				}
				return len(tags)
			}
			eventually(t, 20*time.Second, func() error {
				if n, m := executed("counted"), executed("failing"); min(n, m) < 4 {
					return fmt.Errorf("executed %d and %d times", n, m)
				}
				return nil
			})
			file := s.backup()
			_, jobs := backedUp(t, file)
			if p := &jobs["counted"].Progress.Planned; p.Count < 3 || p.Count >= count {
				t.Fatalf("the backup is not from halfway: %+v", p)
			}
			for _, p := range append(roles, s.server) {
				p.stop(t, 10*time.Second)
			}
			s.lose(tt.lost...)
			if out := s.restore(file, "--keys", s.keys); !strings.Contains(out, "restored 1 job collection and 2 jobs.") {
				t.Errorf("said %q", out)
			}
			s.serve()
			s.planner()
			s.worker()
			s.ready()
			s.is("C/jobs/counted", "completed", count, 0, 0)
			s.is("C/jobs/failing", "faulted", count, count, count)
			for _, name := range []string{"counted", "failing"} {
				if n := executed(name); n != count {
					t.Errorf("%s was executed with %d tags, want %d", name, n, count)
				}
			}
		})
	}
}

// startRedisCluster starts a Redis Cluster of one node.
func startRedisCluster(t *testing.T) string {
	t.Helper()
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	start(t, "redis-server", exec.Command(program(t, "redis-server"), "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "", "--cluster-enabled", "yes"))
	eventually(t, 10*time.Second, func() error { return redisPing(address) })
	node := redis.NewClient(&redis.Options{Addr: address})
	defer node.Close()
	if err := node.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func() error {
		info, err := node.ClusterInfo(t.Context()).Result()
		if err == nil && !strings.Contains(info, "cluster_state:ok") {
			err = errors.New(info)
		}
		return err
	})
	return "redis+cluster://" + address
}

// TestBackupMissed: to the planners, the time since the backup is time in which
// they were away.
func TestBackupMissed(t *testing.T) {
	t.Parallel()
	g, keys := newTarget(t), keyFile(t)
	from := newSite(t, 2, keys)
	from.serve()
	planner, worker := from.planner(), from.worker()
	from.ready()
	from.call(http.MethodPut, "C", fastCollection)
	from.call(http.MethodPut, "C/jobs/often", g.calling("/ok", once, `,"recurrence":{"frequency":"second","interval":1}`))
	from.is("C/jobs/often", "enabled", 1, 0, 0)
	planner.stop(t, 10*time.Second)
	worker.stop(t, 10*time.Second)
	file := from.backup()
	_, jobs := backedUp(t, file)
	was := jobs["often"].Progress

	to := newSite(t, 2, keys)
	to.restore(file)
	to.serve()
	eventually(t, 20*time.Second, func() error { // some occurrences pass
		if since := time.Since(was.Planned.NextAt); since < 4*time.Second {
			return fmt.Errorf("%v have passed", since)
		}
		return nil
	})
	to.planner("--missed-after", "2s")
	to.worker()
	var rows struct {
		Value []struct {
			Properties struct{ Status, Message string }
		}
	}
	eventually(t, 20*time.Second, func() error {
		resp, err := http.Get(to.api + collections + "C/jobs/often/history?api-version=2016-03-01&$filter=status%20eq%20'Skipped'")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&rows); err != nil {
			return err
		}
		if len(rows.Value) == 0 {
			return errors.New("nothing was skipped")
		}
		return nil
	})
	if !regexp.MustCompile(`\d occurrences before this one were missed`).MatchString(rows.Value[0].Properties.Message) {
		t.Errorf("history says %+v", rows.Value)
	}
}

// TestBackupFile: a file is there whole or not at all, and none is replaced
// unless asked for. "-" is standard output.
func TestBackupFile(t *testing.T) {
	s := newSite(t, 1, keyFile(t))
	dir := t.TempDir()
	file := filepath.Join(dir, "b")
	fails := func(pattern string, args ...string) {
		t.Helper()
		code, out, stderr := command(t.Context(), "", append([]string{"backup"}, args...)...)
		if code != 1 || out != "" || !regexp.MustCompile(`^carillon backup: `+pattern).MatchString(stderr) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q, %q; want 1 and %q", args, code, out, stderr, pattern)
		}
	}
	on := s.redis()
	fails(`there is no carillon cluster in Redis at redis://.*--redis`, file, on[0], on[1])
	s.empty()
	fails(`cannot reach Redis at redis://`+regexp.QuoteMeta(freeAddress(t)[:10]), file, "--redis", "redis://"+freeAddress(t))
	fails(`make backup file: .*no such file or directory`, filepath.Join(dir, "absent", "b"), on[0], on[1])
	fails(`\S+ is there, and no file`, "--force", dir, on[0], on[1])

	s.serve()
	fails(`what Redis at redis://\S+ holds has yet to be brought up to date: start a planner`, file, on[0], on[1])
	planner := s.planner()
	s.ready()
	if code, out, stderr := command(t.Context(), "", "backup", file, on[0], on[1]); code != 0 || out != file+": 0 job collections and 0 jobs, 0 runs under way.\n" || stderr != "" {
		t.Errorf("exit %d, %q, %q", code, out, stderr)
	}
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fails(`\S+ exists: name another file, or replace it with --force`, file, on[0], on[1])
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(first, now) {
		t.Errorf("the file was changed, %v", err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := command(t.Context(), "", "backup", "--force", file, on[0], on[1]); code != 0 {
		t.Errorf("--force: exit %d, %q", code, stderr)
	}
	if now, err := os.ReadFile(file); err != nil || bytes.Equal(first, now) {
		t.Errorf("the file was not replaced, %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("left in the directory: %v, %v", list, err)
	}
	planner.stop(t, 10*time.Second)
	code, out, stderr := command(t.Context(), "", "backup", "-", on[0], on[1])
	if code != 0 || !strings.HasPrefix(stderr, "-: 0 job collections") || !strings.Contains(stderr, "No planner is at work") {
		t.Errorf("exit %d, %q", code, stderr)
	}
	r, err := backup.NewReader(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if h := r.Header(); len(h.ID) != 32 || h.Carillon != buildVersion() || h.Shards != 1 || time.Since(h.CreatedAt).Abs() > time.Minute {
		t.Errorf("header %+v", h)
	}
}

// TestProgress: a person at a terminal sees something once a second, and nobody
// else does.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := &progress{w: &b}
		for n := range 30 {
			p.show("%d jobs", n)
			time.Sleep(100 * time.Millisecond)
		}
		p.clear()
		p.clear()
		const line = "\r\x1b[K"
		if want := line + "0 jobs" + line + "10 jobs" + line + "20 jobs" + line; b.String() != want {
			t.Errorf("%q, want %q", b.String(), want)
		}
	})
	if p := newProgress(new(bytes.Buffer)); p.w != nil {
		t.Error("a buffer is no terminal")
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p := newProgress(f); p.w != nil {
		t.Error("a file is no terminal")
	}
}
