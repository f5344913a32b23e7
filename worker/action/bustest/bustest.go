// Package bustest is a Service Bus for tests: as much of AMQP 1.0 as senders
// need (SASL ANONYMOUS, claims by SAS, links, messages, settlement), with ways
// to misbehave. It checks SAS for real. It is no broker: nothing can be
// received from it but through [Server.Messages]. It knows nothing of Carillon.
package bustest

import (
	"crypto/tls"
	"net"
	"slices"
	"sync"
)

// Config configures a Server. Its zero value is valid, but lets nobody in.
type Config struct {
	// Address is where to listen. Default: a free port of 127.0.0.1.
	Address string
	// TLS, if not nil, makes it speak TLS.
	TLS *tls.Config
	// Keys are the keys that it accepts, by their names.
	Keys map[string]string
	// MaxMessage is the size of a message that its links announce as the largest,
	// in bytes. Default 256 KiB, that of the Standard tier.
	MaxMessage uint64
}

// Behavior is how an entity treats who comes to it. The zero value is that of
// an entity that takes everything.
type Behavior struct {
	// Token, if not 0, is the status with which tokens for the entity are
	// answered, whatever they are: 503, say.
	Token int32
	// Mute leaves requests to accept a token unanswered.
	Mute bool
	// Attach, if set, is the error condition with which links are refused.
	Attach string
	// Reject, if set, is the error condition with which messages are rejected.
	Reject string
	// What becomes of a message that is not rejected: Hang leaves it
	// unanswered, Break closes the connection. Neither keeps it. Lose keeps it,
	// but detaches the link in place of an answer.
	Hang, Break, Lose bool
}

// Server is a Service Bus for tests, where every entity exists that is not said
// to be missing. Create one with Start. It is safe for concurrent use.
type Server struct {
	cfg Config
	ln  net.Listener
	wg  sync.WaitGroup

	mu        sync.Mutex // guards what follows
	behaviors map[string]Behavior
	messages  []Message
	conns     map[*conn]bool
	accepted  int
	links     int
	closed    bool
}

// Start starts a Server, which runs until Close.
func Start(cfg Config) (*Server, error) {
	if cfg.Address == "" {
		cfg.Address = "127.0.0.1:0"
	}
	if cfg.MaxMessage == 0 {
		cfg.MaxMessage = 256 << 10
	}
	ln, err := net.Listen("tcp", cfg.Address)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, ln: ln, behaviors: map[string]Behavior{}, conns: map[*conn]bool{}}
	s.wg.Go(s.accept)
	return s, nil
}

func (s *Server) accept() {
	for {
		raw, err := s.ln.Accept()
		if err != nil {
			return
		}
		if s.cfg.TLS != nil {
			raw = tls.Server(raw, s.cfg.TLS)
		}
		c := newConn(s, raw)
		s.mu.Lock()
		if s.closed {
			raw.Close()
		}
		s.accepted++
		s.conns[c] = true
		s.mu.Unlock()
		s.wg.Go(func() {
			c.serve()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		})
	}
}

// Close closes every connection and returns when all is over.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.ln.Close()
	s.Drop()
	s.wg.Wait()
}

// Address returns where it listens: host and port.
func (s *Server) Address() string { return s.ln.Addr().String() }

// Messages returns what it has accepted, in that order.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

// Connections returns how many connections stand, and how many were made.
func (s *Server) Connections() (open, made int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns), s.accepted
}

// Links returns how many links to entities were made: those over which
// messages come.
func (s *Server) Links() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.links
}

// Behave sets how an entity behaves from now on.
func (s *Server) Behave(entity string, b Behavior) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behaviors[entity] = b
}

// Missing says that there is no such entity.
func (s *Server) Missing(entity string) { s.Behave(entity, Behavior{Attach: "amqp:not-found"}) }

// Detach detaches every link to an entity with an error condition, as the
// service does when it is updated or a link was idle for ten minutes.
func (s *Server) Detach(entity, condition string) {
	for _, c := range s.open() {
		c.detach(entity, condition)
	}
}

// Drop closes every connection without a word.
func (s *Server) Drop() {
	for _, c := range s.open() {
		c.net.Close()
	}
}

func (s *Server) open() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	return conns
}

func (s *Server) behavior(entity string) Behavior {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.behaviors[entity]
}

func (s *Server) keep(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, m)
}
