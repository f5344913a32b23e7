package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/backup"
	"github.com/carillon-scheduler/carillon/shared/job"
)

var restoreJobs = flag.Int("restore.jobs", 10_000, "jobs of TestRestoreMany")

// backupOf writes a backup of a collection with some jobs that are due much
// later, and how far each is.
func backupOf(t *testing.T, jobs int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at := time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC)
	w, err := backup.NewWriter(f, backup.Header{ID: fmt.Sprintf("%032x", jobs), Carillon: "test", CreatedAt: at, Shards: 16})
	if err != nil {
		t.Fatal(err)
	}
	write := func(r backup.Record) {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	began := at.AddDate(-200, 0, 0)
	const each = 500 // jobs of a collection
	var c *job.Collection
	for n := range jobs {
		if n%each == 0 {
			c = &job.Collection{
				UID: fmt.Sprintf("c%031x", n), Revision: 2, CollectionRef: job.CollectionRef{Subscription: "s", ResourceGroup: "rg", Collection: fmt.Sprintf("c%d", n/each)},
				Location: "West US", SKU: job.Standard, State: job.CollectionEnabled, CreatedAt: began, ActiveFrom: began,
				Quota: &job.Quota{MaxJobCount: each},
			}
			write(backup.Record{Collection: c})
		}
		next := at.Add(time.Duration(n) * time.Second)
		write(backup.Record{Job: &job.Snapshot{
			Job: &job.Job{
				UID: fmt.Sprintf("%032x", n), Revision: 3, CollectionUID: c.UID, Ref: job.Ref{CollectionRef: c.CollectionRef, Job: fmt.Sprintf("j%d", n)},
				Definition: job.Definition{StartAt: next, State: job.Enabled, Action: job.Action{Type: job.HTTPS, Request: &job.Request{
					URI: "https://example.test/", Method: "POST", Body: strings.Repeat(strconv.Itoa(n), 200),
				}}},
				Series: 3, Anchor: next, CreatedAt: began, SeriesAt: began, ActiveFrom: began,
			},
			Progress: job.Checkpoint{State: job.Enabled, Planned: job.Planned{Series: 3, NextAt: next, Counters: job.Counters{Executions: int64(n)}}},
		}})
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRestoreRefuses: what is no whole backup is refused in one line, before
// anything is written.
func TestRestoreRefuses(t *testing.T) {
	to := newSite(t, 2, keyFile(t))
	good, err := os.ReadFile(backupOf(t, 40))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	edited := func(from, to string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		io.WriteString(w, strings.Replace(string(text), from, to, 1))
		w.Close()
		return b.Bytes()
	}
	flipped := func(n int) []byte {
		b := bytes.Clone(good)
		b[n] ^= 0x10
		return b
	}
	for _, tt := range []struct {
		name, want string
		file       []byte
	}{
		{"empty", `is not a carillon backup: it is empty`, nil},
		{"text", `is not a carillon backup`, []byte("hello\n")},
		{"another gzip", `is not a carillon backup`, edited(`{"carillon":"backup"`, `{"carillon":"keys"`)},
		{"newer", `was written by a newer carillon, test, in format 2`, edited(`"format":1`, `"format":2`)},
		{"cut in the header", `is truncated`, good[:5]},
		{"cut in the middle", `is truncated`, good[:len(good)/2]},
		{"cut at the end", `is truncated`, good[:len(good)-1]},
		{"more at the end", `is damaged or was altered`, append(bytes.Clone(good), 0)},
		{"a bit of the header", `is damaged or was altered`, flipped(30)},
		{"a bit in the middle", `is damaged or was altered`, flipped(len(good) / 2)},
		{"a bit of the checksum", `is damaged or was altered`, flipped(len(good) - 7)},
		{"a counter", `is damaged or was altered: its checksum is wrong`, edited(`"exec":7`, `"exec":6`)},
		{"a count", `is damaged or was altered`, edited(`"jobs":40`, `"jobs":41`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "b")
			if err := os.WriteFile(file, tt.file, 0o600); err != nil {
				t.Fatal(err)
			}
			for name, stdin := range map[string]string{file: "", "-": string(tt.file)} {
				code, out, stderr := command(t.Context(), stdin, append([]string{"restore", name}, to.on...)...)
				if want := "^carillon restore: " + name + " " + tt.want; code != 1 || out != "" || !regexp.MustCompile(want).MatchString(stderr) || strings.Count(stderr, "\n") != 1 {
					t.Errorf("exit %d, %q, %q; want 1 and %q", code, out, stderr, want)
				}
			}
		})
	}
	for name, want := range map[string]string{
		filepath.Join(t.TempDir(), "absent"): `open \S+: no such file or directory\n$`,
		t.TempDir():                          `is not a carillon backup: it is a directory\n$`,
	} {
		code, _, stderr := command(t.Context(), "", append([]string{"restore", name}, to.on...)...)
		if code != 1 || !regexp.MustCompile(want).MatchString(stderr) {
			t.Errorf("exit %d, %q; want 1 and %q", code, stderr, want)
		}
	}
	to.empty()
}

// TestRestoreKeys: keys that the cluster lacks are named, with how many jobs need
// them, and nothing is written unless asked for.
func TestRestoreKeys(t *testing.T) {
	from := newSite(t, 1, keyFile(t))
	from.serve()
	from.planner()
	from.ready()
	from.call(http.MethodPut, "C", fastCollection)
	for _, name := range []string{"one", "two"} {
		from.call(http.MethodPut, "C/jobs/"+name, fmt.Sprintf(
			`{"properties":{"startTime":%q,"action":{"type":"Http","request":{"uri":"http://example.test/","method":"GET","authentication":{"type":"Basic","username":"u","password":"hush"}}}}}`,
			time.Now().AddDate(0, 1, 0).UTC().Format(time.RFC3339)))
	}
	file := from.backup()
	end, _ := backedUp(t, file)
	if len(end.Keys) != 1 || end.Keys[0].Jobs != 2 {
		t.Fatalf("keys %+v", end.Keys)
	}
	_, list, _ := command(t.Context(), "", "keys", "list", from.keys)
	if id := end.Keys[0].ID; !strings.Contains(list, id+"  seals") {
		t.Errorf("the backup names key %s, and the key file has\n%s", id, list)
	}

	to := newSite(t, 1, keyFile(t))
	args := append([]string{"restore", file, "--keys", to.keys}, to.on...)
	want := fmt.Sprintf(`%s lacks key %s, which seals secrets of 2 jobs`, regexp.QuoteMeta(to.keys), end.Keys[0].ID)
	code, out, stderr := command(t.Context(), "", args...)
	if code != 1 || out != "" || !regexp.MustCompile(`^carillon restore: `+want+`: .* --without-keys\n$`).MatchString(stderr) {
		t.Errorf("exit %d, %q, %q", code, out, stderr)
	}
	to.empty()
	code, out, stderr = command(t.Context(), "", append(args, "--without-keys")...)
	if code != 0 || !strings.Contains(out, "restored 1 job collection and 2 jobs.\n") || !regexp.MustCompile(`^warning: `+want+`\n$`).MatchString(stderr) {
		t.Errorf("exit %d, %q, %q", code, out, stderr)
	}
}

// TestRestoreMerge: a cluster that is not empty is refused, unless it is to be
// merged with. Then what was deleted comes back, for good, and what is there
// stays as it is.
func TestRestoreMerge(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3, keyFile(t))
	s.serve()
	s.planner()
	s.ready()
	later := time.Now().AddDate(0, 1, 0).UTC().Format(time.RFC3339)
	put := func(path, body string) {
		t.Helper()
		eventually(t, 30*time.Second, func() error {
			_, err := request(s.api, http.MethodPut, collections+path, fmt.Sprintf(
				`{"properties":{"startTime":%q,"action":{"type":"Http","request":{"uri":"http://example.test/","method":"POST","body":%q}}}}`, later, body))
			return err
		})
	}
	remove := func(path string) { s.call(http.MethodDelete, path, "") }
	for _, name := range []string{"C", "D", "E", "F"} {
		s.call(http.MethodPut, name, fastCollection)
	}
	names := []string{"C/jobs/kept", "C/jobs/deleted", "C/jobs/changed", "C/jobs/anew", "D/jobs/d", "E/jobs/e"}
	for _, path := range names {
		put(path, "before")
	}
	file := s.backup()
	before := s.documents(append(names, "C", "D", "E", "F")...)
	remove("C/jobs/deleted")
	put("C/jobs/changed", "after")
	remove("C/jobs/anew")
	put("C/jobs/anew", "after")
	remove("D")
	remove("E")
	s.call(http.MethodPut, "E", fastCollection)
	put("C/jobs/new", "after")
	after := s.documents("C/jobs/kept", "C/jobs/changed", "C/jobs/anew", "C/jobs/new", "C", "E", "F")

	args := append([]string{"restore", file}, s.on...)
	code, out, stderr := command(t.Context(), "", args...)
	if code != 1 || out != "" || !regexp.MustCompile(`^carillon restore: the cluster is not empty, it has 3 job collections: .*--merge.*\n$`).MatchString(stderr) {
		t.Errorf("exit %d, %q, %q", code, out, stderr)
	}
	if _, err := request(s.api, http.MethodGet, collections+"C/jobs/deleted", ""); err == nil {
		t.Error("a refused restore brought a job back")
	}
	for range 2 { // the second changes nothing
		code, out, stderr = command(t.Context(), "", append(args, "--merge")...)
		want := []string{
			`left out: job /subscriptions/\S+/C/jobs/anew: another of its name`,
			`left out: job /subscriptions/\S+/E/jobs/e: another of its name, or of its collection's, is there`,
			`left out: job collection /subscriptions/\S+/E: another of its name is there`,
			`carillon restore: 3 of the backup's 4 job collections and 6 jobs were left out`,
		}
		if code != 1 || !regexp.MustCompile(`(?s)^`+strings.Join(want, `.*\n`)).MatchString(stderr) || !strings.Contains(out, "restored ") {
			t.Errorf("exit %d, %q, %q", code, out, stderr)
		}
	}
	if !strings.Contains(out, "restored 0 job collections and 0 jobs; 3 job collections and 4 jobs were there already.") {
		t.Errorf("said %q", out)
	}
	check := func() {
		t.Helper()
		for path, doc := range s.documents("C/jobs/deleted", "D", "D/jobs/d") {
			if doc != before[path] {
				t.Errorf("%s:\nwas    %s\nis now %s", path, before[path], doc)
			}
		}
		for path, doc := range s.documents("C/jobs/kept", "C/jobs/changed", "C/jobs/anew", "C/jobs/new", "C", "E", "F") {
			if doc != after[path] {
				t.Errorf("%s:\nwas    %s\nis now %s", path, after[path], doc)
			}
		}
		if _, err := request(s.api, http.MethodGet, collections+"E/jobs/e", ""); err == nil {
			t.Error("a job is in another collection")
		}
	}
	check()
	if err := s.rdb.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	s.ready()
	eventually(t, 30*time.Second, func() error {
		_, err := request(s.api, http.MethodGet, collections+"D/jobs/d", "")
		return err
	})
	check()
}

// TestRestoreWrongCluster: Redis and NATS that do not belong together, or have
// another number of shards, are refused.
func TestRestoreWrongCluster(t *testing.T) {
	one, other := newSite(t, 2, ""), newSite(t, 2, "")
	file := backupOf(t, 3)
	one.restore(file)
	redis, nats, shards := one.on[:2], one.on[2:4], one.on[4:]
	for _, tt := range []struct {
		name string
		on   [][]string
		want string
	}{
		{"other shards", [][]string{redis, nats, {"--shards", "3"}}, `redis was set up with shards 2, this process wants 3`},
		{"other shards, empty redis", [][]string{other.on[:2], nats, {"--shards", "3"}}, `it was made for 2 shards, and 3 are asked for`},
		{"no redis", [][]string{{"--redis", "redis://" + freeAddress(t)}, nats, shards}, `cannot reach Redis`},
		{"no nats", [][]string{redis, {"--nats", "nats://" + freeAddress(t)}, shards}, `cannot reach NATS`},
		{"empty nats", [][]string{redis, other.on[2:4], shards}, `the cluster is not empty, it has 1 job collection`},
		{"empty redis", [][]string{newSite(t, 2, "").on[:2], nats, shards}, `the journal in NATS is not empty, .*: start a planner`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, stderr := command(t.Context(), "", append([]string{"restore", file}, slices.Concat(tt.on...)...)...)
			if code != 1 || out != "" || !regexp.MustCompile(tt.want).MatchString(stderr) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d, %q, %q; want 1 and %q", code, out, stderr, tt.want)
			}
		})
	}
}

// mostMemory returns the most memory that a process had so far, in bytes, where
// the system tells.
func mostMemory(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n << 10
}

// TestRestoreMany: ten thousand jobs are restored and backed up in bounded time
// and memory. A restore that was killed is completed by running it again. What it
// restored is in the journal too.
func TestRestoreMany(t *testing.T) {
	jobs := *restoreJobs
	const maxMemory = 200 << 20 // a quarter of it suffices without the race detector
	file := backupOf(t, jobs)
	s := newSite(t, 8, keyFile(t))

	p := carillon(t, append([]string{"restore", file}, s.on...)...)
	eventually(t, 60*time.Second, func() error {
		if n, err := s.rdb.DBSize(t.Context()).Result(); err != nil || n < 1000 {
			return fmt.Errorf("%d keys, %w", n, err)
		}
		return nil
	})
	p.kill()
	measured := func(args ...string) string {
		t.Helper()
		began, memory := time.Now(), 0
		p := carillon(t, args...)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for running := true; running; {
			select {
			case <-p.ended:
				running = false
			case <-tick.C:
				memory = max(memory, mostMemory(p.Process.Pid))
			}
			if time.Since(began) > time.Minute {
				t.Fatalf("%s goes on after a minute", args[0])
			}
		}
		out, err := os.ReadFile(p.log)
		if err != nil || p.ProcessState.ExitCode() != 0 {
			t.Fatalf("%s: %v: %s", args[0], err, out)
		}
		t.Logf("%s of %d jobs: %v, %d MB", args[0], jobs, time.Since(began).Round(time.Millisecond), memory>>20)
		if memory > maxMemory {
			t.Errorf("%s takes %d MB, more than %d", args[0], memory>>20, maxMemory>>20)
		}
		return string(out)
	}
	out := measured(append([]string{"restore", file}, s.on...)...)
	if m := regexp.MustCompile(`restored (\d+) job collections and (\d+) jobs; (\d+) job collections and (\d+) jobs were there already`).FindStringSubmatch(out); m == nil {
		t.Errorf("said %q", out)
	} else if a, _ := strconv.Atoi(m[2]); a == 0 || a == jobs {
		t.Errorf("said %q: it was not interrupted in the middle", out)
	} else if b, _ := strconv.Atoi(m[4]); a+b != jobs {
		t.Errorf("said %q", out)
	}
	// It is complete now: another time is a mistake.
	if code, _, stderr := command(t.Context(), "", append([]string{"restore", file}, s.on...)...); code != 1 || !strings.Contains(stderr, "is not empty") {
		t.Errorf("exit %d, %q", code, stderr)
	}

	if err := s.rdb.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	s.serve()
	s.planner()
	s.ready()
	again := filepath.Join(t.TempDir(), "again")
	measured(append([]string{"backup", again}, s.redis()...)...)
	_, want := backedUp(t, file)
	_, got := backedUp(t, again)
	if len(got) != jobs {
		t.Errorf("%d jobs", len(got))
	}
	for name, w := range want {
		g := got[name]
		if g == nil || !reflect.DeepEqual(g.Job, w.Job) || !reflect.DeepEqual(g.Progress, w.Progress) {
			t.Fatalf("%s:\nwas    %+v\nis now %+v", name, w, g)
		}
	}
}

// TestRestoreManyRuns: a job with more runs under way than a message of NATS holds,
// as when no worker was there for hours, is restored with all of them, and so is
// the journal.
func TestRestoreManyRuns(t *testing.T) {
	const runs = 7000
	_, one := backedUp(t, backupOf(t, 1))
	o := one["j0"]
	at := time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range runs {
		at := at.Add(time.Duration(n) * time.Second)
		o.Progress.Runs = append(o.Progress.Runs, job.Pending{DueAt: at, Run: job.Run{
			Tag: job.Tag(o.Job.UID, at), UID: o.Job.UID, Revision: o.Job.Revision, At: at, Repeat: 1, Phase: job.MainAction, RetryCount: 1,
		}})
	}
	o.Progress.LastAt, o.Progress.Repeat, o.Progress.Planned.Count = at.Add(time.Duration(runs-1)*time.Second), 1, runs
	file := filepath.Join(t.TempDir(), "many")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := backup.NewWriter(f, backup.Header{ID: strings.Repeat("a", 32), Carillon: "test", CreatedAt: at, Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	c := &job.Collection{UID: o.Job.CollectionUID, Revision: 2, CollectionRef: o.Job.CollectionRef, Location: "West US", SKU: job.Standard, State: job.CollectionEnabled}
	if err := errors.Join(w.Write(backup.Record{Collection: c}), w.Write(backup.Record{Job: o})); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}

	s := newSite(t, 2, keyFile(t))
	s.restore(file)
	for _, when := range []string{"restored", "rebuilt"} {
		_, got := backedUp(t, s.backup())
		tags := make(map[string]bool)
		for _, r := range got["j0"].Progress.Runs {
			tags[r.Tag] = true
		}
		if p := got["j0"].Progress; len(tags) != runs || p.Planned.Count != runs {
			t.Errorf("%s with %d runs, %d planned; want %d", when, len(tags), p.Planned.Count, runs)
		}
		if when == "rebuilt" {
			break
		}
		s.lose()
		s.serve()
		s.planner()
		s.ready()
	}
}

// TestRestoreStandardInput: "-" reads standard input, and leaves nothing behind.
func TestRestoreStandardInput(t *testing.T) {
	text, err := os.ReadFile(backupOf(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s := newSite(t, 2, "")
	code, out, stderr := command(t.Context(), string(text), append([]string{"restore", "-"}, s.on...)...)
	if code != 0 || out != "-: restored 1 job collection and 3 jobs.\n" || stderr != "" {
		t.Errorf("exit %d, %q, %q", code, out, stderr)
	}
	if list, err := filepath.Glob(filepath.Join(dir, "carillon-*")); err != nil || len(list) != 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}
