package planner_test

import (
	"context"
	"errors"
	"net"
	"sync"
)

// A line is what connections go through, until it is cut.
type line struct {
	mu    sync.Mutex
	isCut bool
	conns []net.Conn
}

func (l *line) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isCut {
		return nil, errors.New("line is cut")
	}
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		l.conns = append(l.conns, c)
	}
	return c, err
}

// cut ends all connections, and allows no new ones.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = true
	for _, c := range l.conns {
		c.Close()
	}
}

// mend allows connections again.
func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut, l.conns = false, nil
}
