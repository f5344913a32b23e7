package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
)

// The headers that tell a target about the execution (AZURE, outbound). The
// job's name is confirmed by public code; the others are ours, named after the
// fields of Azure's queue envelope.
const (
	headerJob        = "x-ms-scheduler-jobid"
	headerCollection = "x-ms-scheduler-jobcollection"
	headerExpected   = "x-ms-scheduler-expected-execution-time" // nominal time
	headerAttempt    = "x-ms-scheduler-attempt"                 // of the phase, from 1
	headerTag        = "x-ms-execution-tag"
	headerRequest    = "x-ms-client-request-id"

	// headerIdempotency holds the tag, the same for every attempt. It is in
	// lower case because net/http takes "Idempotency-Key" in its own spelling as
	// leave to send a POST again by itself when a kept connection breaks: an
	// attempt is performed once, and it is the retry policy that tries again.
	headerIdempotency = "idempotency-key"
)

// setOwn gives req the job's headers and returns their names in lower case. It
// reports false if a name or value cannot stand in a request.
//
// Names keep their case on the wire. Host names the virtual host. The headers
// that frame a message or belong to the connection are not the job's to set:
// they are left out, and net/http writes what is true of the request; but
// "Connection: close" is honored (our decision).
func setOwn(req *http.Request, headers map[string]string) (own map[string]bool, ok bool) {
	own = make(map[string]bool, len(headers))
	for name, value := range headers {
		if !validName(name) || !validValue(value) {
			return nil, false
		}
		lower := strings.ToLower(name)
		own[lower] = true
		switch lower {
		case "host":
			if strings.ContainsAny(value, " /\t") {
				return nil, false
			}
			req.Host = value
		case "connection":
			req.Close = strings.Contains(strings.ToLower(value), "close")
		case "content-length", "transfer-encoding", "trailer", "te",
			"keep-alive", "proxy-connection", "upgrade":
		default:
			req.Header[name] = []string{value}
		}
	}
	return own, true
}

// setFacts gives req the headers that tell about the execution. A header that
// the job sets itself wins, whatever its case (AZURE, outbound).
func (a *Action) setFacts(req *http.Request, own map[string]bool, d *job.Dispatch) {
	facts := [...]struct{ name, value string }{
		{headerJob, d.Job},
		{headerCollection, d.Collection},
		{headerExpected, expected(d.At)},
		{headerAttempt, strconv.Itoa(d.RetryCount + 1)},
		{headerTag, d.Tag},
		{headerRequest, action.RequestID(d)},
		{headerIdempotency, d.Tag},
	}
	for _, f := range facts {
		if !own[f.name] {
			req.Header[f.name] = []string{f.value}
		}
	}
	switch _, canonical := req.Header["User-Agent"]; {
	case !own["user-agent"]:
		req.Header["User-Agent"] = []string{a.agent}
	case !canonical: // the job spells it differently: keep net/http from adding its own
		req.Header["User-Agent"] = []string{""}
	}
}

// expected writes a nominal time, with milliseconds only if it has any.
func expected(at time.Time) string {
	at = at.UTC()
	if at.Nanosecond() == 0 {
		return at.Format("2006-01-02T15:04:05Z")
	}
	return at.Format("2006-01-02T15:04:05.000Z")
}

// validName reports whether s is a token (RFC 9110, field names).
func validName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case !strings.Contains("!#$%&'*+-.^_`|~", string(rune(c))):
			return false
		}
	}
	return s != ""
}

// validValue reports whether s holds no control character but tabs.
func validValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
