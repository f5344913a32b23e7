package arm

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"
)

func TestEveryResponseCarriesARequestID(t *testing.T) {
	b := newBench(t)
	seen := map[string]bool{}
	for _, r := range []reply{b.do("PUT", jc, collectionBody), b.do("GET", jc, ""), b.do("GET", one, ""), b.do("BREW", jc, ""), b.do("GET", "/", ""), b.do("DELETE", jc, "")} {
		id := r.header.Get("X-Ms-Request-Id")
		if err := uuid.Validate(id); err != nil || seen[id] {
			t.Errorf("x-ms-request-id %q", id)
		}
		seen[id] = true
		if r.header.Get("X-Ms-Correlation-Request-Id") != id {
			t.Errorf("correlation id %q", r.header.Get("X-Ms-Correlation-Request-Id"))
		}
	}
}

func TestEveryResponseEchoesTheClientsIDs(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{group, jc} { // 200 and 404
		r := b.do("GET", path, "", "x-ms-client-request-id", "mine", "x-ms-correlation-request-id", "theirs")
		if r.header.Get("X-Ms-Client-Request-Id") != "mine" || r.header.Get("X-Ms-Correlation-Request-Id") != "theirs" {
			t.Errorf("%v", r.header)
		}
	}
	if r := b.do("GET", group, "", "x-ms-client-request-id", strings.Repeat("x", 1000)); r.header.Get("X-Ms-Client-Request-Id") != "" {
		t.Error("1000 characters are sent back")
	}
}

func TestRateHeadersAreConstant(t *testing.T) {
	b := newBench(t)
	for range 2 {
		if got := b.do("GET", group, "").header.Get("X-Ms-Ratelimit-Remaining-Subscription-Reads"); got != "14999" {
			t.Errorf("reads %q", got)
		}
		if got := b.do("PUT", jc, collectionBody).header.Get("X-Ms-Ratelimit-Remaining-Subscription-Writes"); got != "1199" {
			t.Errorf("writes %q", got)
		}
	}
}

func TestGzipWhenAskedFor(t *testing.T) {
	b := newBench(t)
	b.jobs(5)
	plain := b.do("GET", jc+"/jobs", "")
	for accept, want := range map[string]string{"gzip": "gzip", "deflate, GZIP;q=0.5": "gzip", "gzip;q=0": "", "identity": "", "br": "", "gzip;q=x": ""} {
		r := b.do("GET", jc+"/jobs", "", "Accept-Encoding", accept)
		if r.header.Get("Content-Encoding") != want || r.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %v", accept, r.header)
		}
		if want == "" {
			continue
		}
		z, err := gzip.NewReader(strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(z); err != nil || string(got) != plain.body {
			t.Errorf("%s: %v, %d bytes", accept, err, len(got))
		}
	}
	if r := b.do("GET", jc, "", "Accept-Encoding", "gzip"); r.header.Get("Content-Encoding") != "" {
		t.Error("a body under 1 KiB is compressed")
	}
}

func TestTheLogHoldsNoSecretsBodiesOrQueries(t *testing.T) {
	b := newBench(t)
	b.want(b.do("PUT", jc, collectionBody), 201)
	body := `{"properties":{"action":{"type":"Http","request":{"uri":"http://h/?sig=hush1","method":"GET","body":"hush2","authentication":{"type":"Basic","username":"u","password":"hush3"}}}}}`
	b.want(b.do("PUT", one+"?"+version+"&code=hush4", body, "Authorization", "Bearer hush5"), 201)
	b.store.err = errors.New("redis is away")
	b.want(b.do("PUT", one+"?"+version+"&code=hush4", body), 500)
	if log := b.log.String(); strings.Contains(log, "hush") || !strings.Contains(log, "api_version=2016-03-01") || !strings.Contains(log, "redis is away") {
		t.Error(log)
	}
}

func TestAWriteGoesOnWhenItsClientHasGone(t *testing.T) {
	b := newBench(t).with(collectionBody, "")
	ctx, cancel := context.WithCancel(t.Context())
	b.store.between = cancel
	r := httptest.NewRequestWithContext(ctx, http.MethodPut, one+"?"+version, strings.NewReader(hourly))
	w := httptest.NewRecorder()
	b.api.ServeHTTP(w, r)
	if e := b.last(); w.Code != 201 || e.Job == nil || e.Job.Job != "j" {
		t.Errorf("status %d, journal %+v", w.Code, e)
	}
}

func TestARequestThatTakesTooLongIs503(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Timeout = 20 * time.Millisecond })
	b.with(collectionBody, "")
	b.store.between = func() {
		// Another request for the same job gives up waiting for this one.
		b.refused(b.do("PUT", one, hourly), 503, CodeServerBusy, "too long")
	}
	b.do("PUT", one, hourly) // is itself just in time, or just not
}

func TestABodyThatBreaksOffIs400AndALateOne408(t *testing.T) {
	b := newBench(t).with(collectionBody, "")
	for err, status := range map[error]int{io.ErrUnexpectedEOF: 400, os.ErrDeadlineExceeded: 408} {
		r := httptest.NewRequest(http.MethodPut, one+"?"+version, io.MultiReader(strings.NewReader(`{`), iotest.ErrReader(err)))
		w := httptest.NewRecorder()
		b.api.ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("%v: %d %s", err, w.Code, w.Body)
		}
	}
}

func TestAnswersOverARealConnection(t *testing.T) {
	b := newBench(t)
	s := httptest.NewServer(b.api)
	defer s.Close()
	for _, c := range []struct{ request, want, body string }{
		// 413 comes before a byte of the body is sent.
		{"PUT " + one + "?" + version + " HTTP/1.1\r\nContent-Length: 10000000\r\n", "413 Request Entity Too Large", CodeTooLarge},
		{"GET /subscriptions/../../etc/passwd?" + version + " HTTP/1.1\r\n", "400 Bad Request", CodeBadRequest},
		{"GET //subscriptions/S/providers/microsoft.scheduler/JOBCOLLECTIONS/?" + version + " HTTP/1.1\r\n", "200 OK", `{"value":[],"nextLink":null}`},
		{"DELETE " + jc + "?" + version + " HTTP/1.1\r\n", "404 Not Found", CodeResourceNotFound},
		{"HEAD /subscriptions/S/resourcegroups/x?" + version + " HTTP/1.1\r\n", "204 No Content", ""},
	} {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, c.request+"Host: h\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		method, _, _ := strings.Cut(c.request, " ")
		resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.Status != c.want || !strings.Contains(string(body), c.body) || resp.Header.Get("X-Ms-Request-Id") == "" {
			t.Errorf("%q: %s %s %v", c.request, resp.Status, body, err)
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete} { // an empty answer says so
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL+jc+"?"+version, strings.NewReader(collectionBody))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if method == http.MethodDelete && (resp.StatusCode != http.StatusOK || resp.ContentLength != 0) {
			t.Errorf("DELETE: %d, length %d", resp.StatusCode, resp.ContentLength)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	_, err := New(Config{MaxPage: 101, BaseURL: "host", Timeout: -1})
	if err == nil {
		t.Fatal("an empty Config is accepted")
	}
	for _, field := range []string{"Store", "Journal", "History", "Log", "Shards", "MaxPage", "Timeout", "BaseURL"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
}
