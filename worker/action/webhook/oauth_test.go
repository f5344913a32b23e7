package webhook_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// tokenSecret begins every token, and must not come out either.
const tokenSecret = "eyJ." + secret + "-token-"

// An office is an authority that gives tokens, each another.
type office struct {
	*httptest.Server
	calls atomic.Int32
}

func newOffice(t testing.TB) *office {
	t.Helper()
	o := new(office)
	o.Server = newServer(t, func(w http.ResponseWriter, r *http.Request) {
		n := o.calls.Add(1)
		if r.FormValue("client_secret") != secret+"/client" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":"invalid_client","error_description":"AADSTS7000215: %s is wrong"}`, r.FormValue("client_secret"))
			return
		}
		fmt.Fprintf(w, `{"token_type":"Bearer","expires_in":"3599","access_token":"%s%d"}`, tokenSecret, n)
	})
	return o
}

// clientOf returns an authentication that the office accepts.
func clientOf() *job.Authentication {
	return &job.Authentication{Type: job.ActiveDirectoryOAuth, Tenant: "contoso.test", ClientID: "c", Audience: "https://a.test/", Secret: secret + "/client"}
}

// AZURE §8: "ActiveDirectoryOAuth (…, token cached until it nears its end)".
func TestTokenIsSentAndKept(t *testing.T) {
	o, w := newOffice(t), newWire(t, ok)
	a := newActionAt(t, outbound.Config{}, o.URL)
	for range 3 {
		if r := do(t, a, newDispatch(job.Request{Method: "GET", URI: w.URL, Authentication: clientOf()})); r.Outcome != job.Succeeded {
			t.Fatal(r.Message)
		}
	}
	for _, raw := range w.requests() {
		if !strings.Contains(raw, "\r\nAuthorization: Bearer "+tokenSecret+"1\r\n") || count(raw, "Authorization") != 1 {
			t.Errorf("got:\n%s", raw)
		}
	}
	if n := o.calls.Load(); n != 1 {
		t.Errorf("%d calls to the authority", n)
	}
}

// Another job's secret opens nothing that was fetched with the right one.
func TestKeptTokenIsNotForWhoHasNotTheSecret(t *testing.T) {
	o, w := newOffice(t), newWire(t, ok)
	a := newActionAt(t, outbound.Config{}, o.URL)
	wrong := clientOf()
	wrong.Secret = secret + "-wrong"
	do(t, a, newDispatch(job.Request{Method: "GET", URI: w.URL, Authentication: clientOf()}))
	r := do(t, a, newDispatch(job.Request{Method: "GET", URI: w.URL, Authentication: wrong}))
	want := "Http Action - Request to host '127.0.0.1' failed: ActiveDirectoryOAuth The token was refused by the authority: invalid_client (AADSTS7000215)."
	if r.Outcome != job.Failed || r.Message != want {
		t.Errorf("got %s", r.Message)
	}
	if n := len(w.requests()); n != 1 {
		t.Errorf("%d calls to the target", n)
	}
}

// A target that answers 401 may know that the token is no longer good. The call
// is not made again, but the next attempt comes with another.
func TestTokenThatTheTargetRejectsIsDropped(t *testing.T) {
	o := newOffice(t)
	rejected := atomic.Pointer[string]{}
	var got []string
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Get("Authorization")
		got = append(got, strings.TrimPrefix(header, "Bearer "+tokenSecret))
		if p := rejected.Load(); p != nil && *p == header {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, "not good: "+header)
		}
	})
	a := newActionAt(t, outbound.Config{}, o.URL)
	d := newDispatch(job.Request{Method: "POST", URI: s.URL, Authentication: clientOf()})
	do(t, a, d)
	bad := "Bearer " + tokenSecret + "1"
	rejected.Store(&bad)
	if r := do(t, a, d); r.Outcome != job.Failed || !strings.Contains(r.Message, "'Unauthorized'") || !strings.HasSuffix(r.Message, "Body: not good: Bearer [secret]") {
		t.Errorf("rejected: %s", r.Message)
	}
	if r := do(t, a, d); r.Outcome != job.Succeeded {
		t.Errorf("anew: %s", r.Message)
	}
	if want := "1 1 2"; strings.Join(got, " ") != want || o.calls.Load() != 2 {
		t.Errorf("tokens %q", got)
	}
}

// Only a 401 says that; a 403 is about rights, which another token has not
// either.
func TestTokenSurvivesOtherAnswers(t *testing.T) {
	o := newOffice(t)
	status := 0
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	a := newActionAt(t, outbound.Config{}, o.URL)
	for _, status = range []int{200, 403, 404, 500, 503} {
		do(t, a, newDispatch(job.Request{Method: "GET", URI: s.URL, Authentication: clientOf()}))
	}
	if n := o.calls.Load(); n != 1 {
		t.Errorf("%d calls to the authority", n)
	}
}

// AZURE §8: "A header that the job sets itself wins": no token is needed.
func TestNoTokenIsFetchedForAJobWithItsOwn(t *testing.T) {
	o, w := newOffice(t), newWire(t, ok)
	r := do(t, newActionAt(t, outbound.Config{}, o.URL), newDispatch(job.Request{
		Method: "GET", URI: w.URL, Headers: map[string]string{"authorization": "mine"}, Authentication: clientOf(),
	}))
	if r.Outcome != job.Succeeded || o.calls.Load() != 0 || !strings.Contains(w.requests()[0], "\r\nauthorization: mine\r\n") {
		t.Errorf("%d calls to the authority, %s", o.calls.Load(), r.Message)
	}
}

// AZURE §6: "credentials never follow to another host".
func TestTokenDoesNotFollowToAnotherHost(t *testing.T) {
	o, far := newOffice(t), newWire(t, ok)
	near := newWire(t, func(int) string {
		return "HTTP/1.1 307 x\r\nLocation: " + far.URL + "\r\nContent-Length: 0\r\n\r\n"
	})
	do(t, newActionAt(t, outbound.Config{}, o.URL), newDispatch(job.Request{Method: "GET", URI: near.URL, Authentication: clientOf()}))
	if count(near.requests()[0], "Authorization") != 1 || count(far.requests()[0], "Authorization") != 0 {
		t.Errorf("near:\n%s\nfar:\n%s", near.requests()[0], far.requests()[0])
	}
}

// What a target makes of a token, history does not show.
func TestEchoedTokenIsConcealed(t *testing.T) {
	o := newOffice(t)
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Get("Authorization")
		w.Header().Set("X-Echo", header)
		// The last one is cut off by the bound on what is read.
		fmt.Fprintf(w, "%s; %s/client; %x; %s", header, secret, header, strings.Repeat(".", outbound.MaxBody-400)+strings.Repeat(header, 9))
	})
	r := do(t, newActionAt(t, outbound.Config{}, o.URL), newDispatch(job.Request{Method: "GET", URI: s.URL, Authentication: clientOf()}))
	if !strings.Contains(r.Message, "X-Echo: Bearer [secret]\r\n") || !strings.Contains(r.Message, " Body: Bearer [secret]; [secret]; 426561726572205b7365637265745d") && !strings.Contains(r.Message, " Body: Bearer [secret]; [secret]; 42656172657220[secret]; ..") {
		t.Errorf("got %s", r.Message)
	}
}

// A token that does not wholly fit into what is read of an answer is known by
// its beginning.
func TestTokenCutOffInTheAnswerIsConcealed(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 600)
	o := newServer(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"access_token":%q}`, long) })
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "you sent "+r.Header.Get("Authorization"))
	})
	r := do(t, newActionAt(t, outbound.Config{}, o.URL), newDispatch(job.Request{Method: "GET", URI: s.URL, Authentication: clientOf()}))
	if !strings.HasSuffix(r.Message, " Body: you sent Bearer [secret]") {
		t.Errorf("got %s", r.Message)
	}
}

// What it takes to get a token is part of the time that a call may take.
func TestAuthorityThatHangsEndsTheCall(t *testing.T) {
	hanging := newPeer(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) })
	w := newWire(t, ok)
	a := newActionAt(t, outbound.Config{Timeout: 200 * time.Millisecond}, "http://"+hanging)
	start := time.Now()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			r := do(t, a, newDispatch(job.Request{Method: "GET", URI: w.URL, Authentication: clientOf()}))
			if r.Outcome != job.Failed || !strings.HasSuffix(r.Message, "failed: ActiveDirectoryOAuth No token was had: the authority did not answer in time.") {
				t.Errorf("got %s", r.Message)
			}
		})
	}
	wg.Wait()
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	if n := len(w.requests()); n != 0 {
		t.Errorf("%d calls to the target", n)
	}
}
