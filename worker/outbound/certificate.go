package outbound

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
)

// WithCertificate returns a client like c that proves itself by a certificate to
// where a call goes first. The certificate follows redirects as credentials do:
// not to another origin, and not back from there.
//
// No connection is shared between clients that present certificates; what needs
// none goes over those of c. CloseIdle closes only the client's own.
func (c *Client) WithCertificate(certificate tls.Certificate) *Client {
	dialTLS := func(ctx context.Context, network, address string) (net.Conn, error) {
		return c.network.dialTLS(ctx, network, address, &certificate)
	}
	proven := newTransport(c.network.Dial, dialTLS, c.perHost)
	other := *c
	other.http.Transport = &split{proven: proven, plain: c.plain}
	return &other
}

// A split keeps apart the connections that a certificate was presented on.
type split struct{ proven, plain *http.Transport }

// RoundTrip makes a call over one or the other.
func (s *split) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "https" && home(req) {
		return s.proven.RoundTrip(req)
	}
	return s.plain.RoundTrip(req)
}

// CloseIdleConnections is called by [http.Client.CloseIdleConnections].
func (s *split) CloseIdleConnections() { s.proven.CloseIdleConnections() }

// home reports whether req, and every request that a redirect made it follow,
// goes to the same origin.
func home(req *http.Request) bool {
	here := origin(req.URL)
	for req.Response != nil {
		if req = req.Response.Request; req == nil || origin(req.URL) != here {
			return false
		}
	}
	return true
}

// present makes a handshake present a certificate to a server that asks for one.
//
// It is presented whatever authorities the server says it knows: what the user
// asked for is not left out because the server's list names a root and the file
// holds no link to it (our decision). Servers that decide by the path of the
// request, as IIS does, ask for it by a second handshake; one is allowed, which
// only TLS 1.2 has.
func present(config *tls.Config, certificate *tls.Certificate) {
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	config.Renegotiation = tls.RenegotiateOnceAsClient
}
