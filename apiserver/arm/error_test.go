package arm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// The tests of this file are named after the sentences of AZURE.md, "Errors",
// and after what must be refused.

func TestNotFoundHasTheLiveServicesWords(t *testing.T) {
	b := newBench(t)
	missing := `{"error":{"code":"ResourceNotFound","message":"The Resource 'Microsoft.Scheduler/jobcollections/jc' under resource group 'RG' was not found."}}`
	for _, r := range []reply{
		b.do("GET", jc, ""), b.do("PATCH", jc, `{}`), b.do("DELETE", jc, ""), b.do("POST", jc+"/enable", ""), b.do("POST", jc+"/disable", ""),
		b.do("GET", one, ""), b.do("PUT", one, hourly), b.do("PATCH", one, `{}`), b.do("DELETE", one, ""), b.do("POST", one+"/run", ""),
	} {
		if b.want(r, 404).body != missing {
			t.Error(r.body)
		}
	}
	b.with(collectionBody, "")
	for _, r := range []reply{b.do("GET", one, ""), b.do("PATCH", one, `{}`), b.do("DELETE", one, ""), b.do("POST", one+"/run", "")} {
		if b.want(r, 404).body != `{"error":{"code":"NotFound","message":"Job 'j' cannot be found."}}` {
			t.Error(r.body)
		}
	}
}

// TestBadRequestNamesTheField also holds that the store stays as it is.
func TestBadRequestNamesTheField(t *testing.T) {
	action := func(s string) string { return `{"properties":{"action":` + s + `}}` }
	request := func(s string) string { return action(`{"type":"Http","request":` + s + `}`) }
	plus := func(s string) string {
		return `{"properties":{"action":{"type":"Http","request":{"uri":"http://h/","method":"GET"}},` + s + `}}`
	}
	for name, c := range map[string]struct{ body, field string }{
		"no body":                    {``, "body"},
		"malformed JSON":             {`{"properties":`, "body"},
		"JSON of another kind":       {`[1,2]`, "body"},
		"null":                       {`null`, "body"},
		"two documents":              {`{} {}`, "body"},
		"10,000 deep":                {strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000), "body"},
		"10,000 deep arrays":         {`{"properties":` + strings.Repeat("[", 10_000), "body"},
		"invalid UTF-8":              {`{"properties":{"action":{"type":"` + "\xff\xfe" + `"}}}`, "UTF-8"},
		"larger than 16 KiB":         {strings.Repeat(" ", 16<<10) + hourly, "16384"},
		"no properties":              {`{}`, "properties"},
		"properties of a wrong type": {`{"properties":7}`, "properties"},
		"no action":                  {`{"properties":{}}`, "action"},
		"unknown action":             {action(`{"type":"Ftp"}`), "action.type"},
		"action of a wrong type":     {action(`[]`), "action"},
		"no request":                 {action(`{"type":"Http"}`), "action.request"},
		"no uri":                     {request(`{"method":"GET"}`), "action.request.uri"},
		"uri of a wrong type":        {request(`{"uri":{},"method":"GET"}`), "action.request.uri"},
		"uri of another scheme":      {request(`{"uri":"file:///etc/passwd","method":"GET"}`), "action.request.uri"},
		"unknown authentication":     {request(`{"uri":"http://h/","method":"GET","authentication":{"type":"Digest"}}`), "authentication.type"},
		"absent secret":              {request(`{"uri":"http://h/","method":"GET","authentication":{"type":"Basic","username":"u"}}`), "authentication.password"},
		"unknown frequency":          {plus(`"recurrence":{"frequency":"fortnight"}`), "recurrence.frequency"},
		"negative interval":          {plus(`"recurrence":{"frequency":"hour","interval":-1}`), "recurrence.interval"},
		"zero interval":              {plus(`"recurrence":{"frequency":"hour","interval":0}`), "recurrence.interval"},
		"huge interval":              {plus(`"recurrence":{"frequency":"hour","interval":99999999999999999999}`), "recurrence.interval"},
		"fractional interval":        {plus(`"recurrence":{"frequency":"hour","interval":1.5}`), "recurrence.interval"},
		"interval over the limit":    {plus(`"recurrence":{"frequency":"month","interval":19}`), "recurrence.interval"},
		"negative count":             {plus(`"recurrence":{"frequency":"hour","count":-1}`), "recurrence.count"},
		"hour out of range":          {plus(`"recurrence":{"frequency":"day","schedule":{"hours":[25]}}`), "recurrence.schedule.hours"},
		"empty array":                {plus(`"recurrence":{"frequency":"day","schedule":{"hours":[]}}`), "recurrence.schedule.hours"},
		"endTime in the past":        {plus(`"recurrence":{"frequency":"day","endTime":"2029-01-01"}`), "recurrence.endTime"},
		"startTime of no date":       {plus(`"startTime":"yesterday"`), "startTime"},
		"startTime out of range":     {plus(`"startTime":"99999-01-01T00:00:00Z"`), "startTime"},
		"startTime too far ahead":    {plus(`"startTime":"2031-12-01T00:00:00Z"`), "startTime"},
		"startTime of a wrong type":  {plus(`"startTime":12`), "startTime"},
		"unknown state":              {plus(`"state":"paused"`), "state"},
		"state of the service's own": {plus(`"state":"completed"`), "state"},
		"never comes about":          {plus(`"recurrence":{"frequency":"day","endTime":"2030-01-02T01:00:00Z","schedule":{"hours":[23]}},"startTime":"2030-01-02T00:00:00Z"`), "recurrence"},
		"all of it has passed":       {plus(`"recurrence":{"frequency":"day","endTime":"2030-01-02T10:00:00Z","schedule":{"hours":[3],"minutes":[0]}},"startTime":"2030-01-01"`), "recurrence"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t).with(collectionBody, "")
			writes, entries := b.store.writes, len(b.journal.entries)
			b.refused(b.do("PUT", one, c.body), 400, CodeBadRequest, c.field)
			if b.store.writes != writes || len(b.journal.entries) != entries {
				t.Error("something was written")
			}
		})
	}
}

func TestBadPatchesChangeNothing(t *testing.T) {
	b := newBench(t).with(collectionBody, hourly)
	before, writes := b.do("GET", one, "").body, b.store.writes
	for name, c := range map[string]struct{ body, field string }{
		"status":        {`{"properties":{"status":{"executionCount":1}}}`, "status"},
		"final state":   {`{"properties":{"state":"faulted"}}`, "state"},
		"malformed":     {`{"properties":{`, "body"},
		"no object":     {`"x"`, "body"},
		"too large":     {`{"x":"` + strings.Repeat("x", 16<<10) + `"}`, "16384"},
		"no action":     {`{"properties":{"action":null}}`, "action"},
		"bad interval":  {`{"properties":{"recurrence":{"interval":0}}}`, "recurrence.interval"},
		"ends too soon": {`{"properties":{"recurrence":{"endTime":"2030-01-01"}}}`, "recurrence.endTime"},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			b.refused(b.do("PATCH", one, c.body), 400, CodeBadRequest, c.field)
		})
	}
	if after := b.do("GET", one, "").body; after != before || b.store.writes != writes {
		t.Errorf("before %s\nafter  %s", before, after)
	}
}

func TestBadCollectionsChangeNothing(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct{ body, field string }{
		"malformed":       {`{`, "body"},
		"no location":     {`{"properties":{"sku":{"name":"Free"}}}`, "location"},
		"unknown sku":     {`{"location":"westus","properties":{"sku":{"name":"Gold"}}}`, "sku.name"},
		"unknown state":   {`{"location":"westus","properties":{"state":"Deleted"}}`, "state"},
		"tags":            {`{"location":"westus","tags":[]}`, "tags"},
		"negative count":  {`{"location":"westus","properties":{"quota":{"maxJobCount":-5}}}`, "quota.maxJobCount"},
		"count too large": {`{"location":"westus","properties":{"quota":{"maxJobCount":51}}}`, "quota.maxJobCount"},
		"too fast":        {`{"location":"westus","properties":{"quota":{"maxRecurrence":{"frequency":"second","interval":1}}}}`, "quota.maxRecurrence"},
		"huge number":     {`{"location":"westus","properties":{"quota":{"maxJobCount":1e400}}}`, "quota.maxJobCount"},
	} {
		t.Run(name, func(t *testing.T) { b.on(t).refused(b.do("PUT", jc, c.body), 400, CodeBadRequest, c.field) })
	}
	if b.store.writes != 0 || len(b.journal.entries) != 0 {
		t.Error("something was written")
	}
}

func TestPathTricksAreRefused(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct {
		path   string
		status int
	}{
		"..":                  {jc + "/jobs/..", 400},
		".":                   {jc + "/jobs/.", 400},
		"escaped ..":          {jc + "/jobs/%2e%2e", 400},
		". in front":          {"/subscriptions/./S/providers/Microsoft.Scheduler/jobCollections", 400},
		"slash in front":      {"/subscriptions%2fS/providers/Microsoft.Scheduler/jobCollections", 400},
		"control in front":    {"/subscriptions%01/S/providers/Microsoft.Scheduler/jobCollections", 400},
		"bad UTF-8 in front":  {"/subscriptions%ff/S/providers/Microsoft.Scheduler/jobCollections", 400},
		".. in front":         {"/subscriptions/../subscriptions/S/providers/Microsoft.Scheduler/jobCollections", 400},
		"escaped slash":       {jc + "/jobs/a%2fb", 400},
		"ESCAPED slash":       {jc + "/jobs/a%2Fb", 400},
		"double escape":       {jc + "/jobs/a%252fb", 400}, // a name with a percent sign
		"backslash":           {jc + `/jobs/a%5cb`, 400},
		"NUL":                 {jc + "/jobs/a%00b", 400},
		"newline":             {jc + "/jobs/a%0d%0ab", 400},
		"C1 control":          {jc + "/jobs/a%c2%85b", 400},
		"invalid UTF-8":       {jc + "/jobs/a%ffb", 400},
		"300 characters":      {jc + "/jobs/" + strings.Repeat("n", 300), 400},
		"300 in a collection": {group + "/" + strings.Repeat("n", 300) + "/jobs/j", 400},
		"only a space":        {jc + "/jobs/%20", 400},
		"angle brackets":      {jc + "/jobs/%3Cscript%3E", 400},
		"question mark":       {jc + "/jobs/a%3fb", 400},
		"semicolon in path":   {jc + "/jobs;x/j", 404},
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			r := b.do("PUT", c.path, hourly)
			b.refused(r, c.status, map[int]string{400: CodeBadRequest, 404: CodeNotFound}[c.status])
		})
	}
	if b.store.writes != 0 {
		t.Error("something was written")
	}
}

func TestBodiesOverTheBoundAre413WithoutReadingOn(t *testing.T) {
	b := newBench(t).with(collectionBody, "")
	r := b.do("PUT", one, strings.Repeat(" ", maxBody+1))
	b.refused(r, 413, CodeTooLarge, "262144", "16384")
	if r.header.Get("Connection") != "close" {
		t.Error("the connection is kept, with the body still to come")
	}
	b.refused(b.do("PUT", one, strings.Repeat(" ", maxBody)), 400, CodeBadRequest)
	// Said or not said beforehand.
	for said, most := range map[int64]int{10 << 20: 0, -1: maxBody + 1} {
		body := &counter{r: strings.NewReader(strings.Repeat(" ", 10<<20))}
		r := httptest.NewRequest(http.MethodPut, one+"?"+version, body)
		r.ContentLength = said
		w := httptest.NewRecorder()
		b.api.ServeHTTP(w, r)
		if w.Code != 413 || body.n > most {
			t.Errorf("length %d: status %d after %d bytes", said, w.Code, body.n)
		}
	}
}

type counter struct {
	r io.Reader
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func TestConflicts(t *testing.T) {
	b := newBench(t).with(`{"location":"westus","properties":{"quota":{"maxJobCount":1,"maxRecurrence":{"frequency":"hour","interval":1}}}}`, hourly)
	t.Run("more jobs than maxJobCount", func(t *testing.T) {
		b := b.on(t)
		b.refused(b.do("PUT", jc+"/jobs/k", hourly), 409, CodeConflict, "quota")
		b.refused(b.do("GET", jc+"/jobs/k", ""), 404, CodeNotFound)
	})
	t.Run("faster than maxRecurrence", func(t *testing.T) {
		b := b.on(t)
		b.refused(b.do("PUT", one, strings.Replace(hourly, "hour", "minute", 1)), 409, CodeConflict, "1 hour")
		b.refused(b.do("PATCH", one, `{"properties":{"recurrence":{"frequency":"Minute"}}}`), 409, CodeConflict, "1 hour")
	})
	t.Run("update of a completed or faulted job", func(t *testing.T) {
		b := b.on(t)
		for _, state := range []job.State{job.Completed, job.Faulted} {
			b.change(func(j *job.Job) { j.Status.State = state })
			b.refused(b.do("PUT", one, hourly), 409, CodeConflict, "'j'", string(state))
			b.refused(b.do("PUT", one, strings.Replace(hourly, "example", "other", 1)), 409, CodeConflict)
			b.refused(b.do("PATCH", one, `{"properties":{"state":"disabled"}}`), 409, CodeConflict)
			b.refused(b.do("PATCH", one, `{"properties":{"state":"enabled"}}`), 409, CodeConflict)
			b.refused(b.do("POST", one+"/run", ""), 409, CodeConflict)
		}
	})
	t.Run("a second Free collection, or whatever else the store refuses", func(t *testing.T) {
		b := b.on(t)
		b.store.between = func() { b.store.err = job.Conflict("A subscription may have one Free job collection.") }
		b.refused(b.do("PUT", group+"/two", `{"location":"westus","properties":{"sku":{"name":"free"}}}`), 409, CodeConflict, "one Free")
	})
}

func TestErrorsOfTheStore(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
		words  []string
	}{
		"not ready":      {fmt.Errorf("read: %w", job.ErrNotReady), 503, CodeServerBusy, []string{"carillon planner"}},
		"deadline":       {fmt.Errorf("read: %w", context.DeadlineExceeded), 503, CodeServerBusy, []string{"too long"}},
		"always changed": {job.ErrChanged, 503, CodeServerBusy, []string{"Repeat"}},
		"unknown":        {errors.New("dial tcp 10.0.0.1: secret words"), 500, CodeInternal, []string{"Internal error", "request id"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t).with(collectionBody, hourly)
			b.store.err = c.err
			for _, r := range []reply{
				b.do("GET", group, ""), b.do("GET", jc, ""), b.do("PUT", jc, collectionBody), b.do("DELETE", jc, ""), b.do("GET", jc+"/jobs", ""),
				b.do("GET", one, ""), b.do("PUT", one, hourly), b.do("PATCH", one, `{}`), b.do("DELETE", one, ""), b.do("POST", one+"/run", ""),
				b.do("GET", one+"/history", ""),
			} {
				b.refused(r, c.status, c.code, c.words...)
				if strings.Contains(r.body, "secret words") {
					t.Errorf("internals in %s", r.body)
				}
				if after := r.header.Get("Retry-After"); (after == "1") != (c.status == 503) {
					t.Errorf("Retry-After %q", after)
				}
				if c.status == 500 && !strings.Contains(b.log.String(), r.header.Get("X-Ms-Request-Id")) {
					t.Error("the log does not name the request")
				}
			}
		})
	}
}

func TestAPanicIsAnInternalError(t *testing.T) {
	b := newBench(t).with(collectionBody, "")
	b.store.between = func() { panic("in the depths") }
	r := b.do("PUT", one, hourly)
	b.refused(r, 500, CodeInternal)
	if strings.Contains(r.body, "depths") || !strings.Contains(b.log.String(), "in the depths") || !strings.Contains(b.log.String(), r.header.Get("X-Ms-Request-Id")) {
		t.Errorf("answer %s, log %s", r.body, b.log)
	}
	b.want(b.do("PUT", one, hourly), 201) // no lock was left behind
}

// TestWhoMayAsk holds the codes that this package does not make itself.
func TestWhoMayAsk(t *testing.T) {
	var deny *Error
	b := newBench(t, func(c *Config) {
		c.Admit = func(*http.Request) error {
			if deny != nil {
				return deny
			}
			return nil
		}
	})
	b.want(b.do("PUT", jc, collectionBody), 201)
	deny = &Error{Status: 401, Code: CodeAuthenticationFailed, Message: "Who?", Header: http.Header{"Www-Authenticate": {"Bearer"}}}
	r := b.do("GET", jc, "")
	b.refused(r, 401, CodeAuthenticationFailed, "Who?")
	if r.header.Get("WWW-Authenticate") != "Bearer" {
		t.Error(r.header)
	}
	deny = &Error{Status: 403, Code: CodeAuthorizationFailed, Message: "No."}
	b.refused(b.do("GET", "/nothing", ""), 403, CodeAuthorizationFailed)
	deny = &Error{Status: 429, Code: CodeTooManyRequests, Message: "Later.", RetryAfter: 1500 * time.Millisecond}
	r = b.do("GET", jc, "")
	b.refused(r, 429, CodeTooManyRequests)
	if r.header.Get("Retry-After") != "2" {
		t.Error(r.header)
	}
}
