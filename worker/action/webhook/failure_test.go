package webhook_test

import (
	"bufio"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// newPeer runs serve on each connection and returns the address.
func newPeer(t *testing.T, serve func(c *net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c.(*net.TCPConn))
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// AZURE §5: "Not answered: …", WebExceptionStatus and text.
func TestMessageWithoutAnAnswer(t *testing.T) {
	read := func(c *net.TCPConn) { http.ReadRequest(bufio.NewReader(c)) }
	say := func(text string) func(c *net.TCPConn) {
		return func(c *net.TCPConn) {
			read(c)
			io.WriteString(c, text)
		}
	}
	reset := func(c *net.TCPConn) {
		read(c)
		c.SetLinger(0)
	}
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close) // the subtests run later
	plain := newServer(t, func(http.ResponseWriter, *http.Request) {})
	loop := newServer(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) })

	closed := "The underlying connection was closed: "
	for _, test := range []struct{ name, uri, host, want string }{
		{"refused", "http://127.0.0.1:1", "127.0.0.1", "ConnectFailure Unable to connect to the remote server"},
		{"unresolvable", "http://nonexistent.invalid", "nonexistent.invalid", "NameResolutionFailure The remote name could not be resolved: 'nonexistent.invalid'"},
		{"silent", "http://" + newPeer(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) }), "127.0.0.1", "Timeout The operation has timed out"},
		{"silent in the handshake", "https://" + newPeer(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) }), "127.0.0.1", "Timeout The operation has timed out"},
		{"body trickles", "http://" + newPeer(t, func(c *net.TCPConn) {
			say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx")(c)
			for {
				if _, err := io.WriteString(c, "x"); err != nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}), "127.0.0.1", "Timeout The operation has timed out"},
		{"untrusted", untrusted.URL, "127.0.0.1", "TrustFailure " + closed + "Could not establish trust relationship for the SSL/TLS secure channel."},
		{"plain HTTP where TLS is asked for", strings.Replace(plain.URL, "http:", "https:", 1), "127.0.0.1", "SecureChannelFailure The request was aborted: Could not create SSL/TLS secure channel."},
		{"closed in the handshake", "https://" + newPeer(t, func(*net.TCPConn) {}), "127.0.0.1", "SecureChannelFailure The request was aborted: Could not create SSL/TLS secure channel."},
		{"reset", "http://" + newPeer(t, reset), "127.0.0.1", "ReceiveFailure " + closed + "An unexpected error occurred on a receive."},
		{"closed without an answer", "http://" + newPeer(t, read), "127.0.0.1", "ConnectionClosed " + closed + "The connection was closed unexpectedly."},
		{"closed in the header", "http://" + newPeer(t, say("HTTP/1.1 200 OK\r\nA: b")), "127.0.0.1", "ConnectionClosed " + closed + "The connection was closed unexpectedly."},
		{"closed in the body", "http://" + newPeer(t, say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx")), "127.0.0.1", "ConnectionClosed " + closed + "The connection was closed unexpectedly."},
		{"not HTTP", "http://" + newPeer(t, say("220 smtp.example ESMTP\r\n\r\n")), "127.0.0.1", "ServerProtocolViolation The server committed a protocol violation."},
		{"bad chunks", "http://" + newPeer(t, say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")), "127.0.0.1", "ServerProtocolViolation The server committed a protocol violation."},
		{"header flood", "http://" + newPeer(t, say("HTTP/1.1 200 OK\r\nA: "+strings.Repeat("x", 128<<10)+"\r\n\r\n")), "127.0.0.1", "MessageLengthLimitExceeded " + closed + "The message length limit was exceeded."},
		{"redirects without end", loop.URL, "127.0.0.1", "ProtocolError Too many automatic redirections were attempted."},
		{"redirect to an unresolvable name", "http://" + newPeer(t, say("HTTP/1.1 302 x\r\nLocation: http://elsewhere.invalid/?"+secret+"\r\n\r\n")), "127.0.0.1", "NameResolutionFailure The remote name could not be resolved: 'elsewhere.invalid'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := outbound.Config{Timeout: 20 * time.Second}
			if strings.HasPrefix(test.want, "Timeout") {
				cfg.Timeout = 100 * time.Millisecond
			}
			r := do(t, newAction(t, cfg), newDispatch(job.Request{
				Method: "POST", URI: test.uri + "/" + secret + "?" + secret, Body: secret, Headers: map[string]string{"X-Api-Key": secret},
				Authentication: &job.Authentication{Type: job.Basic, Username: secret, Password: secret},
			}))
			want := "Http Action - Request to host '" + test.host + "' failed: " + test.want
			if r.Outcome != job.Failed || r.Message != want {
				t.Errorf("%s:\ngot  %q\nwant %q", r.Outcome, r.Message, want)
			}
		})
	}
}

// A target that stops reading in the middle of a long body and hangs up: the
// fault is found in sending or in receiving, whichever comes first.
func TestHungUpWhileSending(t *testing.T) {
	addr := newPeer(t, func(c *net.TCPConn) {
		c.Read(make([]byte, 1))
		c.SetLinger(0)
	})
	r := do(t, newAction(t, outbound.Config{}), newDispatch(job.Request{Method: "POST", URI: "http://" + addr, Body: strings.Repeat("x", 32<<20)}))
	if !strings.Contains(r.Message, "failed: SendFailure ") && !strings.Contains(r.Message, "failed: ReceiveFailure ") {
		t.Errorf("got %s", r.Message)
	}
}
