package arm

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// FuzzRequest holds that no request whatever is answered with a 5xx.
func FuzzRequest(f *testing.F) {
	for _, path := range []string{group, jc, one, one + "/run", one + "/history", jc + "/jobs", "/subscriptions/../x", jc + "/jobs/%2f%00", "//", "*"} {
		for method, body := range map[string]string{"GET": "", "PUT": hourly, "PATCH": `{"properties":{"state":"disabled"}}`, "POST": "", "DELETE": ""} {
			f.Add(method, path, version+"&$top=1&$skip=0&$filter=state+eq+'enabled'&$skiptoken=YQ", body, `"a.1.b"`)
		}
	}
	f.Fuzz(func(t *testing.T, method, path, query, body, match string) {
		u, err := url.Parse(path)
		if err != nil || strings.ContainsAny(match, "\r\n\x00") {
			t.Skip()
		}
		u.RawQuery = query
		b := newBench(t).with(collectionBody, hourly)
		r := httptest.NewRequest(http.MethodGet, "/", strings.NewReader(body))
		r.Method, r.URL = method, u
		r.Header.Set("If-None-Match", match)
		w := httptest.NewRecorder()
		b.api.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%s %s?%s: %d %s", method, path, query, w.Code, w.Body)
		}
	})
}

// FuzzFilter holds that a filter is understood or refused.
func FuzzFilter(f *testing.F) {
	f.Add("state eq Disabled")
	f.Add(`state eq "`)
	f.Fuzz(func(t *testing.T, s string) {
		switch got, err := filter(query{paramFilter: s}, "state", job.Enabled, job.Disabled); {
		case err != nil && got != "":
			t.Errorf("%q: %q and %v", s, got, err)
		case got != "" && !strings.Contains(strings.ToLower(s), string(got)):
			t.Errorf("%q: %q", s, got)
		}
	})
}
