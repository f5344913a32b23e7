package storagequeue_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action/storagequeue"
)

func TestTokenWorksWithAndWithoutItsQuestionMark(t *testing.T) {
	p := newPeer(t)
	a := newAction(t, storagequeue.Config{Endpoint: p.URL + "/{account}"})
	for _, s := range []string{token(), "?" + token(), " ?" + token() + " ", strings.Replace(token(), "&se="+url.QueryEscape(future), "", 1)} {
		q := message()
		q.SASToken = job.Secret(s)
		if r := do(t, a, newDispatch(q)); r.Outcome != job.Succeeded {
			t.Errorf("report %+v", r)
		}
	}
}

// What expired is not tried; nor is what is no token at all, which might be any
// other secret.
func TestTokenThatCannotWorkIsNotSent(t *testing.T) {
	p := newPeer(t)
	a := newAction(t, storagequeue.Config{Endpoint: p.URL + "/{account}"})
	none := "failed: The SAS token is none: it must be the query part of a URL, with sig=… in it."
	expired := func(se string) string {
		return strings.Replace(token(), url.QueryEscape(future), url.QueryEscape(se), 1)
	}
	for _, test := range []struct{ name, token, want string }{
		{"expired", expired("2026-01-02T03:04:05Z"), "failed: The SAS token expired at 2026-01-02T03:04:05Z. The job needs a new one."},
		{"expired, with a question mark", "?" + expired("2026-01-02T03:04:05Z"), "expired at 2026-01-02T03:04:05Z."},
		{"expired, to the tick", expired("2026-01-02T03:04:05.1234567Z"), "expired at 2026-01-02T03:04:05Z."},
		{"expired, by the minute", expired("2026-01-02T03:04Z"), "expired at 2026-01-02T03:04:00Z."},
		{"expired, by the day", expired("2026-01-02"), "expired at 2026-01-02T00:00:00Z."},
		{"expired, of another zone", expired("2026-01-02T03:04:05+02:00"), "expired at 2026-01-02T01:04:05Z."},
		{"the account's key", sig, none},
		{"a URL", "https://acc.queue.core.windows.net/queue", none},
		{"a connection string", "AccountName=a;AccountKey=" + sig, none},
		{"no query", "sig=%zz" + sig, none},
		{"no signature", "sv=2026-04-06&sp=a", none},
	} {
		q := message()
		q.SASToken = job.Secret(test.token)
		if r := do(t, a, newDispatch(q)); r.Outcome != job.Failed || !strings.Contains(r.Message, test.want) {
			t.Errorf("%s: %+v", test.name, r)
		}
	}
	if n := p.seen(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// A form of se that Azure does not document is the service's to judge.
func TestStrangeExpiryIsLeftToTheService(t *testing.T) {
	p := newPeer(t)
	p.Answer = func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusForbidden, "AuthenticationFailed") }
	q := message()
	q.SASToken = job.Secret(strings.Replace(token(), url.QueryEscape(future), "yesterday", 1))
	r := do(t, newAction(t, storagequeue.Config{Endpoint: p.URL + "/{account}"}), newDispatch(q))
	if p.seen() != 1 || !strings.Contains(r.Message, "AuthenticationFailed") {
		t.Errorf("report %+v", r)
	}
}
