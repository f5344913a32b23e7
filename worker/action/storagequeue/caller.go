package storagequeue

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/worker/outbound"
)

const (
	maxAnswer = 16 << 10 // bytes of a body; Azure's have less than 1 KiB

	// idleTimeout is shorter than the 5 s after which Node, so Azurite, closes an
	// idle connection.
	idleTimeout = 4 * time.Second
)

// A caller makes the SDK's calls.
type caller struct {
	transport *http.Transport
	agent     string
}

// newCaller returns a caller that uses no proxy, whatever the environment says,
// and keeps as many idle connections to a host as perHost says.
func newCaller(network *outbound.Network, perHost int, agent string) *caller {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &caller{agent: agent, transport: &http.Transport{
		DialContext:            network.Dial,
		DialTLSContext:         network.DialTLS,
		Protocols:              protocols,
		DisableCompression:     true,
		MaxIdleConns:           4 * perHost,
		MaxIdleConnsPerHost:    perHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: outbound.MaxHeader,
	}}
}

// Do makes one call and returns the answer with its whole body in memory. It
// follows no redirect: a storage service has none. net/http sends a POST anew
// by itself only where nothing of it was sent, so an attempt is performed once.
// Its errors hold no URL, unlike http.Client's.
func (c *caller) Do(req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", c.agent)
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, explain(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	var body []byte
	if resp.StatusCode != http.StatusSwitchingProtocols { // its body would be the connection itself
		body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	}
	if err != nil && resp.StatusCode != http.StatusCreated {
		if err = explain(err); !typed(err) {
			err = outbound.ErrMalformed
		}
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// explain returns err as one that outbound.Reason can tell. net/http has
// neither a type nor a value for some.
func explain(err error) error {
	if typed(err) { // its text may hold any name, and so any word
		return err
	}
	switch text := err.Error(); {
	case strings.Contains(text, "server response headers exceeded"):
		return outbound.ErrHeaderTooLarge
	case strings.Contains(text, "server closed idle connection"):
		return outbound.ErrClosedIdle
	case strings.Contains(text, "transport connection broken"):
		return outbound.ErrMalformed
	}
	return err
}

// typed reports whether err can be told by its type or value.
func typed(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	if _, ok := errors.AsType[*outbound.HandshakeError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*outbound.RefusedError](err); ok {
		return true
	}
	_, ok := errors.AsType[net.Error](err)
	return ok
}
