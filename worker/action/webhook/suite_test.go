package webhook_test

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action/actiontest"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// moody answers as the path says, and echoes all that it was sent. It counts
// what it accepts.
func moody(delivered *atomic.Int32) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // without which the server does not see that the caller hangs up
		for name, values := range r.Header {
			w.Header()["X-Echo-"+name] = values
		}
		switch actiontest.Mood(strings.TrimPrefix(r.URL.Path, "/")) {
		case actiontest.Willing:
			delivered.Add(1)
		case actiontest.Busy:
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusServiceUnavailable)
		case actiontest.Hanging:
			<-r.Context().Done()
			panic(http.ErrAbortHandler) // an answer might still arrive
		case actiontest.Breaking:
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				c.Close()
			}
			return
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
		user, password, _ := r.BasicAuth()
		fmt.Fprintf(w, "%s %s %s %s", r.Header.Get("Authorization"), user, password, body)
	}
}

// runSuite runs the suite of all actions against a server.
func runSuite(t *testing.T, s *httptest.Server, delivered *atomic.Int32, cfg outbound.Config, authority string, auth *job.Authentication, secrets ...string) {
	cfg.Timeout = actiontest.Timeout
	scheme, _, _ := strings.Cut(s.URL, "://")
	attempt := 0
	actiontest.Run(t, actiontest.Rig{
		Action:    newActionAt(t, cfg, authority),
		Prefix:    "Http Action - ",
		Secrets:   secrets,
		Delivered: func() int { return int(delivered.Load()) },
		Dispatch: func(_ *testing.T, m actiontest.Mood) *job.Dispatch {
			uri := s.URL + "/" + string(m)
			switch m { // the server is in the others
			case actiontest.Unreachable:
				uri = scheme + "://127.0.0.1:1/"
			case actiontest.Forbidden:
				uri = scheme + "://169.254.169.254/"
			default:
			}
			attempt++
			d := newDispatch(job.Request{Method: "post", URI: uri, Body: "hello", Authentication: auth})
			d.Tag, d.RetryCount = fmt.Sprintf("%032x", attempt), 0
			return d
		},
	})
}

const suiteSecret = "a/Secret+that?is&long>enough"

func TestSuiteBasic(t *testing.T) {
	delivered := new(atomic.Int32)
	s := newServer(t, moody(delivered))
	auth := &job.Authentication{Type: job.Basic, Username: "user", Password: suiteSecret}
	runSuite(t, s, delivered, outbound.Config{}, "", auth, suiteSecret, base64.StdEncoding.EncodeToString([]byte("user:"+suiteSecret)))
}

func TestSuiteClientCertificate(t *testing.T) {
	delivered := new(atomic.Int32)
	root := newParty(t, "root", nil, nextYear())
	accept := moody(delivered)
	g := newGate(t, &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: poolOf(root)}, accept)
	auth := proofOf(t, newParty(t, "leaf", root, nextYear()))
	runSuite(t, g.Server, delivered, trusting(g), "", auth, string(auth.PFX))
	for _, c := range g.seen() {
		if c.names != "leaf" {
			t.Errorf("presented %q", c.names)
		}
	}
}

func TestSuiteActiveDirectoryOAuth(t *testing.T) {
	const tokenText = "eyJ0b2tlbiI6InRoYXQgaXMgbG9uZyJ9.c2lnbmF0dXJl-"
	delivered := new(atomic.Int32)
	s := newServer(t, moody(delivered))
	office := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("client_secret") != suiteSecret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"token_type":"Bearer","expires_in":"3599","access_token":"%s%d"}`, tokenText, delivered.Load())
	})
	auth := &job.Authentication{Type: job.ActiveDirectoryOAuth, Tenant: "t", ClientID: "c", Audience: "a", Secret: suiteSecret}
	runSuite(t, s, delivered, outbound.Config{}, office.URL, auth, suiteSecret, tokenText)
}
