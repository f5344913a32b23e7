package sim_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// A wire is a connection to the Redis stand-in that needs no goroutine: what is
// written is carried out at once, and what it answers waits to be read.
type wire struct {
	redis *miniredis.Miniredis
	peer  *server.Peer
	ahead time.Duration // of redis's clock
	mu    sync.Mutex
	in    bytes.Buffer // requests, as far as they were written
	back  bytes.Buffer // answers
}

func (w *wire) Read(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.back.Len() == 0 {
		return 0, io.ErrUnexpectedEOF // nobody would ever answer
	}
	return w.back.Read(p)
}

func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.in.Write(p)
	for {
		args, n, err := request(w.in.Bytes())
		if err != nil {
			return 0, err
		}
		if n == 0 {
			return len(p), nil
		}
		w.in.Next(n)
		w.redis.SetTime(time.Now().Add(w.ahead))
		w.redis.Server().Dispatch(w.peer, args)
		w.peer.Flush()
	}
}

// request reads a request, an array of bulk strings, of n bytes; n is 0 if it
// has not come to its end.
func request(b []byte) (args []string, n int, err error) {
	line := func(kind byte) (int, bool, error) {
		end := bytes.Index(b[n:], []byte("\r\n"))
		if end < 0 {
			return 0, false, nil
		}
		text := b[n : n+end]
		if len(text) == 0 || text[0] != kind {
			return 0, false, errors.New("no request")
		}
		n += end + 2
		v, err := strconv.Atoi(string(text[1:]))
		return v, true, err
	}
	count, ok, err := line('*')
	if !ok || err != nil {
		return nil, 0, err
	}
	for range count {
		size, ok, err := line('$')
		if !ok || err != nil || len(b) < n+size+2 {
			return nil, 0, err
		}
		args = append(args, string(b[n:n+size]))
		n += size + 2
	}
	return args, n, nil
}

func (w *wire) Close() error                     { return nil }
func (w *wire) LocalAddr() net.Addr              { return addr{} }
func (w *wire) RemoteAddr() net.Addr             { return addr{} }
func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }

type addr struct{}

func (addr) Network() string { return "sim" }
func (addr) String() string  { return "sim" }

// client returns a client of a stand-in whose clock is ahead of all others.
func client(m *miniredis.Miniredis, ahead time.Duration) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: "sim", DisableIdentity: true, ContextTimeoutEnabled: true, MaxRetries: -1, Protocol: 2,
		ReadTimeout: -2, WriteTimeout: -2, PoolSize: 64, // every request has a connection, and none is waited for
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			w := &wire{redis: m, ahead: ahead}
			w.peer = server.NewPeer(bufio.NewWriter(&w.back))
			return w, nil
		},
	})
}
