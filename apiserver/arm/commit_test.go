package arm

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// TestConcurrentPUTsOfOneJob has 100 clients PUT 100 definitions of one job,
// through two API servers on one store.
func TestConcurrentPUTsOfOneJob(t *testing.T) {
	b := newBench(t).with(collectionBody, "")
	other, err := New(b.api.cfg)
	if err != nil {
		t.Fatal(err)
	}
	statuses := make([]int, 100)
	bodies := make([]string, 100)
	var wg sync.WaitGroup
	for i := range statuses {
		api := b.api
		if i%2 == 1 {
			api = other
		}
		wg.Go(func() {
			body := strings.ReplaceAll(hourly, "example.com/", fmt.Sprintf("host%d/%d", i, i))
			w := httptest.NewRecorder()
			api.ServeHTTP(w, httptest.NewRequest(http.MethodPut, one+"?"+version, strings.NewReader(body)))
			statuses[i], bodies[i] = w.Code, w.Body.String()
		})
	}
	wg.Wait()
	created := 0
	for i, s := range statuses {
		if s == 201 {
			created++
		} else if s != 200 {
			t.Errorf("PUT %d: %d %s", i, s, bodies[i])
		}
		if !strings.Contains(bodies[i], fmt.Sprintf(`"uri":"http://host%d/%d"`, i, i)) {
			t.Errorf("PUT %d is answered with another's definition: %s", i, bodies[i])
		}
	}
	if created != 1 {
		t.Errorf("created %d times", created)
	}
	for i, w := range b.store.wrote {
		if w.Job.Revision != int64(i+1) || w.Job.Series != w.Job.Revision || w.Job.UID != b.store.wrote[0].Job.UID {
			t.Fatalf("write %d has revision %d, series %d", i, w.Job.Revision, w.Job.Series)
		}
	}
	var journaled []int64
	for _, e := range b.journal.entries[1:] {
		journaled = append(journaled, e.Revision)
	}
	slices.Sort(journaled)
	if journaled = slices.Compact(journaled); len(journaled) != 100 || journaled[99] != 100 {
		t.Errorf("journaled revisions %v", journaled)
	}
	if j := b.stored(); j.Revision != 100 {
		t.Errorf("stored revision %d", j.Revision)
	}
}

func TestAWriteIsDecidedAnewWhenAnotherGetsInBetween(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	// Behind the API's back: it would wait for itself.
	b.store.between = func() {
		b.change(func(j *job.Job) {
			j.Revision++
			j.Action = *j.Action.Clone()
			j.Action.Request.Method = "DELETE"
		})
	}
	r := b.want(b.do("PATCH", one, `{"properties":{"action":{"request":{"body":"x"}}}}`), 200)
	if j := b.stored(); j.Revision != 3 || !strings.Contains(r.body, `"method":"DELETE"`) || !strings.Contains(r.body, `"body":"x"`) {
		t.Errorf("revision %d, answer %s", j.Revision, r.body)
	}
	// Progress, too, where the schedule hangs on it.
	b.store.between = func() { b.ran(2) }
	b.want(b.do("PATCH", one, `{"properties":{"state":"disabled"}}`), 200)
	if w := b.wrote(); w.Job.Status.Planned != 2 {
		t.Errorf("%+v", w)
	}
	// Final meanwhile.
	b.store.between = func() { b.change(func(j *job.Job) { j.Revision++; j.Status.State = job.Faulted }) }
	b.refused(b.do("PATCH", one, `{"properties":{"state":"enabled"}}`), 409, CodeConflict, "faulted")
	// Deleted meanwhile.
	b.with(`{"location":"eastus"}`, "")
	b.store.between = func() { b.want(b.do("DELETE", jc, ""), 200) }
	b.refused(b.do("PUT", jc+"/jobs/k", hourly), 404, CodeResourceNotFound)
}

func TestOnlyWhatStoreAndJournalHoldIsAcknowledged(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	b.journal.err = errors.New("nats: timeout")
	for _, c := range []struct{ method, path, body string }{
		{"PUT", jc, `{"location":"eastus"}`},
		{"PATCH", jc, `{"tags":{"a":"b"}}`},
		{"POST", jc + "/disable", ""},
		{"POST", jc + "/enable", ""},
		{"PUT", one, strings.Replace(hourly, "hour", "day", 1)},
		{"PUT", jc + "/jobs/new", hourly},
		{"PATCH", one, `{"properties":{"state":"disabled"}}`},
		{"POST", one + "/run", ""},
		{"DELETE", one, ""},
		{"DELETE", jc, ""},
	} {
		r := b.do(c.method, c.path, c.body)
		b.refused(r, 503, CodeServerBusy, "may have been carried out", "Repeat")
		if r.header.Get("Retry-After") != "1" || strings.Contains(r.body, "nats") {
			t.Errorf("%s %s: %v %s", c.method, c.path, r.header, r.body)
		}
	}
	for _, path := range []string{jc, one} {
		b.want(b.do("GET", path, ""), 404)
	}
}

func TestARepeatedRequestFinishesWhatTheJournalMissed(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	daily := strings.Replace(hourly, "hour", "day", 1)
	b.journal.err = errors.New("away")
	b.want(b.do("PUT", one, daily), 503)
	b.journal.err = nil
	b.want(b.do("PUT", one, daily), 200)
	if e := b.last(); e.Job == nil || e.Revision != 2 || b.stored().Revision != 2 {
		t.Errorf("journal %+v", e)
	}
	for _, path := range []string{one, jc} {
		b.journal.err = errors.New("away")
		b.want(b.do("DELETE", path, ""), 503)
		b.want(b.do("DELETE", path, ""), 503)
		b.journal.err = nil
		b.want(b.do("DELETE", path, ""), 200)
		if e := b.last(); !e.Deleted || (e.Job != nil) != (path == one) {
			t.Errorf("journal %+v", e)
		}
		b.want(b.do("DELETE", path, ""), 404)
	}
}

func TestATombstoneThatIsOwedGoesAlongWithTheNextWrite(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	gone := b.stored()
	b.journal.err = errors.New("away")
	b.want(b.do("DELETE", one, ""), 503)
	b.journal.err = nil
	entries := len(b.journal.entries)
	b.want(b.do("PUT", one, hourly), 201)
	added := b.journal.entries[entries:]
	if len(added) != 2 || !added[0].Deleted || added[0].UID != gone.UID || added[1].UID == gone.UID || added[1].Deleted {
		t.Errorf("journal %+v", added)
	}
	b.want(b.do("PUT", jc+"/jobs/k", hourly), 201)
	if len(b.journal.entries) != entries+3 {
		t.Error("the debt is paid twice")
	}
}

// A journal without room is found out by one write, which is owed and told that
// it may have been carried out; the others are refused before they change
// anything, and all goes on when there is room.
func TestAJournalWithoutRoom(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	daily := strings.Replace(hourly, "hour", "day", 1)
	b.journal.err = fmt.Errorf("DEFINITIONS: %w", job.ErrFull)
	b.refused(b.do("PUT", one, daily), 503, CodeServerBusy, "may have been carried out")
	for _, c := range []struct{ method, path, body string }{
		{"PUT", jc, `{"location":"eastus"}`},
		{"PUT", one, hourly},
		{"PUT", jc + "/jobs/new", hourly},
		{"PATCH", one, `{"properties":{"state":"disabled"}}`},
		{"POST", one + "/run", ""},
		{"DELETE", one, ""},
		{"DELETE", jc, ""},
	} {
		r := b.do(c.method, c.path, c.body)
		b.refused(r, 503, CodeServerBusy, "no room", "Nothing was changed", "DEFINITIONS")
		if r.header.Get("Retry-After") != "10" {
			t.Errorf("%s %s: %v", c.method, c.path, r.header)
		}
	}
	if j := b.stored(); j.Revision != 2 || len(b.store.wrote) != 2 {
		t.Errorf("revision %d after %d writes", j.Revision, len(b.store.wrote))
	}
	b.want(b.do("GET", one, ""), 200)
	b.journal.err = nil
	entries := len(b.journal.entries)
	b.want(b.do("PUT", jc+"/jobs/new", hourly), 201)
	added := b.journal.entries[entries:]
	if len(added) != 2 || added[0].Revision != 2 || added[0].UID != b.stored().UID || added[1].Job.Job != "new" {
		t.Errorf("journal %+v", added)
	}
}

func TestAStoreWithoutMemory(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	b.store.err = fmt.Errorf("put job: %w: %w: OOM", job.ErrUnavailable, job.ErrFull)
	r := b.do("PUT", one, strings.Replace(hourly, "hour", "day", 1))
	b.refused(r, 503, CodeServerBusy, "out of memory", "Nothing was changed", "maxmemory")
	if r.header.Get("Retry-After") != "10" || strings.Contains(r.body, "OOM") {
		t.Errorf("%v %s", r.header, r.body)
	}
}

func TestDeletionsAreRefusedWhileTooManyAreOwed(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	for i := range maxDebts {
		b.api.debts.owe("x", job.Entry{UID: fmt.Sprint(i), Deleted: true}, false)
	}
	b.refused(b.do("DELETE", one, ""), 503, CodeServerBusy)
	b.want(b.do("GET", one, ""), 200)
	entries := len(b.journal.entries)
	b.want(b.do("PUT", one, hourly), 200) // pays a few
	if paid := len(b.journal.entries) - entries - 1; paid != maxPayments {
		t.Errorf("%d tombstones go along", paid)
	}
	b.want(b.do("DELETE", one, ""), 200)
}

// TestADeletionThatIsCarriedOutTwice is a driver that repeats a command whose
// answer it lost.
func TestADeletionThatIsCarriedOutTwice(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	b.store.between = func() {
		c, j, err := b.store.Job(t.Context(), job.Ref{CollectionRef: ref(), Job: "j"})
		if err == nil {
			err = b.store.DeleteJob(t.Context(), c, j)
		}
		if err != nil {
			t.Error(err)
		}
	}
	b.want(b.do("DELETE", one, ""), 200)
}

// hider seals in the simplest way, with a key of a name.
type hider struct {
	key string
	err error
}

func (h hider) Seal(a *job.Action, uid string) error { return h.SealLike(a, uid, &job.Action{}) }

func (h hider) SealLike(a *job.Action, uid string, was *job.Action) error {
	key := h.key
	was.Secrets(func(_ string, s *job.Secret) { key = strings.Split(string(*s), " ")[1] })
	a.Secrets(func(_ string, s *job.Secret) {
		if !s.Sealed() {
			*s = job.Secret(job.SealedPrefix + " " + key + " " + uid + " " + string(*s))
		}
	})
	return h.err
}

// I12: what is kept and journaled is sealed, for this job. To send the same again
// changes nothing, unless there is a newer key: that is a new revision, but no
// new series.
func TestSecretsAreSealedBeforeAnybodyKeepsThem(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Sealer = hider{key: "k1"} })
	secret := `{"properties":{"action":{"type":"Https","request":{"uri":"https://h/","method":"GET","authentication":{"type":"basic","username":"u","password":"hush"}}}}}`
	b.with(collectionBody, secret)
	for _, c := range []struct {
		key, method, body, want string
		revision, series        int64
	}{
		{"k1", "PUT", secret, "k1 hush", 1, 1}, // the same again
		{"k2", "PATCH", `{"properties":{"action":{"request":{"body":"x"}}}}`, "k1 hush", 2, 1},
		{"k2", "PATCH", `{"properties":{"action":{"request":{"body":null}}}}`, "k1 hush", 3, 1},
		{"k2", "PUT", secret, "k2 hush", 4, 1},
		{"k2", "PUT", secret, "k2 hush", 4, 1},
		{"k2", "PUT", strings.Replace(secret, "hush", "new", 1), "k2 new", 5, 5},
		{"k2", "PATCH", `{"properties":{"action":{"request":{"authentication":{"password":"newer"}}}}}`, "k2 newer", 6, 5},
	} {
		b.api.cfg.Sealer = hider{key: c.key}
		b.want(b.do(c.method, one, c.body), 200)
		j := b.stored()
		key, text, _ := strings.Cut(c.want, " ")
		want := job.Secret(job.SealedPrefix + " " + key + " " + j.UID + " " + text)
		kept, journaled := j.Action.Request.Authentication.Password, b.last().Job.Action.Request.Authentication.Password
		if kept != want || journaled != want || j.Revision != c.revision || j.Series != c.series {
			t.Errorf("%s %s: kept %q, journaled %q, revision %d, series %d", c.key, c.body, string(kept), string(journaled), j.Revision, j.Series)
		}
	}
	b.api.cfg.Sealer = hider{err: errors.New("no key")}
	b.refused(b.do("PUT", one, secret), 500, CodeInternal)
}

// What is sealed for one job must not be given to another as its secret.
func TestASealedSecretIsRefused(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	for field, body := range map[string]string{
		"password": `"type":"Https","request":{"uri":"https://h/","method":"GET","authentication":{"type":"basic","username":"u","password":"sealed:AQAAAA"}}`,
		"secret":   `"type":"Https","request":{"uri":"https://h/","method":"GET","authentication":{"type":"ActiveDirectoryOAuth","tenant":"t","audience":"a","clientId":"c","secret":"sealed:AQAAAA"}}`,
		"sasToken": `"type":"StorageQueue","queueMessage":{"storageAccount":"account","queueName":"queue","message":"m","sasToken":"sealed:AQAAAA"}`,
		"sasKey":   `"type":"ServiceBusQueue","serviceBusQueueMessage":{"queueName":"q","namespace":"n","message":"m","authentication":{"sasKeyName":"k","sasKey":"sealed:AQAAAA"}}`,
	} {
		b.refused(b.do("PUT", one, `{"properties":{"action":{`+body+`}}}`), 400, CodeBadRequest, field, "must not begin with sealed:")
	}
}
