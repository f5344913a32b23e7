package queue_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/queue"
)

// cutter is a way to a server that can be cut.
type cutter struct {
	net.Listener
	to string

	mu     sync.Mutex
	closed bool
	conns  []net.Conn
}

// cutTo returns a cutter on the way to a server, and a URL of it.
func cutTo(t *testing.T, url string) (*cutter, string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, to: strings.TrimPrefix(url, "nats://")}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", c.to)
			c.mu.Lock()
			if err != nil || c.closed {
				near.Close()
				if err == nil {
					far.Close()
				}
				c.mu.Unlock()
				continue
			}
			c.conns = append(c.conns, near, far)
			c.mu.Unlock()
			wg.Go(func() { _, _ = io.Copy(near, far); near.Close() })
			wg.Go(func() { _, _ = io.Copy(far, near); far.Close() })
		}
	})
	t.Cleanup(func() {
		l.Close()
		c.cut(true)
		wg.Wait()
	})
	return c, "nats://" + l.Addr().String()
}

// cut cuts the way, or opens it again.
func (c *cutter) cut(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = yes
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

// TestConnectionCut cuts the connection of a planner and a worker while others
// go on. The server forgets what it was asked for then.
func TestConnectionCut(t *testing.T) {
	b := start(t)
	way, url := cutTo(t, b.srv.URL)
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	other := reopen(t, b.nc, queue.Config{Replicas: 1})
	q := reopen(t, nc, queue.Config{Replicas: 1})
	e, h := &emitted{}, &handles{}
	follow(t, q, job.Position{}, 10, e)
	consume(t, q, 4, h)
	for n := range 3 {
		eventually(t, "consumer is asked for dispatches", func() bool { return consumer(t, b.nc).NumWaiting > 0 })
		way.cut(true)
		eventually(t, "client knows", func() bool { return !nc.IsConnected() })
		send(t, other, dispatch(uid(1), n))
		record(t, other, result(uid(1), n, "p"))
		way.cut(false)
		began := time.Now()
		eventually(t, "record is emitted", func() bool { return e.count() == n+1 })
		eventually(t, "dispatch is handled", func() bool { return h.count() == n+1 })
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("it took %v", d) // as long as silence is borne
		}
	}
}
