package outbound

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// journey returns the last of the requests that redirects made of one another.
func journey(t *testing.T, path string) *http.Request {
	t.Helper()
	var last *http.Request
	for uri := range strings.FieldsSeq(path) {
		req := newRequest(t, "GET", uri, "")
		if last != nil {
			req.Response = &http.Response{Request: last}
		}
		last = req
	}
	return last
}

func TestHome(t *testing.T) {
	for path, want := range map[string]bool{
		"https://h/a":                                    true,
		"https://h/a https://h/b https://h/c":            true,
		"https://h/a https://H:443/b":                    true,
		"https://h/ http://h/":                           false,
		"https://h/ https://h:8443/":                     false,
		"https://h/ https://www.h/":                      false,
		"https://h/ https://evil/ https://h/":            false,
		"https://h/ https://evil/ https://h/ https://h/": false,
		"https://evil/ https://h/ https://h/":            false,
	} {
		if got := home(journey(t, path)); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
	lost := newRequest(t, "GET", "https://h/", "")
	lost.Response = new(http.Response)
	if home(lost) {
		t.Error("a request that came from nowhere is home")
	}
}

// The certificate and its connections are the client's own, also if it was made
// of one that has another certificate.
func TestWithCertificate(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.RemoteAddr)
		for _, c := range r.TLS.PeerCertificates {
			io.WriteString(w, " "+string(c.RawSubject))
		}
	}))
	s.Config.ErrorLog = quiet()
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	defer s.Close()
	n := NewNetwork(NetworkConfig{})
	n.tls.InsecureSkipVerify = true
	plain := newClient(t, Config{Network: n})
	proven := plain.WithCertificate(s.TLS.Certificates[0]) // any will do
	defer proven.CloseIdle()
	again := proven.WithCertificate(s.TLS.Certificates[0])
	defer again.CloseIdle()

	conns := map[string]bool{}
	for _, c := range []*Client{plain, proven, again} {
		for range 2 {
			resp, err := c.Do(newRequest(t, "GET", s.URL, ""))
			if err != nil {
				t.Fatal(err)
			}
			conn, subject, _ := strings.Cut(string(resp.Body), " ")
			if (subject != "") != (c != plain) {
				t.Errorf("presented %q", subject)
			}
			conns[conn] = true
		}
	}
	if len(conns) != 3 {
		t.Errorf("%d connections of 3 clients", len(conns))
	}
	if proven.Timeout() != plain.Timeout() || again.plain != plain.plain {
		t.Error("not like the client that it was made of")
	}
}

// The guard stands before connections with a certificate, too.
func TestGuardWithCertificate(t *testing.T) {
	_, err := newClient(t, Config{}).WithCertificate(tls.Certificate{}).Do(newRequest(t, "GET", "https://"+metadata, ""))
	refused(t, "with a certificate", err, true)
	if _, ok := errors.AsType[*HandshakeError](err); ok {
		t.Error("a refusal is no failed handshake")
	}
}
