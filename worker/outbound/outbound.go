// Package outbound calls the outside over HTTP on behalf of jobs: pooled
// connections, bounded time, bounded answers, redirects that take no
// credentials along. It neither knows what a job is nor how an answer is told.
package outbound

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Bounds of a call. Those of time and redirects are Azure's (AZURE, limits and
// schedules), the others ours.
const (
	DefaultTimeout = 60 * time.Second
	MaxRedirects   = 5
	MaxHeader      = 64 << 10 // bytes of an answer's headers

	// MaxBody is how much of an answer's body is kept, in bytes: the 1024 UTF-16
	// code units that history shows take up to 3072, and a little more lets
	// what must not be shown be recognized at their end.
	MaxBody = 4 << 10
)

const (
	// idleTimeout is shorter than the 5 s after which Node and Apache close an
	// idle connection, so that a job that runs every few seconds does not keep
	// meeting a connection that is just being closed.
	idleTimeout = 4 * time.Second

	// What is left of a body is read so that the connection can be used again,
	// if it is this little and comes this fast.
	drainBytes = 64 << 10
	drainTime  = 250 * time.Millisecond
)

// Why a call got no answer, where net/http and its like have no value or type
// for it.
var (
	ErrTimeout          = errors.New("call timed out")
	ErrTooManyRedirects = errors.New("too many redirects")
	ErrHeaderTooLarge   = errors.New("answer's header too large")
	ErrMalformed        = errors.New("answer is not HTTP")
	ErrClosedIdle       = errors.New("kept connection was closed by the server")
)

// HandshakeError says that a connection stood but TLS could not be agreed on.
type HandshakeError struct{ Err error }

// Error describes the failure.
func (e *HandshakeError) Error() string { return "tls handshake: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *HandshakeError) Unwrap() error { return e.Err }

// Config configures a Client. Its zero value is valid.
type Config struct {
	// Timeout covers the whole of a call: connecting, redirects, and reading
	// the body. Default, also if negative, [DefaultTimeout].
	Timeout time.Duration
	// Concurrency is how many calls are made at once at most; as many idle
	// connections are kept to a host, and four times as many to all. It limits
	// nothing. Default, also if negative, 256.
	Concurrency int
	// Network makes the connections. nil: one of its own, with Timeout.
	Network *Network
}

// Client makes calls. Create one with NewClient. It is safe for concurrent use.
type Client struct {
	http    http.Client
	timeout time.Duration
	perHost int // idle connections
	network *Network
	plain   *http.Transport // presents no certificate
}

// NewClient returns a Client.
//
// It speaks HTTP/1.1 only: header names reach the target in the case in which
// the job has them, which HTTP/2 does not allow. It asks for no compression, so
// that a job's own Accept-Encoding, or its absence, is what the target sees. It
// uses no proxy, whatever the environment says.
func NewClient(cfg Config) *Client {
	timeout := cmp.Or(max(cfg.Timeout, 0), DefaultTimeout)
	perHost := cmp.Or(max(cfg.Concurrency, 0), 256)
	network := cfg.Network
	if network == nil {
		network = NewNetwork(NetworkConfig{Timeout: timeout})
	}

	plain := newTransport(network.Dial, network.DialTLS, perHost)
	return &Client{
		http:    http.Client{CheckRedirect: redirect, Transport: plain},
		timeout: timeout, perHost: perHost, network: network, plain: plain,
	}
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

func newTransport(dial, dialTLS dialFunc, perHost int) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dial,
		DialTLSContext:         dialTLS,
		Protocols:              protocols,
		DisableCompression:     true,
		MaxIdleConns:           4 * perHost,
		MaxIdleConnsPerHost:    perHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: MaxHeader,
	}
}

// Timeout returns how long a call may take.
func (c *Client) Timeout() time.Duration { return c.timeout }

// HTTP returns a client for a library that makes calls of its own on the same
// connections, so under the same guard. It follows no redirect, which is then
// the answer, and its calls take at most [Client.Timeout], reading the body
// included. How much of a body is read is up to the library. Its errors hold
// the URL.
func (c *Client) HTTP() *http.Client {
	return &http.Client{
		Transport:     c.plain,
		Timeout:       c.timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Response is a target's answer.
type Response struct {
	Status int
	Header http.Header
	Body   []byte // its first MaxBody bytes
}

// Do makes the call and follows up to [MaxRedirects] redirects, with method and
// body as net/http decides: 301, 302 and 303 go on with GET (HEAD remains
// HEAD), 307 and 308 repeat the call. It blocks until the answer is read, the
// timeout is over ([ErrTimeout]) or req's context is done (its cause). Its
// errors hold no URL.
func (c *Client) Do(req *http.Request) (*Response, error) {
	ctx, cancel := context.WithTimeoutCause(req.Context(), c.timeout, ErrTimeout)
	defer cancel()
	resp, err := c.http.Do(req.WithContext(ctx))
	if err != nil {
		return nil, explain(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	answer := &Response{Status: resp.StatusCode, Header: resp.Header}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return answer, nil // the body would be the connection itself
	}
	answer.Body, err = io.ReadAll(io.LimitReader(resp.Body, MaxBody))
	if err != nil {
		if err = explain(ctx, err); !typed(err) && ctx.Err() == nil {
			err = ErrMalformed
		}
		return nil, err
	}
	if len(answer.Body) == MaxBody {
		drain(resp.Body, cancel)
	}
	return answer, nil
}

// CloseIdle closes the connections that are not in use.
func (c *Client) CloseIdle() { c.http.CloseIdleConnections() }

// drain reads a little of what is left. cancel makes a read from body return.
func drain(body io.Reader, cancel context.CancelFunc) {
	timer := time.AfterFunc(drainTime, cancel)
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, drainBytes) // the answer is known whatever comes
}

// explain returns why a call failed, without the URL, which may hold a secret.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if typed(err) {
		return err
	}
	// net/http has neither a type nor a value for the rest.
	switch text := err.Error(); {
	case strings.Contains(text, "server response headers exceeded"):
		return ErrHeaderTooLarge
	case strings.Contains(text, "server closed idle connection"):
		return ErrClosedIdle
	case strings.Contains(text, "malformed"),
		strings.Contains(text, "transport connection broken"),
		strings.Contains(text, "failed to parse Location header"):
		return ErrMalformed
	}
	return err
}

// typed reports whether err can be told by its type or value. The text of such
// an error may hold any name, and so any word.
func typed(err error) bool {
	for _, target := range []error{io.EOF, io.ErrUnexpectedEOF, ErrTooManyRedirects} {
		if errors.Is(err, target) {
			return true
		}
	}
	if _, ok := errors.AsType[*HandshakeError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*RefusedError](err); ok {
		return true
	}
	_, ok := errors.AsType[net.Error](err)
	return ok
}
