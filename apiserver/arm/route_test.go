package arm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// The tests of this file are named after the rows and sentences of AZURE.md,
// "Routes and statuses".

const collectionAnswer = `{"id":"/subscriptions/S/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/jc","type":"Microsoft.Scheduler/jobCollections","name":"jc","location":"West US","properties":{"sku":{"name":"Standard"},"state":"Enabled"}}`

const jobAnswer = `{"id":"/subscriptions/S/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/jc/jobs/j","type":"Microsoft.Scheduler/jobCollections/jobs","name":"jc/j","properties":{"action":{"request":{"uri":"http://example.com/","method":"GET"},"type":"Http"},"recurrence":{"frequency":"hour","interval":1},"state":"enabled","status":{"nextExecutionTime":"2030-01-02T03:04:05Z","executionCount":0,"failureCount":0,"faultedCount":0}}}`

// TestRoutes goes through every row of the table, in one life of a collection.
func TestRoutes(t *testing.T) {
	b := newBench(t)
	for _, step := range []struct {
		name, method, path, body string
		status                   int
		want                     string // body
	}{
		{"list of a subscription", "GET", "/subscriptions/S/providers/Microsoft.Scheduler/jobCollections", "", 200, `{"value":[],"nextLink":null}`},
		{"list of a resource group", "GET", group, "", 200, `{"value":[],"nextLink":null}`},
		{"PUT of a new collection", "PUT", jc, collectionBody, 201, collectionAnswer},
		{"PUT of an existing collection", "PUT", jc, collectionBody, 201, collectionAnswer},
		{"GET of a collection", "GET", jc, "", 200, collectionAnswer},
		{"PATCH answers the whole resource", "PATCH", jc, `{"tags":{"a":"b"}}`, 200, strings.Replace(collectionAnswer, `"properties"`, `"tags":{"a":"b"},"properties"`, 1)},
		{"PATCH with null removes", "PATCH", jc, `{"tags":null}`, 200, collectionAnswer},
		{"disable", "POST", jc + "/disable", "", 200, ""},
		{"the next GET shows the state", "GET", jc, "", 200, strings.Replace(collectionAnswer, "Enabled", "Disabled", 1)},
		{"enable", "POST", jc + "/enable", "", 200, ""},
		{"the next GET shows that state", "GET", jc, "", 200, collectionAnswer},
		{"list with one", "GET", group, "", 200, `{"value":[` + collectionAnswer + `],"nextLink":null}`},
		{"PUT of a new job", "PUT", one, hourly, 201, jobAnswer},
		{"PUT of an existing job", "PUT", one, hourly, 200, jobAnswer},
		{"GET of a job", "GET", one, "", 200, jobAnswer},
		{"PATCH of a job", "PATCH", one, `{"properties":{"recurrence":{"count":7}}}`, 200, strings.Replace(jobAnswer, `"interval"`, `"count":7,"interval"`, 1)},
		{"GET of jobs", "GET", jc + "/jobs", "", 200, `{"value":[` + strings.Replace(jobAnswer, `"interval"`, `"count":7,"interval"`, 1) + `],"nextLink":null}`},
		{"run", "POST", one + "/run", "", 200, ""},
		{"history", "GET", one + "/history", "", 200, `{"value":[],"nextLink":null}`},
		{"DELETE of a job", "DELETE", one, "", 200, ""},
		{"deleting a job that does not exist", "DELETE", one, "", 404, `{"error":{"code":"NotFound","message":"Job 'j' cannot be found."}}`},
		{"DELETE of a collection", "DELETE", jc, "", 200, ""},
		{"deleting a collection that does not exist", "DELETE", jc, "", 404, `{"error":{"code":"ResourceNotFound","message":"The Resource 'Microsoft.Scheduler/jobcollections/jc' under resource group 'RG' was not found."}}`},
		{"HEAD of a resource group", "HEAD", "/subscriptions/S/resourcegroups/RG", "", 204, ""},
	} {
		r := b.do(step.method, step.path, step.body)
		if r.status != step.status || r.body != step.want {
			t.Fatalf("%s: %d %s\nwant %d %s", step.name, r.status, r.body, step.status, step.want)
		}
		for _, name := range []string{"Location", "Azure-Asyncoperation", "Retry-After"} {
			if r.header.Get(name) != "" {
				t.Errorf("%s: header %s, which no answer carried", step.name, name)
			}
		}
		if want := map[bool]string{true: "application/json; charset=utf-8"}[r.body != ""]; r.header.Get("Content-Type") != want {
			t.Errorf("%s: Content-Type %q, want %q", step.name, r.header.Get("Content-Type"), want)
		}
	}
}

func TestProviderDocument(t *testing.T) {
	b := newBench(t)
	r := b.want(b.do("GET", "/subscriptions/S/providers/Microsoft.Scheduler?api-version=2016-09-01", ""), 200)
	for _, s := range []string{
		`"namespace":"Microsoft.Scheduler"`, `"registrationState":"Registered"`, `"resourceType":"jobCollections"`, `"South Central US"`, `"2016-03-01"`,
	} {
		if !strings.Contains(r.body, s) {
			t.Errorf("%s is not in %s", s, r.body)
		}
	}
}

func TestFixedSegmentsAndNamesMatchCaseInsensitivelyAndNamesKeepTheirCase(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	upper, lower := strings.ToUpper(one), strings.ToLower(one)
	for _, path := range []string{upper, lower} {
		if r := b.want(b.do("GET", path, ""), 200); r.body != jobAnswer {
			t.Errorf("GET %s: %s", path, r.body)
		}
		if r := b.want(b.do("PUT", path, hourly), 200); r.body != jobAnswer {
			t.Errorf("PUT %s: %s", path, r.body)
		}
	}
	if r := b.want(b.do("PUT", strings.ToLower(jc), collectionBody), 201); r.body != collectionAnswer {
		t.Errorf("PUT of the collection in lower case: %s", r.body)
	}
	// A job gets its collection's spelling, and keeps that of its own.
	b.want(b.do("PUT", strings.ToUpper(jc)+"/JOBS/New", hourly), 201)
	if r := b.do("GET", jc+"/jobs/new", ""); !strings.Contains(r.body, `"name":"jc/New"`) || !strings.Contains(r.body, jc+"/jobs/New") {
		t.Errorf("new job: %s", r.body)
	}
}

func TestAPIVersionIsRequired(t *testing.T) {
	b := newBench(t)
	b.refused(b.do("GET", group+"?x=1", ""), 400, CodeMissingAPIVersion, "api-version")
	b.refused(b.do("GET", group+"?api-version=", ""), 400, CodeMissingAPIVersion)
	b.refused(b.do("GET", group+"?api-version=2015-01-01", ""), 400, CodeInvalidAPIVersion, "2016-03-01", "2016-01-01", "2014-08-01-preview", "2015-01-01")
	for _, v := range []string{"2016-03-01", "2016-01-01", "2014-08-01-preview", "2014-08-01-PREVIEW"} {
		b.want(b.do("GET", group+"?Api-Version="+v, ""), 200)
	}
	b.refused(b.do("HEAD", "/subscriptions/S/resourceGroups/RG?x=1", ""), 400, CodeMissingAPIVersion)
	b.refused(b.do("GET", group+"?api-version=2016-03-01&x=%zz", ""), 400, CodeBadRequest, "query")
}

func TestUnknownPathIs404AndWrongMethodIs405(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{
		"/", "/subscriptions", "/subscriptions/S", group + "/jc/jobs/j/history/x", group + "/jc/tasks",
		"/subscriptions/S/resourceGroups//providers/Microsoft.Scheduler/jobCollections/jc", group + "//jobs/j", jc + "/jobs//run",
	} {
		b.refused(b.do("GET", path, ""), 404, CodeNotFound)
	}
	for path, allow := range map[string]string{
		group: "GET, HEAD", jc: "DELETE, GET, HEAD, PATCH, PUT", jc + "/enable": "POST", jc + "/jobs": "GET, HEAD",
		one: "DELETE, GET, HEAD, PATCH, PUT", one + "/run": "POST", one + "/history": "GET, HEAD", "/subscriptions/S/resourceGroups/RG": "HEAD",
	} {
		r := b.do("OPTIONS", path, "")
		b.refused(r, 405, CodeMethodNotAllowed, allow)
		if r.header.Get("Allow") != allow {
			t.Errorf("%s: Allow %q, want %q", path, r.header.Get("Allow"), allow)
		}
	}
}

func TestSlashesThatClientsMakeByJoining(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	for _, path := range []string{"http://h//" + one[1:], one + "/"} {
		b.want(b.do("GET", path, ""), 200)
	}
	b.refused(b.do("DELETE", jc+"/jobs/", ""), 405, CodeMethodNotAllowed) // a name that was empty
	b.refused(b.do("DELETE", jc+"//jobs/j", ""), 404, CodeNotFound)
}

func TestHEADOfAResourceIsItsGET(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	b.want(b.do("HEAD", one, ""), 200)
	b.want(b.do("HEAD", jc+"/jobs/none", ""), 404)
}

func TestListsAreSortedByGroupThenName(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"b/x", "A/z", "a/Y", "B/a"} {
		rg, name, _ := strings.Cut(path, "/")
		b.want(b.do("PUT", strings.Replace(group, "RG", rg, 1)+"/"+name, collectionBody), 201)
	}
	b.want(b.do("PUT", strings.Replace(jc, "/S/", "/other/", 1), collectionBody), 201)
	got, _ := names(t, b.do("GET", "/subscriptions/S/providers/Microsoft.Scheduler/jobCollections", "").body)
	if diff := cmp.Diff([]string{"Y", "z", "a", "x"}, got); diff != "" {
		t.Error(diff)
	}
	got, _ = names(t, b.do("GET", strings.Replace(group, "RG", "b", 1), "").body)
	if diff := cmp.Diff([]string{"a", "x"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDeletingACollectionTakesItsJobsAlong(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	uid := b.stored().CollectionUID
	b.want(b.do("DELETE", jc, ""), 200)
	e := b.last()
	if !e.Deleted || e.Collection == nil || e.UID != uid || e.Revision != 2 || e.Shard != ref().Shard(shards) {
		t.Errorf("tombstone: %+v", e)
	}
	b.with(collectionBody, "")
	b.refused(b.do("GET", one, ""), 404, CodeNotFound, "'j'")
	c, _ := b.store.Collection(t.Context(), ref())
	if c.UID == uid {
		t.Error("the new collection has the uid of the one that was deleted")
	}
}

func TestDeletingAJobLeavesATombstone(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	j := b.stored()
	b.want(b.do("DELETE", one, ""), 200)
	if e := b.last(); !e.Deleted || e.Job == nil || e.UID != j.UID || e.Revision != 2 || e.Shard != ref().Shard(shards) {
		t.Errorf("tombstone: %+v", e)
	}
	b.want(b.do("PUT", one, hourly), 201)
	if b.stored().UID == j.UID {
		t.Error("the new job has the uid of the one that was deleted")
	}
}

func TestFinalJobsCanBeDeleted(t *testing.T) {
	for _, state := range []job.State{job.Completed, job.Faulted} {
		b := newBench(t).with(collectionBody, hourly)
		b.change(func(j *job.Job) { j.Status.State = state })
		b.want(b.do("DELETE", one, ""), 200)
	}
}
