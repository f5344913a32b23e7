package arm

import (
	"strings"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func TestETagChangesWithRevisionAndBody(t *testing.T) {
	b := newBench(t)
	put := b.want(b.do("PUT", jc, collectionBody), 201).header.Get("Etag")
	if got := b.do("GET", jc, "").header.Get("Etag"); got != put || put == "" {
		t.Errorf("collection: PUT %s, GET %s", put, got)
	}
	put = b.want(b.do("PUT", one, hourly), 201).header.Get("Etag")
	if got := b.do("GET", one, "").header.Get("Etag"); got != put || !strings.HasPrefix(put, `"`+b.stored().UID+".1.") {
		t.Errorf("job: PUT %s, GET %s", put, got)
	}
	b.change(func(j *job.Job) { j.Status.Executions++ })
	ticked := b.do("GET", one, "").header.Get("Etag")
	patched := b.do("PATCH", one, `{"properties":{"state":"disabled"}}`).header.Get("Etag")
	if ticked == put || patched == ticked || !strings.Contains(patched, ".2.") {
		t.Errorf("put %s, after a run %s, after a patch %s", put, ticked, patched)
	}
}

func TestIfMatchComparesUIDAndRevision(t *testing.T) {
	for _, target := range []string{jc, one} {
		for _, c := range []struct {
			method, path, body string
			status             int
		}{
			{"PUT", "", map[string]string{jc: `{"location":"eastus"}`, one: strings.Replace(hourly, "hour", "day", 1)}[target], map[string]int{jc: 201, one: 200}[target]},
			{"PATCH", "", `{"tags":{"a":"b"},"properties":{"state":"disabled"}}`, 200},
			{"POST", map[string]string{jc: "/disable", one: "/run"}[target], "", 200},
			{"DELETE", "", "", 200},
		} {
			t.Run(c.method+" "+target, func(t *testing.T) {
				b := newBench(t).with(collectionBody, hourly)
				tag := b.do("GET", target, "").header.Get("Etag")
				writes := b.store.writes
				for _, other := range []string{`"x"`, strings.Replace(tag, ".1.", ".2.", 1), `"x.1.00000000"`, `"", ""`, tag[:10]} {
					b.refused(b.do(c.method, target+c.path, c.body, "If-Match", other), 412, CodePreconditionFailed, "If-Match")
				}
				b.refused(b.do(c.method, target+c.path, c.body, "If-None-Match", "*"), 412, CodePreconditionFailed, "If-None-Match")
				b.refused(b.do(c.method, target+c.path, c.body, "If-None-Match", tag), 412, CodePreconditionFailed)
				if b.store.writes != writes {
					t.Fatal("something was written")
				}
				b.change(func(j *job.Job) { j.Status.Executions++ }) // a run in between does not matter
				b.want(b.do(c.method, target+c.path, c.body, "If-Match", `"other", W/`+tag), c.status)
			})
		}
	}
}

func TestIfMatchStar(t *testing.T) {
	b := newBench(t).with(collectionBody, "")
	b.refused(b.do("PUT", one, hourly, "If-Match", "*"), 412, CodePreconditionFailed)
	b.refused(b.do("PUT", group+"/new", collectionBody, "If-Match", "*"), 412, CodePreconditionFailed)
	b.want(b.do("PUT", one, hourly), 201)
	b.want(b.do("PUT", one, hourly, "If-Match", "*"), 200)
	b.refused(b.do("DELETE", jc+"/jobs/none", "", "If-Match", "*"), 404, CodeNotFound)
}

func TestIfNoneMatchStarCreatesOnly(t *testing.T) {
	b := newBench(t)
	b.want(b.do("PUT", jc, collectionBody, "If-None-Match", "*"), 201)
	b.refused(b.do("PUT", jc, collectionBody, "If-None-Match", "*"), 412, CodePreconditionFailed)
	b.want(b.do("PUT", one, hourly, "If-None-Match", "*"), 201)
	b.refused(b.do("PUT", one, hourly, "If-None-Match", "*"), 412, CodePreconditionFailed)
}

func TestIfNoneMatchOnGETComparesTheWholeTag(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	for _, path := range []string{jc, one} {
		tag := b.do("GET", path, "").header.Get("Etag")
		r := b.want(b.do("GET", path, "", "If-None-Match", `"x", `+tag), 304)
		if r.body != "" || r.header.Get("Etag") != tag || r.header.Get("Content-Type") != "" {
			t.Errorf("%+v", r)
		}
		b.want(b.do("GET", path, "", "If-None-Match", tag[:len(tag)-2]+`_"`), 200)
	}
	tag := b.do("GET", one, "").header.Get("Etag")
	b.change(func(j *job.Job) { j.Status.LastExecutionAt = j.CreatedAt.Add(time.Second) })
	b.want(b.do("GET", one, "", "If-None-Match", tag), 200)
}

func TestIfMatchIsHeldAgainstWhoeverGetsInBetween(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	tag := b.do("GET", one, "").header.Get("Etag")
	for _, c := range []struct{ method, path, body string }{
		{"PUT", one, strings.Replace(hourly, "hour", "day", 1)},
		{"PATCH", one, `{"properties":{"state":"disabled"}}`},
		{"DELETE", one, ""},
		{"POST", one + "/run", ""},
	} {
		b.store.between = func() { b.change(func(j *job.Job) { j.Revision++ }) }
		b.refused(b.do(c.method, c.path, c.body, "If-Match", tag), 412, CodePreconditionFailed)
		tag = b.do("GET", one, "").header.Get("Etag")
	}
}
