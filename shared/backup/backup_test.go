package backup_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/backup"
	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/recur"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var header = backup.Header{ID: strings.Repeat("ab", 16), Carillon: "v1.2.3", CreatedAt: noon, Shards: 16}

// sealed returns a secret that looks as if sealed with a key.
func sealed(key byte) job.Secret {
	return job.Secret(job.SealedPrefix + base64.RawStdEncoding.EncodeToString([]byte{1, 0xa0, 0, 0, key, 9, 9, 9}))
}

var collection = &job.Collection{
	UID: strings.Repeat("c", 32), Revision: 3, CollectionRef: job.CollectionRef{Subscription: "s", ResourceGroup: "g", Collection: "c"},
	Location: "West US", Tags: map[string]string{"<a>": "ü"}, SKU: job.Standard, State: job.CollectionEnabled, CreatedAt: noon, ActiveFrom: noon,
}

// newJob returns a job of the collection with everything set.
func newJob(name string, keys ...byte) *job.Snapshot {
	uid := fmt.Sprintf("%032x", name)
	definition := func(rev int64) *job.Job {
		j := &job.Job{
			UID: uid, Revision: rev, CollectionUID: collection.UID, Ref: job.Ref{CollectionRef: collection.CollectionRef, Job: name},
			Definition: job.Definition{
				StartAt: noon, State: job.Enabled, Recurrence: &recur.Spec{Frequency: recur.Hour, Interval: 2, Count: 9},
				Action: job.Action{Type: job.HTTPS, Request: &job.Request{URI: "https://example.test/", Method: "POST"}},
			},
			CreatedAt: noon, UpdatedAt: noon, Series: 2, SeriesAt: noon, Anchor: noon, ActiveFrom: noon,
		}
		for i, k := range keys {
			switch i {
			case 0:
				j.Action.Request.Authentication = &job.Authentication{Type: job.Basic, Password: sealed(k)}
			default:
				j.Action.Error = &job.Action{Type: job.StorageQueue, Queue: &job.QueueMessage{SASToken: sealed(k)}}
			}
		}
		return j
	}
	return &job.Snapshot{
		Job: definition(4), Outcome: job.Faulted, FinalAt: noon.Add(time.Hour), Older: []*job.Job{definition(3)},
		Progress: job.Checkpoint{
			State: job.Enabled, LastExecutionAt: noon, LastAt: noon, Repeat: 3,
			Planned: job.Planned{Series: 2, Count: 5, NextAt: noon.Add(2 * time.Hour), Counters: job.Counters{Executions: 4, Failures: 3, Faults: 2}},
			Runs: []job.Pending{{
				Run:   job.Run{Tag: job.Tag(uid, noon), UID: uid, Revision: 3, At: noon, Repeat: 2, Manual: true, Phase: job.MainAction, RetryCount: 1},
				DueAt: noon.Add(time.Minute),
			}},
		},
	}
}

func records() []backup.Record {
	return []backup.Record{{Collection: collection}, {Job: newJob("one", 1, 2)}, {Job: newJob("two", 2)}, {Job: newJob("three")}}
}

func write(tb testing.TB, list []backup.Record) ([]byte, backup.End) {
	tb.Helper()
	var b bytes.Buffer
	w, err := backup.NewWriter(&b, header)
	if err != nil {
		tb.Fatal(err)
	}
	for _, r := range list {
		if err := w.Write(r); err != nil {
			tb.Fatal(err)
		}
	}
	end, err := w.Close()
	if err != nil {
		tb.Fatal(err)
	}
	return b.Bytes(), end
}

// read reads a whole backup.
func read(in io.Reader) (head backup.Header, list []backup.Record, end backup.End, err error) {
	r, err := backup.NewReader(in)
	if err != nil {
		return head, nil, end, err
	}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			if _, again := r.Next(); !errors.Is(again, io.EOF) {
				return head, list, end, fmt.Errorf("after the end: %w", again)
			}
			return r.Header(), list, r.End(), nil
		}
		if err != nil {
			return head, list, end, err
		}
		list = append(list, rec)
	}
}

func TestRoundTrip(t *testing.T) {
	for name, want := range map[string][]backup.Record{"empty": nil, "all kinds": records(), "a long line": {
		{Collection: collection}, {Job: func() *job.Snapshot {
			j := newJob("long")
			j.Job.Action.Request.Body = strings.Repeat("long ", 100_000)
			return j
		}()},
	}} {
		t.Run(name, func(t *testing.T) {
			file, end := write(t, want)
			head, got, readEnd, err := read(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(header, head); d != "" {
				t.Errorf("header (-want +got):\n%s", d)
			}
			if d := cmp.Diff(end, readEnd); d != "" {
				t.Errorf("end (-want +got):\n%s", d)
			}
			if d := cmp.Diff(want, got, cmp.Transformer("secret", func(s job.Secret) []byte { return []byte(s) })); d != "" {
				t.Errorf("records (-want +got):\n%s", d)
			}
		})
	}
}

func TestEnd(t *testing.T) {
	_, end := write(t, records())
	want := backup.End{Collections: 1, Jobs: 3, Runs: 3, Keys: []backup.Key{{ID: "a0000001", Jobs: 1}, {ID: "a0000002", Jobs: 2}}}
	if d := cmp.Diff(want, end); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// unzip returns the lines of a backup, and zip makes a file of lines.
func unzip(tb testing.TB, file []byte) []string {
	tb.Helper()
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
}

func zip(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.Bytes()
}

// What was written once must be readable for ever: a change of these lines is a
// new format.
func TestGolden(t *testing.T) {
	file, _ := write(t, records()[:2])
	const path = "testdata/format-1.jsonl"
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), strings.Join(unzip(t, file), "")+"\n"); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
	if _, list, _, err := read(bytes.NewReader(zip(string(want)))); err != nil || len(list) != 2 {
		t.Errorf("%s: %d records, %v", path, len(list), err)
	}
}

// Whatever is missing at the end, or differs anywhere, is noticed.
func TestEveryByteCounts(t *testing.T) {
	file, _ := write(t, records())
	for n := range len(file) {
		_, _, _, err := read(bytes.NewReader(file[:n]))
		switch {
		case n == 0 && !errors.Is(err, backup.ErrNotBackup), n > 0 && !errors.Is(err, backup.ErrTruncated):
			t.Errorf("%d bytes of %d: %v", n, len(file), err)
		}
	}
	lines := unzip(t, file)
	for n := range len(file) {
		for _, flip := range []byte{0x01, 0x10, 0x80} {
			altered := bytes.Clone(file)
			altered[n] ^= flip
			// Some bits, gzip's time say, say nothing of the content.
			if _, _, _, err := read(bytes.NewReader(altered)); err == nil && !slices.Equal(lines, unzip(t, altered)) {
				t.Errorf("byte %d of %d altered: no error", n, len(file))
			}
		}
	}
	if _, _, _, err := read(bytes.NewReader(append(bytes.Clone(file), 'x'))); !errors.Is(err, backup.ErrAltered) {
		t.Errorf("a byte more: %v", err)
	}
	if _, _, _, err := read(bytes.NewReader(append(bytes.Clone(file), file...))); !errors.Is(err, backup.ErrAltered) {
		t.Errorf("twice: %v", err)
	}
}

// Lines that were changed, and zipped again.
func TestAltered(t *testing.T) {
	file, _ := write(t, records())
	lines := unzip(t, file)
	last := len(lines) - 1
	edit := func(i int, from, to string) func([]string) []string {
		return func(l []string) []string {
			if !strings.Contains(l[i], from) {
				panic(l[i] + " has no " + from)
			}
			l[i] = strings.Replace(l[i], from, to, 1)
			return l
		}
	}
	for _, tt := range []struct {
		name string
		edit func([]string) []string
		want error
		text string
	}{
		{"nothing", func([]string) []string { return nil }, backup.ErrTruncated, ""},
		{"text", func([]string) []string { return []string{"hello\n"} }, backup.ErrNotBackup, ""},
		{"other JSON", func([]string) []string { return []string{"{}\n"} }, backup.ErrNotBackup, ""},
		{"of another kind", edit(0, `"backup"`, `"history"`), backup.ErrNotBackup, ""},
		{"newer", edit(0, `"format":1`, `"format":2`), backup.ErrNewer, "v1.2.3, in format 2; this one reads up to 1"},
		{"newer, another shape", func([]string) []string {
			return []string{`{"carillon":"backup","format":7,"version":"v9","created":1}` + "\n"}
		}, backup.ErrNewer, "v9, in format 7"},
		{"a field that is new", edit(2, `"rev":4`, `"rev":4,"colour":"red"`), backup.ErrNewer, `v1.2.3: .*"colour"`},
		{"a header's field that is new", edit(0, `"shards"`, `"colour":1,"shards"`), backup.ErrNewer, `"colour"`},
		{"a revision", edit(2, `"rev":4`, `"rev":5`), backup.ErrAltered, "checksum"},
		{"a space", edit(3, `{`, `{ `), backup.ErrAltered, "checksum"},
		{"no JSON", edit(2, `{`, `[`), backup.ErrAltered, ""},
		{"the header", edit(0, `"shards":16`, `"shards":15`), backup.ErrAltered, "checksum"},
		{"a job is missing", func(l []string) []string { return append(l[:2:2], l[3:]...) }, backup.ErrAltered, "checksum"},
		{"the collection is missing", func(l []string) []string { return append(l[:1:1], l[2:]...) }, backup.ErrAltered, "a job is not with its collection"},
		{"lines in another order", func(l []string) []string { l[2], l[3] = l[3], l[2]; return l }, backup.ErrAltered, "checksum"},
		{"a secret in the open", edit(2, `sealed:`, `naked:`), backup.ErrAltered, "is not sealed"},
		{"a count", edit(last, `"jobs":3`, `"jobs":2`), backup.ErrAltered, "of another"},
		{"a key", edit(last, `a0000001`, `a0000009`), backup.ErrAltered, "of another"},
		{"no end", func(l []string) []string { return l[:last] }, backup.ErrTruncated, ""},
		{"half a line", func(l []string) []string { l[last] = l[last][:9]; return l }, backup.ErrTruncated, ""},
		{"more after the end", func(l []string) []string { return append(l, "\n", l[2]) }, backup.ErrAltered, "follows its end"},
		{"empty line", func(l []string) []string { l[1] += "\n"; return l }, backup.ErrAltered, ""},
		{"null", func(l []string) []string { l[1] = "null\n"; return l }, backup.ErrAltered, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := tt.edit(append([]string(nil), lines...))
			text := strings.Join(l, "")
			if !errors.Is(tt.want, backup.ErrTruncated) && !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			_, _, _, err := read(bytes.NewReader(zip(text)))
			if !errors.Is(err, tt.want) || !regexp.MustCompile(tt.text).MatchString(err.Error()) {
				t.Errorf("%v, want %v %s", err, tt.want, tt.text)
			}
		})
	}
}

// A line that never ends is given up: at once if it is the first, for then this is
// no backup, and otherwise when it is longer than any job.
func TestBomb(t *testing.T) {
	file, _ := write(t, records())
	first := unzip(t, file)[0]
	for _, tt := range []struct {
		name, begins string
		want         error
		most         int // bytes allocated
	}{
		{"no header", "", backup.ErrNotBackup, 2 << 20},
		{"header and no more", first + `{"collection":{"uid":"`, backup.ErrAltered, 200 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			io.WriteString(z, tt.begins)
			for range 100 {
				z.Write(make([]byte, 1<<20))
			}
			z.Close()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, _, err := read(&b)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, tt.want) || took > uint64(tt.most) {
				t.Errorf("%v, with %d MB; want %v", err, took>>20, tt.want)
			}
		})
	}
}

// What cannot be read is not the file's fault.
func TestReadFails(t *testing.T) {
	file, _ := write(t, records())
	broken := errors.New("disk on fire")
	for _, n := range []int{0, 5, len(file) / 2, len(file)} {
		_, _, _, err := read(io.MultiReader(bytes.NewReader(file[:n]), failing{broken}))
		if !errors.Is(err, broken) || errors.Is(err, backup.ErrTruncated) || errors.Is(err, backup.ErrAltered) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error) { return 0, f.error }

// No secret leaves the cluster in the open.
func TestUnsealed(t *testing.T) {
	for _, s := range []job.Secret{"hush", job.SealedPrefix + "x", job.SealedPrefix + "AAAAAAAAAAAA"} {
		j := newJob("one", 1, 2)
		j.Job.Action.Error.Queue.SASToken = s
		w, err := backup.NewWriter(io.Discard, header)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(backup.Record{Job: j}); err == nil || !strings.Contains(err.Error(), "queueMessage.sasToken of job /subscriptions/") || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", string(s), err)
		}
	}
}

// FuzzReader: nothing makes a reader panic, and what it takes is what a writer
// writes.
func FuzzReader(f *testing.F) {
	file, _ := write(f, records())
	f.Add([]byte(strings.Join(unzip(f, file), "")))
	f.Add([]byte(strings.Join(unzip(f, file), "") + "\n"))
	f.Add([]byte(`{"carillon":"backup","format":1}` + "\n" + `{"collection":{}}` + "\n" + `{"job":{"job":{},"older":[null]}}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, list, _, err := read(bytes.NewReader(zip(string(text))))
		if err != nil {
			return
		}
		_, again, _, err := read(bytes.NewReader(func() []byte { b, _ := write(t, list); return b }()))
		if err != nil || len(again) != len(list) {
			t.Errorf("written again: %d records of %d, %v", len(again), len(list), err)
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	j := backup.Record{Job: newJob("one", 1, 2)}
	w, err := backup.NewWriter(io.Discard, header)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(j); err != nil {
			b.Fatal(err)
		}
	}
}
