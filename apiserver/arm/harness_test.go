package arm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

type fakeJournal struct {
	mu      sync.Mutex
	entries []job.Entry
	err     error
}

func (f *fakeJournal) Journal(ctx context.Context, entries ...job.Entry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil || ctx.Err() != nil {
		return cmp.Or(f.err, ctx.Err())
	}
	f.entries = append(f.entries, entries...)
	return nil
}

type fakeHistory map[string][]job.Record // by job UID

func (f fakeHistory) History(_ context.Context, _ int, uid string) ([]job.Record, error) {
	return f[uid], nil
}

// A bench is an API on fakes.
type bench struct {
	t       *testing.T
	api     *API
	store   *fakeStore
	journal *fakeJournal
	history fakeHistory
	log     *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newBench(t *testing.T, adjust ...func(*Config)) *bench {
	t.Helper()
	b := &bench{t: t, journal: &fakeJournal{}, history: fakeHistory{}, log: &lockedBuffer{}, store: &fakeStore{
		now:         time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
		collections: map[string]*job.Collection{}, jobs: map[string]map[string]job.Job{},
	}}
	cfg := Config{
		Store: b.store, Journal: b.journal, History: b.history, Shards: shards,
		Log: slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range adjust {
		f(&cfg)
	}
	api, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.api = api
	return b
}

// on is the bench in a subtest.
func (b *bench) on(t *testing.T) *bench {
	c := *b
	c.t = t
	return &c
}

const (
	shards  = 5
	version = "api-version=2016-03-01"
	group   = "/subscriptions/S/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections"
	jc      = group + "/jc"
	one     = jc + "/jobs/j"

	collectionBody = `{"location":"westus","properties":{"sku":{"name":"Standard"}}}`
	hourly         = `{"properties":{"action":{"type":"http","request":{"uri":"http://example.com/","method":"GET"}},"recurrence":{"frequency":"hour"}}}`
)

// A reply is an answer, read.
type reply struct {
	status int
	header http.Header
	body   string
}

// do sends a request. The api-version is added unless the path has a query.
// Headers are given in pairs.
func (b *bench) do(method, path, body string, headers ...string) reply {
	b.t.Helper()
	if !strings.Contains(path, "?") {
		path += "?" + version
	}
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	b.api.ServeHTTP(w, r)
	raw, _ := io.ReadAll(w.Result().Body)
	return reply{w.Code, w.Result().Header, string(raw)}
}

// want fails the test unless the reply has the status.
func (b *bench) want(r reply, status int) reply {
	b.t.Helper()
	if r.status != status {
		b.t.Fatalf("status %d, want %d: %s\n%s", r.status, status, r.body, b.log)
	}
	return r
}

// refused fails the test unless the reply is an error of that status and code
// whose message holds all the words.
func (b *bench) refused(r reply, status int, code string, words ...string) {
	b.t.Helper()
	b.want(r, status)
	var e struct {
		Error struct{ Code, Message string }
	}
	d := json.NewDecoder(strings.NewReader(r.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		b.t.Fatalf("error body %q: %v", r.body, err)
	}
	if e.Error.Code != code {
		b.t.Errorf("code %q, want %q: %s", e.Error.Code, code, r.body)
	}
	for _, w := range words {
		if !strings.Contains(e.Error.Message, w) {
			b.t.Errorf("message %q does not say %q", e.Error.Message, w)
		}
	}
}

// with puts a collection, and a job if there is a body for one.
func (b *bench) with(collection, j string) *bench {
	b.t.Helper()
	b.want(b.do("PUT", jc, collection), 201)
	if j != "" {
		b.want(b.do("PUT", one, j), 201)
	}
	return b
}

// stored returns the job j as the store has it.
func (b *bench) stored() *job.Job {
	b.t.Helper()
	_, j, err := b.store.Job(b.t.Context(), job.Ref{CollectionRef: ref(), Job: "j"})
	if err != nil {
		b.t.Fatal(err)
	}
	return j
}

// change alters the job j in the store behind the API's back, as a planner does.
func (b *bench) change(f func(*job.Job)) {
	b.t.Helper()
	j := b.stored()
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	f(j)
	b.store.jobs[j.CollectionUID][job.FoldName(j.Job)] = *j
}

// pass lets time go by.
func (b *bench) pass(d time.Duration) time.Time {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.store.now = b.store.now.Add(d)
	return b.store.now
}

// last returns the newest entry of the journal.
func (b *bench) last() job.Entry {
	b.t.Helper()
	b.journal.mu.Lock()
	defer b.journal.mu.Unlock()
	if len(b.journal.entries) == 0 {
		b.t.Fatal("the journal is empty")
	}
	return b.journal.entries[len(b.journal.entries)-1]
}

// ref names the collection jc.
func ref() job.CollectionRef {
	return job.CollectionRef{Subscription: "S", ResourceGroup: "RG", Collection: "jc"}
}

// names returns the names of a list's resources and its nextLink.
func names(t *testing.T, body string) (list []string, next string) {
	t.Helper()
	var l struct {
		Value    []struct{ Name string }
		NextLink *string
	}
	if err := json.Unmarshal([]byte(body), &l); err != nil {
		t.Fatalf("list %q: %v", body, err)
	}
	for _, v := range l.Value {
		list = append(list, v.Name)
	}
	if l.NextLink != nil {
		next = *l.NextLink
	}
	return list, next
}
