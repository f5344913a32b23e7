package embedded

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// NATSConfig configures a [Broker]. Dir is required.
type NATSConfig struct {
	// Dir is where streams are kept. It is made if it does not exist, and held
	// by one process at a time.
	Dir string
	// SyncInterval is how often what was written is forced to disk: what a power
	// failure can lose. Default and longest: 1 s.
	SyncInterval time.Duration
	// Listen is the host:port for clients of other processes, port 0 for any
	// that is free. Default: none, the server is reached from this process only.
	Listen string
	// Log gets the server's warnings and errors. Default: nobody does.
	Log *slog.Logger
}

// Broker is a nats-server in this process, with a connection to it.
type Broker struct {
	Conn *nats.Conn
	// URL is where clients of other processes connect; empty without Listen.
	URL string

	srv  *server.Server
	lock *os.File
}

// storeLimit is the most the server may store, more than any disk holds: its
// own choice, three quarters of what is free when it starts, would refuse to
// write to a store that has grown beyond that.
const storeLimit = 1 << 50

// readyWithin is how long the server may take to listen when its store is read.
const readyWithin = 30 * time.Second

// NATS runs a nats-server and connects to it. It blocks until the server has
// read its store, at about half a gigabyte a second. stop closes the
// connection, waits until the server has written what it holds and is down, and
// frees the directory.
func NATS(cfg NATSConfig) (nc *nats.Conn, stop func(), err error) {
	b, err := Start(cfg)
	if err != nil {
		return nil, nil, err
	}
	return b.Conn, b.Stop, nil
}

// Start is [NATS] for those who need the server's URL too. The caller calls
// Stop.
func Start(cfg NATSConfig) (*Broker, error) {
	b, err := start(cfg)
	if err != nil {
		return nil, fmt.Errorf("start embedded nats-server: %w", err)
	}
	return b, nil
}

func start(cfg NATSConfig) (_ *Broker, err error) {
	if cfg.Dir == "" {
		return nil, errors.New("no directory given")
	}
	opts := &server.Options{
		ServerName:        "carillon-embedded",
		JetStream:         true,
		StoreDir:          cfg.Dir,
		SyncInterval:      min(cmp.Or(cfg.SyncInterval, time.Second), time.Second),
		JetStreamMaxStore: storeLimit,
		DontListen:        true,
		NoSigs:            true,
	}
	if cfg.Listen != "" {
		if err := listen(opts, cfg.Listen); err != nil {
			return nil, err
		}
	}
	lock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	b := &Broker{lock: lock}
	defer func() {
		if err != nil {
			b.Stop()
		}
	}()
	if b.srv, err = server.NewServer(opts); err != nil {
		return nil, err
	}
	log := &logger{log: cfg.Log}
	b.srv.SetLogger(log, false, false)
	b.srv.Start() // returns when the store is read
	if err := log.fatal(); err != nil {
		return nil, err
	}
	if !b.srv.ReadyForConnections(readyWithin) {
		return nil, fmt.Errorf("not ready after %v", readyWithin)
	}
	if cfg.Listen != "" {
		b.URL = b.srv.ClientURL()
	}
	b.Conn, err = nats.Connect("",
		nats.InProcessServer(b.srv),
		nats.Name("carillon"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(100*time.Millisecond),
		nats.ReconnectBufSize(-1), // what cannot be sent now fails now, rather than being sent late
	)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return b, nil
}

// listen sets the address that the server listens on.
func listen(opts *server.Options, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("listen address %q: %w", address, err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("listen address %q: port must be a number from 0 to 65535", address)
	}
	opts.DontListen, opts.Host, opts.Port = false, host, int(n)
	if n == 0 {
		opts.Port = server.RANDOM_PORT
	}
	return nil
}

// Stop closes the connection, waits until the server has written what it holds
// and is down, and frees the directory. A second call does nothing.
func (b *Broker) Stop() {
	if b.Conn != nil {
		b.Conn.Close()
	}
	if b.srv != nil {
		b.srv.Shutdown()
		b.srv.WaitForShutdown()
	}
	if b.lock != nil {
		_ = b.lock.Close() // which frees the lock
		b.lock = nil
	}
}
