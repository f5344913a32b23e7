package outbound

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// resolver returns a resolver that knows nothing but names.
func resolver(names map[string][]string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe() // no packets, so as over TCP
		go func() {
			defer theirs.Close()
			for {
				var size uint16
				if err := binary.Read(theirs, binary.BigEndian, &size); err != nil {
					return
				}
				query := make([]byte, size)
				if _, err := io.ReadFull(theirs, query); err != nil {
					return
				}
				answer := resolve(names, query)
				if _, err := theirs.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
					return
				}
			}
		}()
		return ours, nil
	}}
}

// resolve answers a query.
func resolve(names map[string][]string, query []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	addresses, known := names[strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))]
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, text := range addresses {
		h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1}
		switch ip := netip.MustParseAddr(text); {
		case ip.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: ip.As4()}})
		case ip.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
		}
	}
	answer, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return answer
}

// The tests below rest on it.
func TestResolverIsAsked(t *testing.T) {
	s := newServer(t, nil)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	n := NewNetwork(NetworkConfig{Resolver: resolver(map[string][]string{"here.test": {"127.0.0.1"}})})
	c, err := n.Dial(t.Context(), "tcp", "here.test:"+port)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
