package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// ports hands out loopback addresses below those that the kernel gives to
// connections: a server that is down for a while must find its own free again.
type ports struct{ port int }

func newPorts() *ports { return &ports{12_000 + rand.IntN(18_000)} }

func (p *ports) next() string {
	for {
		if p.port++; p.port >= 32_000 {
			p.port = 12_000
		}
		address := fmt.Sprintf("127.0.0.1:%d", p.port)
		if ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address); err == nil {
			_ = ln.Close()
			return address
		}
	}
}

// startFront serves the API at one address, each request by another API server in
// turn. It does not try a second one: what a client sees is the worst it can.
func (c *cluster) startFront(servers []string) {
	var turn atomic.Int64
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			n := int(turn.Add(1)) % len(servers)
			r.SetURL(&url.URL{Scheme: "http", Host: servers[n]})
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	c.frontAt = c.ports.next()
	c.front = &http.Server{Addr: c.frontAt, Handler: proxy, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = c.front.ListenAndServe() }() // until it is closed
}
