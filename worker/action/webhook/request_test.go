package webhook_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// count returns how many header lines of a raw request have the name, in any
// case.
func count(raw, name string) (n int) {
	head, _, _ := strings.Cut(raw, "\r\n\r\n")
	for line := range strings.SplitSeq(head, "\r\n") {
		if got, _, ok := strings.Cut(line, ":"); ok && strings.EqualFold(got, name) {
			n++
		}
	}
	return n
}

// AZURE §2: "Verbatim: uri, method's case, header names and their case, body".
// Of the method that is true of answers; see below.
func TestRequestIsVerbatimOnTheWire(t *testing.T) {
	raw := send(t, job.Request{
		Method: "POST",
		URI:    "http://target/A%2fb/..//c%20d;e?q=%7e&x=a+b&&y#fragment",
		Headers: map[string]string{
			"cOnTeNt-TyPe": "text/X", "x-lower": "1", "X-UPPER": "2", "accept-encoding": "gzip, br",
			"X-Same": "a", "x-same": "b",
		},
		Body: "Grüße\r\n\x00",
	})
	for _, want := range []string{
		"POST /A%2fb/..//c%20d;e?q=%7e&x=a+b&&y HTTP/1.1\r\n",
		"\r\ncOnTeNt-TyPe: text/X\r\n", "\r\nx-lower: 1\r\n", "\r\nX-UPPER: 2\r\n", "\r\naccept-encoding: gzip, br\r\n",
		"\r\nX-Same: a\r\n", "\r\nx-same: b\r\n",
		"\r\nContent-Length: 10\r\n", "\r\n\r\nGrüße\r\n\x00",
	} {
		if !strings.Contains(raw, want) {
			t.Errorf("%q is missing in:\n%s", want, raw)
		}
	}
	if n := count(raw, "accept-encoding"); n != 1 {
		t.Errorf("%d times Accept-Encoding", n)
	}
}

// .NET sends the methods that it knows in upper case, whatever the user's.
func TestKnownMethodsAreSentInUpperCase(t *testing.T) {
	for _, name := range []string{"get", "Head", "pOsT", "put", "patch", "DELETE", "options"} {
		r := job.Request{Method: name, URI: "http://target/"}
		if raw := send(t, r); !strings.HasPrefix(raw, strings.ToUpper(name)+" / HTTP/1.1\r\n") {
			t.Errorf("%s: %s", name, raw)
		}
		if r.Method != name {
			t.Errorf("%s became %s in the definition", name, r.Method)
		}
	}
	if raw := send(t, job.Request{Method: "pUrGe", URI: "http://target/"}); !strings.HasPrefix(raw, "pUrGe /") {
		t.Errorf("unknown: %s", raw)
	}
}

// What cannot stand in a request line is encoded, and nothing else.
func TestQueryIsMadeFitForTheWire(t *testing.T) {
	raw := send(t, job.Request{Method: "GET", URI: "http://target?a b=ü|{}\"'%zz"})
	if want := "GET /?a%20b=%C3%BC|{}\"'%zz HTTP/1.1\r\n"; !strings.HasPrefix(raw, want) {
		t.Errorf("got %s", raw)
	}
}

func TestNothingIsAddedToTheRequestUnasked(t *testing.T) {
	raw := send(t, job.Request{Method: "GET", URI: "http://target/"})
	for _, name := range []string{"Accept-Encoding", "Content-Type", "Content-Length", "Authorization", "Cookie", "Connection", "Referer"} {
		if n := count(raw, name); n != 0 {
			t.Errorf("%s was sent:\n%s", name, raw)
		}
	}
}

// AZURE §8: the headers that tell about the execution.
func TestExecutionHeaders(t *testing.T) {
	raw := send(t, job.Request{Method: "GET", URI: "http://target/"})
	for _, want := range []string{
		"x-ms-scheduler-jobid: job",
		"x-ms-scheduler-jobcollection: collection",
		"x-ms-scheduler-expected-execution-time: 2015-09-10T00:00:00Z",
		"x-ms-scheduler-attempt: 2",
		"x-ms-execution-tag: e927cf76d24da9625608248ce654cfa7",
		"x-ms-client-request-id: ",
		"idempotency-key: e927cf76d24da9625608248ce654cfa7",
		"User-Agent: Carillon/1.2.3",
	} {
		if !strings.Contains(raw, "\r\n"+want) {
			t.Errorf("%q is missing in:\n%s", want, raw)
		}
	}
}

func TestExpectedExecutionTime(t *testing.T) {
	for _, test := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2015, 9, 10, 2, 0, 0, 0, time.FixedZone("", 7200)), "2015-09-10T00:00:00Z"},
		{time.Date(2015, 9, 10, 0, 0, 0, 500e6, time.UTC), "2015-09-10T00:00:00.500Z"},
	} {
		var got string
		s := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
			got = r.Header.Get("X-Ms-Scheduler-Expected-Execution-Time")
		})
		d := newDispatch(job.Request{Method: "GET", URI: s.URL})
		d.At = test.at
		do(t, newAction(t, outbound.Config{}), d)
		if got != test.want {
			t.Errorf("%v: %s", test.at, got)
		}
	}
}

func TestRequestIDIsOneOfTheAttempt(t *testing.T) {
	var got []string
	s := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("X-Ms-Client-Request-Id"))
	})
	a := newAction(t, outbound.Config{})
	d := newDispatch(job.Request{Method: "GET", URI: s.URL})
	do(t, a, d)
	d.Resend++ // the same attempt, performed again
	do(t, a, d)
	d.RetryCount++
	do(t, a, d)
	d.Phase, d.RetryCount = job.ErrorAction, 1
	do(t, a, d)
	if got[0] != got[1] || got[1] == got[2] || got[0] == got[3] || len(got[0]) != 36 || strings.Count(got[0], "-") != 4 {
		t.Errorf("ids %q", got)
	}
}

// AZURE §8: "A header that the job sets itself wins", whatever its case.
func TestHeaderOfTheJobWins(t *testing.T) {
	own := map[string]string{
		"X-MS-Scheduler-JobId": "mine", "x-ms-SCHEDULER-jobcollection": "mine",
		"X-Ms-Scheduler-Expected-Execution-Time": "mine", "X-Ms-Scheduler-Attempt": "mine",
		"X-Ms-Execution-Tag": "mine", "X-Ms-Client-Request-Id": "mine",
		"IDEMPOTENCY-KEY": "mine", "user-agent": "mine", "authorization": "mine",
	}
	raw := send(t, job.Request{
		Method: "GET", URI: "http://target/", Headers: own,
		Authentication: &job.Authentication{Type: job.Basic, Username: "u", Password: "p"},
	})
	for name := range own {
		if !strings.Contains(raw, "\r\n"+name+": mine\r\n") || count(raw, name) != 1 {
			t.Errorf("%s is not the job's:\n%s", name, raw)
		}
	}
}

// What frames the message or belongs to the connection is not the job's to set.
func TestFramingIsNotTheJobsToBreak(t *testing.T) {
	raw := send(t, job.Request{
		Method: "POST", URI: "http://target/", Body: "body",
		Headers: map[string]string{
			"content-length": "1", "TRANSFER-ENCODING": "chunked", "connection": "Close, X-Own", "trailer": "X",
			"te": "trailers", "keep-alive": "timeout=1", "Upgrade": "websocket", "proxy-connection": "x", "X-Own": "1",
		},
	})
	for name, want := range map[string]int{
		"Content-Length": 1, "Transfer-Encoding": 0, "Connection": 1, "Trailer": 0,
		"TE": 0, "Keep-Alive": 0, "Upgrade": 0, "Proxy-Connection": 0, "X-Own": 1,
	} {
		if got := count(raw, name); got != want {
			t.Errorf("%s: %d times", name, got)
		}
	}
	if !strings.Contains(raw, "\r\nContent-Length: 4\r\n") || !strings.Contains(raw, "\r\nConnection: close\r\n") || !strings.HasSuffix(raw, "\r\n\r\nbody") {
		t.Errorf("got:\n%s", raw)
	}
}

func TestHostHeaderNamesTheVirtualHost(t *testing.T) {
	raw := send(t, job.Request{Method: "GET", URI: "http://target/", Headers: map[string]string{"hOsT": "virtual.example:8080"}})
	if !strings.Contains(raw, "\r\nHost: virtual.example:8080\r\n") || count(raw, "Host") != 1 {
		t.Errorf("got:\n%s", raw)
	}
}

// AZURE §8: "Authentication: Basic".
func TestBasicAuthentication(t *testing.T) {
	for _, test := range []struct {
		name string
		auth *job.Authentication
		want string
	}{
		{"umlauts", &job.Authentication{Type: job.Basic, Username: "jürgen", Password: "größe:€"}, "jürgen:größe:€"},
		{"no password", &job.Authentication{Type: job.Basic, Username: "u"}, "u:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWire(t, ok)
			r := do(t, newAction(t, outbound.Config{}), newDispatch(job.Request{Method: "GET", URI: w.URL, Authentication: test.auth}))
			if r.Outcome != job.Succeeded {
				t.Fatalf("report %+v", r)
			}
			raw := w.requests()[0]
			want := "\r\nAuthorization: Basic " + base64.StdEncoding.EncodeToString([]byte(test.want)) + "\r\n"
			if !strings.Contains(raw, want) || count(raw, "Authorization") != 1 {
				t.Errorf("got:\n%s", raw)
			}
		})
	}
}

// AZURE §6: "credentials never follow to another host".
func TestBasicAuthenticationDoesNotFollowToAnotherHost(t *testing.T) {
	far := newWire(t, ok)
	near := newWire(t, func(int) string {
		return "HTTP/1.1 307 x\r\nLocation: " + far.URL + "\r\nContent-Length: 0\r\n\r\n"
	})
	do(t, newAction(t, outbound.Config{}), newDispatch(job.Request{
		Method: "GET", URI: near.URL, Authentication: &job.Authentication{Type: job.Basic, Username: "u", Password: secret},
	}))
	if count(near.requests()[0], "Authorization") != 1 || count(far.requests()[0], "Authorization") != 0 {
		t.Errorf("near:\n%s\nfar:\n%s", near.requests()[0], far.requests()[0])
	}
}

// DESIGN, I12: history holds no secret, also where the target echoes it.
func TestEchoedCredentialsAreConcealed(t *testing.T) {
	auth := &job.Authentication{Type: job.Basic, Username: "u", Password: "s3cret?>s3cret"} // has a slash in base64
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		fmt.Fprintf(w, "%s, %s, %s, end", r.Header.Get("Authorization"), strings.ReplaceAll(r.Header.Get("Authorization"), "/", `\/`), password)
	})
	r := do(t, newAction(t, outbound.Config{}), newDispatch(job.Request{Method: "GET", URI: s.URL, Authentication: auth}))
	if sent := base64.StdEncoding.EncodeToString([]byte("u:s3cret?>s3cret")); !strings.Contains(sent, "/") {
		t.Fatalf("no slash in %s", sent)
	}
	if !strings.Contains(r.Message, "X-Echo: Basic [secret]==") || !strings.HasSuffix(r.Message, " Body: Basic [secret]==, Basic [secret]==, [secret], end") {
		t.Errorf("got %s", r.Message)
	}
}

// What cannot be sent as the job says is not sent at all.
func TestBadDefinitionsAreNotSent(t *testing.T) {
	w := newWire(t, ok)
	bad := map[string]job.Request{
		"The job's uri is not valid.":            {Method: "GET", URI: "http://h:" + secret + "/x"},
		"The job's method is not valid.":         {Method: "G T", URI: w.URL + "?" + secret},
		"One of the job's headers is not valid.": {Method: "GET", URI: w.URL, Headers: map[string]string{"X": secret + "\r\nY: 1"}},
		"cannot authenticate with Fax.":          {Method: "GET", URI: w.URL, Authentication: &job.Authentication{Type: "Fax", Secret: secret}},
	}
	for want, r := range bad {
		if got := do(t, newAction(t, outbound.Config{}), newDispatch(r)); got.Outcome != job.Failed || !strings.Contains(got.Message, "' failed: ") || !strings.Contains(got.Message, want) {
			t.Errorf("%s: %+v", want, got)
		}
	}
	for _, r := range []job.Request{
		{Method: "GET", URI: strings.Replace(w.URL, "//", "//u:"+secret+"@", 1)},
		{Method: "GET", URI: "ftp://h/"},
		{Method: "GET", URI: "/only/a/path"},
		{Method: "GET", URI: w.URL, Headers: map[string]string{"a b": "x"}},
		{Method: "GET", URI: w.URL, Headers: map[string]string{"": "x"}},
		{Method: "GET", URI: w.URL, Headers: map[string]string{"Host": "a b"}},
		{Method: "GET", URI: w.URL, Headers: map[string]string{"X": "a\x7f"}},
	} {
		if got := do(t, newAction(t, outbound.Config{}), newDispatch(r)); got.Outcome != job.Failed || !strings.Contains(got.Message, "not valid.") {
			t.Errorf("%+v: %+v", r, got)
		}
	}
	d := newDispatch(job.Request{})
	d.Action.Request = nil
	do(t, newAction(t, outbound.Config{}), d)
	if n := len(w.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}
