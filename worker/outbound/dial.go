package outbound

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"syscall"
	"time"
)

// NetworkConfig configures a Network. Its zero value is valid.
type NetworkConfig struct {
	// Timeout bounds connecting, and agreeing on TLS. Default, also if negative,
	// [DefaultTimeout].
	Timeout time.Duration
	// RootCAs are who may vouch for a target. nil: who the system trusts.
	RootCAs *x509.CertPool
	// MinVersion is the least version of TLS. Default [tls.VersionTLS12].
	MinVersion uint16
	// Guard says what may be called. nil: what no guard ever allows is refused,
	// all else is not.
	Guard *Guard
	// Resolver finds the addresses of names. nil: the system's.
	Resolver *net.Resolver
}

// A Network makes every connection of a worker's actions. Create one with
// NewNetwork. It is safe for concurrent use.
type Network struct {
	guard    *Guard
	resolver *net.Resolver
	tls      *tls.Config
	timeout  time.Duration
}

// NewNetwork returns a Network.
func NewNetwork(cfg NetworkConfig) *Network {
	n := &Network{
		guard:    cfg.Guard,
		resolver: cfg.Resolver,
		tls:      &tls.Config{MinVersion: max(cfg.MinVersion, tls.VersionTLS12), RootCAs: cfg.RootCAs},
		timeout:  cmp.Or(max(cfg.Timeout, 0), DefaultTimeout),
	}
	if n.guard == nil {
		n.guard = new(Guard)
	}
	return n
}

// Dial connects to an address, host:port, unless the guard refuses it
// ([RefusedError]). What the guard judges is the name asked for and the address
// that is really dialled, after its name was resolved.
func (n *Network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	judge, err := n.guard.judge(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{
		Timeout:  n.timeout,
		Resolver: n.resolver,
		Control:  func(_, address string, _ syscall.RawConn) error { return judge(address) },
	}
	return d.DialContext(ctx, network, address)
}

// DialTLS connects as Dial does and agrees on TLS with the host of the address.
// Unlike net/http's own it tells a failed handshake ([HandshakeError]) from a
// failed connection.
func (n *Network) DialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	return n.dialTLS(ctx, network, address, nil)
}

// dialTLS is DialTLS with a client's certificate, if it is not nil.
func (n *Network) dialTLS(ctx context.Context, network, address string, certificate *tls.Certificate) (net.Conn, error) {
	// net/http lets a dial outlive its request, so it has a bound of its own.
	ctx, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	raw, err := n.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	config := n.tls.Clone()
	config.ServerName = host
	if certificate != nil {
		present(config, certificate)
	}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close() // of no use
		return nil, &HandshakeError{Err: err}
	}
	return conn, nil
}
