package arm

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// The tests of this file are named after the sentences of AZURE.md, "Lists".

// walk follows nextLink to the end and returns the names of each page.
func walk(b *bench, path string) (pages [][]string) {
	b.t.Helper()
	for path != "" {
		list, next := names(b.t, b.want(b.do("GET", path, ""), 200).body)
		pages, path = append(pages, list), next
		if len(pages) > 100 {
			b.t.Fatal("the list never ends")
		}
	}
	return pages
}

func (b *bench) jobs(n int) {
	b.t.Helper()
	b.want(b.do("PUT", jc, `{"location":"westus","properties":{"sku":{"name":"P20Premium"}}}`), 201)
	for i := range n {
		b.want(b.do("PUT", fmt.Sprintf("%s/jobs/j%03d", jc, i), hourly), 201)
	}
}

// records gives the job j n records, the newest first.
func (b *bench) records(n int, outcome func(i int) job.Outcome) {
	j := b.stored()
	for i := range n {
		r := job.Record{Sequence: uint64(n - i)}
		r.Ref, r.UID, r.Phase, r.Repeat, r.Outcome = j.Ref, j.UID, job.MainAction, int64(n-i), outcome(i)
		r.StartedAt, r.EndedAt, r.At = b.store.now, b.store.now, b.store.now
		b.history[j.UID] = append(b.history[j.UID], r)
	}
}

func TestTopIs1To100AndSkipAtLeast0(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	for _, list := range []string{group, jc + "/jobs", one + "/history"} {
		for _, top := range []string{"0", "101", "-1", "x", "", "1.5", "99999999999999999999"} {
			b.refused(b.do("GET", list+"?"+version+"&$top="+top, ""), 400, CodeBadRequest, "$top", "1 to 100")
		}
		for _, skip := range []string{"-1", "x", "", "99999999999999999999"} {
			b.refused(b.do("GET", list+"?"+version+"&$skip="+skip, ""), 400, CodeBadRequest, "$skip")
		}
		b.want(b.do("GET", list+"?"+version+"&$top=100&$skip=0", ""), 200)
	}
	b.refused(b.do("GET", group+"?"+version+"&$skip=1", ""), 400, CodeBadRequest, "$skip", "nextLink")
}

func TestNextLinkIsNullWhenNothingFollows(t *testing.T) {
	b := newBench(t)
	b.jobs(3)
	r := b.want(b.do("GET", jc+"/jobs?"+version+"&$top=3", ""), 200)
	if !strings.HasSuffix(r.body, `"nextLink":null}`) {
		t.Error(r.body)
	}
	r = b.want(b.do("GET", jc+"/jobs?"+version+"&$skip=1000", ""), 200)
	if r.body != `{"value":[],"nextLink":null}` {
		t.Error(r.body)
	}
}

func TestNextLinkIsAnAbsoluteURLThatContinues(t *testing.T) {
	b := newBench(t)
	b.jobs(5)
	_, next := names(t, b.do("GET", "http://host:81"+jc+"/jobs?api-version=2016-01-01&$top=2&$skip=1&x=%C3%A4", "").body)
	u, err := url.Parse(next)
	if err != nil {
		t.Fatal(err)
	}
	if u.Scheme != "http" || u.Host != "host:81" || u.Path != jc+"/jobs" {
		t.Errorf("nextLink %s", next)
	}
	want := url.Values{"api-version": {"2016-01-01"}, "$top": {"2"}, "$skip": {"3"}, "x": {"ä"}}
	if diff := cmp.Diff(want, u.Query()); diff != "" {
		t.Error(diff)
	}
	want2 := [][]string{{"jc/j000", "jc/j001"}, {"jc/j002", "jc/j003"}, {"jc/j004"}}
	if diff := cmp.Diff(want2, walk(b, jc+"/jobs?"+version+"&$top=2")); diff != "" {
		t.Error(diff)
	}
}

func TestNextLinkIsHTTPSOnTLSAndAsConfigured(t *testing.T) {
	get := func(b *bench) string {
		r := httptest.NewRequest(http.MethodGet, "https://host"+jc+"/jobs?"+version+"&$top=1", nil)
		r.TLS = &tls.ConnectionState{}
		w := httptest.NewRecorder()
		b.api.ServeHTTP(w, r)
		_, next := names(t, w.Body.String())
		return next
	}
	b := newBench(t)
	b.jobs(2)
	if next := get(b); !strings.HasPrefix(next, "https://host"+jc) {
		t.Error(next)
	}
	b = newBench(t, func(c *Config) { c.BaseURL = "https://public/base/" })
	b.jobs(2)
	if next := get(b); !strings.HasPrefix(next, "https://public/base/subscriptions") {
		t.Error(next)
	}
}

func TestDefaultPageIs100Jobs(t *testing.T) {
	b := newBench(t)
	b.jobs(201)
	var sizes []int
	for _, page := range walk(b, jc+"/jobs") {
		sizes = append(sizes, len(page))
	}
	if diff := cmp.Diff([]int{100, 100, 1}, sizes); diff != "" {
		t.Error(diff)
	}
}

func TestMaxPageBoundsEveryPage(t *testing.T) {
	b := newBench(t, func(c *Config) { c.MaxPage = 2 })
	b.jobs(5)
	for _, query := range []string{"", "&$top=4"} {
		if pages := walk(b, jc+"/jobs?"+version+query); len(pages) != 3 {
			t.Errorf("%s: %v", query, pages)
		}
	}
}

func TestDefaultPageIs100HistoryRows(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	b.records(250, func(int) job.Outcome { return job.Succeeded })
	var sizes []int
	seen := map[string]bool{}
	for _, page := range walk(b, one+"/history") {
		sizes = append(sizes, len(page))
		for _, name := range page {
			seen[name] = true
		}
	}
	if diff := cmp.Diff([]int{100, 100, 50}, sizes); diff != "" || len(seen) != 250 {
		t.Error(len(seen), diff)
	}
}

func TestHistoryContinuesBehindARecordWhateverIsRecordedMeanwhile(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	b.records(4, func(int) job.Outcome { return job.Succeeded })
	first, next := names(t, b.do("GET", one+"/history?"+version+"&$top=2&$skip=1", "").body)
	uid := b.stored().UID
	newer := b.history[uid][0]
	newer.Sequence, newer.StartedAt = 99, newer.StartedAt.Add(time.Second)
	b.history[uid] = append([]job.Record{newer}, b.history[uid]...)
	second, last := names(t, b.do("GET", next, "").body)
	if len(first) != 2 || len(second) != 1 || last != "" || second[0] == first[1] {
		t.Errorf("pages %v, %v, then %q", first, second, last)
	}
}

// An attempt that began first may be recorded last, and the other way round:
// pages repeat and leave out none for that.
func TestHistoryContinuesWhateverTheOrderOfRecording(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	b.records(6, func(int) job.Outcome { return job.Succeeded })
	rows := b.history[b.stored().UID]
	for i, sequence := range []uint64{3, 6, 1, 5, 2, 4} {
		rows[i].Sequence, rows[i].StartedAt = sequence, rows[i].StartedAt.Add(-time.Duration(i)*time.Millisecond)
	}
	want := walk(b, one+"/history")[0]
	for top := 1; top < len(rows); top++ {
		pages := walk(b, fmt.Sprintf("%s/history?%s&$top=%d", one, version, top))
		if diff := cmp.Diff(want, slices.Concat(pages...)); diff != "" {
			t.Errorf("pages of %d: %s", top, diff)
		}
	}
}

func TestCollectionsContinueBehindAName(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"e", "B", "d", "A", "c"} {
		b.want(b.do("PUT", group+"/"+name, collectionBody), 201)
	}
	want := [][]string{{"A", "B"}, {"c", "d"}, {"e"}}
	for _, list := range []string{group, "/subscriptions/s/providers/Microsoft.Scheduler/jobCollections"} {
		if diff := cmp.Diff(want, walk(b, list+"?"+version+"&$top=2")); diff != "" {
			t.Error(diff)
		}
	}
	b.refused(b.do("GET", group+"?"+version+"&$skiptoken=!", ""), 400, CodeBadRequest, "$skiptoken")
	b.refused(b.do("GET", group+"?"+version+"&$filter=state+eq+Enabled", ""), 400, CodeBadRequest, "$filter")
}

func TestFilterOfJobsByState(t *testing.T) {
	b := newBench(t)
	b.jobs(4)
	b.want(b.do("PATCH", jc+"/jobs/j001", `{"properties":{"state":"Disabled"}}`), 200)
	for _, f := range []string{"state eq Disabled", "state eq 'Disabled'", `STATE EQ "disabled"`, " state  eq\tdisabled "} {
		got, _ := names(t, b.want(b.do("GET", jc+"/jobs?"+version+"&$Filter="+url.QueryEscape(f), ""), 200).body)
		if diff := cmp.Diff([]string{"jc/j001"}, got); diff != "" {
			t.Errorf("%s: %s", f, diff)
		}
	}
	if got := walk(b, jc+"/jobs?"+version+"&$filter=state+eq+enabled&$top=2"); len(got) != 2 || len(got[1]) != 1 {
		t.Errorf("pages %v", got)
	}
	got, _ := names(t, b.do("GET", jc+"/jobs?"+version+"&$filter=", "").body)
	if len(got) != 4 {
		t.Errorf("an empty filter selects %v", got)
	}
}

func TestFilterOfHistoryByStatus(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	outcomes := []job.Outcome{job.Succeeded, job.Failed, job.Postponed, job.Skipped}
	b.records(8, func(i int) job.Outcome { return outcomes[i%4] })
	for _, o := range outcomes {
		for _, f := range []string{"status eq " + string(o), "status eq '" + strings.ToUpper(string(o)) + "'"} {
			if got, _ := names(t, b.want(b.do("GET", one+"/history?"+version+"&$filter="+url.QueryEscape(f), ""), 200).body); len(got) != 2 {
				t.Errorf("%s: %v", f, got)
			}
		}
	}
	// What passes over nothing is no row to anybody.
	rows := b.history[b.stored().UID]
	rows[3].From, rows[3].Missed = rows[3].At, 7
	rows[7].From, rows[7].Waiting = rows[7].At, []time.Time{rows[7].At}
	if got, _ := names(t, b.want(b.do("GET", one+"/history?"+version+"&$filter=status+eq+'Skipped'", ""), 200).body); len(got) != 1 {
		t.Errorf("skipped: %v", got)
	}
	// Skipped occurrences are listed only for whoever asks for them.
	if got := walk(b, one+"/history"); len(got[0]) != 6 {
		t.Errorf("plain list: %v", got)
	}
}

func TestAnyOtherFilterSaysWhatIsSupported(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	for _, f := range []string{"state ne Disabled", "state eq gone", "state eq", "status eq Completed", "state eq Disabled and 1 eq 1", "x", "state eq 'Disabled", "'"} {
		b.refused(b.do("GET", jc+"/jobs?"+version+"&$filter="+url.QueryEscape(f), ""), 400, CodeBadRequest, "$filter", `"state eq"`, "enabled, disabled, completed, faulted")
	}
	b.refused(b.do("GET", one+"/history?"+version+"&$filter=state+eq+Failed", ""), 400, CodeBadRequest, "$filter", `"status eq"`, "completed, failed, postponed, skipped")
	b.refused(b.do("GET", one+"/history?"+version+"&$skiptoken=-", ""), 400, CodeBadRequest, "$skiptoken")
}

func TestListsOfWhatDoesNotExist(t *testing.T) {
	b := newBench(t)
	b.refused(b.do("GET", jc+"/jobs", ""), 404, CodeResourceNotFound)
	b.refused(b.do("GET", one+"/history", ""), 404, CodeResourceNotFound)
	b.with(collectionBody, "")
	b.refused(b.do("GET", one+"/history", ""), 404, CodeNotFound)
}
