package storagequeue_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action/storagequeue"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// AZURE §5: the words and quotes that PowerShell's parser needs.
func TestMessages(t *testing.T) {
	const failed = "StorageQueue Action - Message to storage account 'acc0unt' queue 'queue' failed: "
	const refused = "It must be for this queue or its account, permit to add messages (sp=a), and its dates (st, se) must hold now."
	for _, test := range []struct {
		name, want string
		status     int
		code       string
	}{
		{"accepted", "StorageQueue Action - Message to storage account 'acc0unt' queue 'queue' succeeded.", 201, ""},
		{"no such queue", "StorageQueue Action - Queue 'queue' does not exist in storage account 'acc0unt'.", 404, "QueueNotFound"},
		{"not found, and not the queue", failed + "The service answered 404 ResourceNotFound.", 404, "ResourceNotFound"},
		{"token refused", failed + "The service refused the SAS token (403 AuthenticationFailed). " + refused, 403, "AuthenticationFailed"},
		{"token of other rights", failed + "The service refused the SAS token (403 AuthorizationPermissionMismatch). " + refused, 403, "AuthorizationPermissionMismatch"},
		{"token not seen", failed + "The service refused the SAS token (401 NoAuthenticationInformation). " + refused, 401, "NoAuthenticationInformation"},
		{"account disabled", failed + "The storage account is disabled (403 AccountIsDisabled).", 403, "AccountIsDisabled"},
		{"queue on its way out", failed + "The service answered 409 QueueBeingDeleted.", 409, "QueueBeingDeleted"},
		{"too large", failed + "The service answered 413 RequestBodyTooLarge.", 413, "RequestBodyTooLarge"},
		{"broken", failed + "The service answered 500 InternalError.", 500, "InternalError"},
		{"no code", failed + "The service answered 502 Bad Gateway.", 502, ""},
		{"no status either", failed + "The service answered 599.", 599, ""},
		{"what is no code", failed + "The service answered 400 Bad Request.", 400, "'" + sig + "' succeeded"},
		{"redirected", failed + "The service answered 307 Temporary Redirect.", 307, ""},
		{"another success", failed + "The service answered 200 OK.", 200, ""},
	} {
		p := newPeer(t)
		p.Answer = func(w http.ResponseWriter, r *http.Request) {
			switch {
			case test.status == http.StatusCreated:
				accept(w)
			case test.code == "":
				w.Header().Set("Location", r.URL.String()) // holds the token
				w.WriteHeader(test.status)
			default:
				refuse(w, test.status, test.code)
			}
		}
		want := job.Failed
		if test.status == http.StatusCreated {
			want = job.Succeeded
		}
		r := do(t, newAction(t, storagequeue.Config{Endpoint: p.URL + "/{account}"}), newDispatch(message()))
		if r.Outcome != want || r.Message != test.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", test.name, r.Outcome, r.Message, test.want)
		}
	}
}

// The code stands in the body where a header lacks.
func TestCodeOfTheBody(t *testing.T) {
	p := newPeer(t)
	p.Answer = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusNotFound)
		w.Write([]byte(`<?xml version="1.0"?><Error><Code>QueueNotFound</Code><Message>` + r.URL.RawQuery + `</Message></Error>`))
	}
	r := do(t, newAction(t, storagequeue.Config{Endpoint: p.URL + "/{account}"}), newDispatch(message()))
	if !strings.Contains(r.Message, "Queue 'queue' does not exist") {
		t.Errorf("report %+v", r)
	}
}

// AZURE §5: "could not be found", the account first, if its host has no address.
// Where the host is the operator's, or nobody could be asked, that says nothing
// of an account.
func TestAccountThatIsNot(t *testing.T) {
	const gone = "StorageQueue Action - Storage account 'acc0unt' could not be found: "
	const failed = "StorageQueue Action - Message to storage account 'acc0unt' queue 'queue' failed: "
	const reason = "NameResolutionFailure The remote name could not be resolved: "
	silent := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("nobody there")
	}}
	for _, test := range []struct {
		endpoint string
		resolver *net.Resolver
		want     string
	}{
		{"http://{account}.queue.test", knowsNothing(), gone + reason + "'acc0unt.queue.test'"},
		{"https://{account}.queue.test:1000", knowsNothing(), gone + reason + "'acc0unt.queue.test'"},
		{"http://queue.test/{account}", knowsNothing(), failed + reason + "'queue.test'"},
		{"http://{account}.queue.test", silent, failed + reason + "'acc0unt.queue.test'"},
	} {
		network := outbound.NewNetwork(outbound.NetworkConfig{Resolver: test.resolver})
		r := do(t, newAction(t, storagequeue.Config{Endpoint: test.endpoint, Network: network}), newDispatch(message()))
		if r.Outcome != job.Failed || r.Message != test.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", test.endpoint, r.Outcome, r.Message, test.want)
		}
	}
}

// knowsNothing returns a resolver that is told of every name that there is none.
func knowsNothing() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		asked, server := net.Pipe()
		go func() {
			defer server.Close()
			size := make([]byte, 2) // as over TCP
			io.ReadFull(server, size)
			query := make([]byte, binary.BigEndian.Uint16(size))
			if _, err := io.ReadFull(server, query); err == nil {
				query[2], query[3] = query[2]|0x80, 3 // an answer: NXDOMAIN
				server.Write(append(size, query...))
			}
		}()
		return asked, nil
	}}
}

// AZURE §6: 503 and 429 are postponed while retries are left.
func TestBusyIsPostponedWhileRetriesAreLeft(t *testing.T) {
	for _, test := range []struct {
		name       string
		status     int
		header     string
		retryCount int // of 2 retries
		want       job.Outcome
		wait       time.Duration
	}{
		{"503", 503, "", 0, job.Postponed, 0},
		{"503 seconds", 503, "120", 0, job.Postponed, 2 * time.Minute},
		{"429 seconds", 429, "1", 1, job.Postponed, time.Second},
		{"bounded", 503, "999999999", 0, job.Postponed, 24 * time.Hour},
		{"beyond numbers", 503, "99999999999999999999", 0, job.Postponed, 24 * time.Hour},
		{"nonsense", 503, "soon", 0, job.Postponed, 0},
		{"negative", 503, "-1", 0, job.Postponed, 0},
		{"last attempt", 503, "120", 2, job.Failed, 0},
		{"other status", 500, "120", 0, job.Failed, 0},
	} {
		p := newPeer(t)
		p.Answer = func(w http.ResponseWriter, _ *http.Request) {
			if test.header != "" {
				w.Header().Set("Retry-After", test.header)
			}
			refuse(w, test.status, "ServerBusy")
		}
		d := newDispatch(message())
		d.RetryCount = test.retryCount
		r := do(t, newAction(t, storagequeue.Config{Endpoint: p.URL + "/{account}"}), d)
		if r.Outcome != test.want || r.RetryAfter != test.wait || !strings.Contains(r.Message, " ServerBusy)") && test.status != 500 {
			t.Errorf("%s: %+v", test.name, r)
		}
	}
}

// AZURE §5, as with HTTP: .NET's words for what got no answer.
func TestNotAnswered(t *testing.T) {
	for name, test := range map[string]struct{ said, want string }{
		"closed in the header": {"HTTP/1.1 403 x\r\nA: b", "ConnectionClosed "},
		"closed in the body":   {"HTTP/1.1 403 x\r\nContent-Length: 9\r\n\r\nx", "ConnectionClosed "},
		"not HTTP":             {"220 smtp.example ESMTP\r\n\r\n", "ServerProtocolViolation "},
		"bad chunks":           {"HTTP/1.1 403 x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "ServerProtocolViolation "},
		"header flood":         {"HTTP/1.1 403 x\r\nA: " + strings.Repeat("x", 128<<10) + "\r\n\r\n", "MessageLengthLimitExceeded "},
		"another protocol":     {"HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "The service answered 101 Switching Protocols."},
	} {
		r := do(t, newAction(t, storagequeue.Config{Endpoint: raw(t, test.said), Timeout: 20 * time.Second}), newDispatch(message()))
		if r.Outcome != job.Failed || !strings.Contains(r.Message, " failed: "+test.want) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// The body of an answer that switches protocols would be the connection, which
// no timeout ends.
func TestSwitchedProtocol(t *testing.T) {
	p := newPeer(t)
	p.Answer = func(w http.ResponseWriter, _ *http.Request) {
		c, _, _ := http.NewResponseController(w).Hijack()
		defer c.Close()
		io.WriteString(c, "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		io.Copy(io.Discard, c)
	}
	a := newAction(t, storagequeue.Config{Endpoint: p.URL + "/{account}", Timeout: 5 * time.Second})
	if r := do(t, a, newDispatch(message())); !strings.Contains(r.Message, "The service answered 101 Switching Protocols.") {
		t.Errorf("report %+v", r)
	}
}

// An answer without end is not read to its end.
func TestAnswerIsBounded(t *testing.T) {
	p := newPeer(t)
	p.Answer = func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		for chunk := []byte(strings.Repeat("x", 1<<16)); r.Context().Err() == nil; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	r := do(t, newAction(t, storagequeue.Config{Endpoint: p.URL + "/{account}", Timeout: 5 * time.Second}), newDispatch(message()))
	if !strings.Contains(r.Message, "(403 Forbidden)") {
		t.Errorf("report %+v", r)
	}
}
