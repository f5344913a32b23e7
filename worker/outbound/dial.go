package outbound

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"
)

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// dialer returns the one function through which every connection is made.
func dialer(timeout time.Duration) dialFunc {
	d := &net.Dialer{Timeout: timeout}
	return d.DialContext
}

// tlsDialer returns a function that connects with dial and agrees on TLS with
// the host of the address. Unlike net/http's own it tells a failed handshake
// ([HandshakeError]) from a failed connection.
func tlsDialer(dial dialFunc, config *tls.Config, timeout time.Duration) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		// net/http lets a dial outlive its request, so it has a bound of its own.
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("dial: %w", err)
		}
		raw, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		config := config.Clone()
		config.ServerName = host
		conn := tls.Client(raw, config)
		if err := conn.HandshakeContext(ctx); err != nil {
			_ = raw.Close() // of no use
			return nil, &HandshakeError{Err: err}
		}
		return conn, nil
	}
}
