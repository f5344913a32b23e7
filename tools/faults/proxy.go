package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// network is the proxies between the parts of a cluster.
type network struct {
	server  *toxiproxy.ApiServer // its proxies' home; it serves nothing
	proxies map[string]*toxiproxy.Proxy
}

func newNetwork() *network {
	return &network{
		server:  toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop()),
		proxies: make(map[string]*toxiproxy.Proxy),
	}
}

// connect lets from reach an address by another one, which it returns.
func (n *network) connect(from, to, listen, upstream string) (string, error) {
	p := toxiproxy.NewProxy(n.server, from+"-"+to, listen, upstream)
	if err := p.Start(); err != nil {
		return "", fmt.Errorf("put a proxy between %s and %s: %w", from, to, err)
	}
	n.proxies[p.Name] = p
	return p.Listen, nil
}

func (n *network) close() {
	for _, p := range n.proxies {
		p.Stop()
	}
}

// between returns the proxies between one part and another, each of which may
// have a number behind it.
func (n *network) between(from, to string) []*toxiproxy.Proxy {
	var list []*toxiproxy.Proxy
	for name, p := range n.proxies {
		f, t, _ := strings.Cut(name, "-")
		if (f == from || strings.TrimRight(f, "0123456789") == from) && (t == to || strings.TrimRight(t, "0123456789") == to) {
			list = append(list, p)
		}
	}
	return list
}

// cut closes connections and refuses new ones, until mend is called.
func cut(list []*toxiproxy.Proxy) (mend func() error) {
	for _, p := range list {
		p.Stop()
	}
	return func() error {
		for _, p := range list {
			if err := p.Update(&toxiproxy.Proxy{Listen: p.Listen, Upstream: p.Upstream, Enabled: true}); err != nil {
				return fmt.Errorf("mend %s: %w", p.Name, err)
			}
		}
		return nil
	}
}

// toxic does something to what passes a proxy. Its fields are toxiproxy's.
type toxic struct {
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	Stream     string         `json:"stream"`
	Attributes map[string]int `json:"attributes"`
}

// poison has something done to what passes, until mend is called.
func poison(list []*toxiproxy.Proxy, name string, toxics ...toxic) (mend func() error, err error) {
	for i := range toxics {
		t := &toxics[i]
		t.Name = fmt.Sprintf("%s-%d", name, i)
		text, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			if _, err := p.Toxics.AddToxicJson(strings.NewReader(string(text))); err != nil {
				return nil, fmt.Errorf("%s on %s: %w", t.Type, p.Name, err)
			}
		}
	}
	return func() error {
		for _, t := range toxics {
			for _, p := range list {
				if err := p.Toxics.RemoveToxic(context.Background(), t.Name); err != nil {
					return fmt.Errorf("mend %s: %w", p.Name, err)
				}
			}
		}
		return nil
	}, nil
}

// both is a toxic in both directions.
func both(kind string, attributes map[string]int) []toxic {
	return []toxic{
		{Type: kind, Stream: "upstream", Attributes: attributes},
		{Type: kind, Stream: "downstream", Attributes: attributes},
	}
}
