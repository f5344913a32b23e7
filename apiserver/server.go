// Package apiserver is the role that serves the REST API, and the listener that
// tells how any role is: /healthz and /readyz. What the API says is for package
// arm; this package must not know of stores or queues.
package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Bounds of a connection. A request's own bound is the API's.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 90 * time.Second // reading, working and writing
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10

	defaultGrace = 20 * time.Second
)

// Config is what a [Server] stands on.
type Config struct {
	// Listener is where to serve; required. A server closes it when it stops. If
	// it is one of TLS, links are https.
	Listener net.Listener
	// API is served at every path but /healthz and /readyz. Nil: nothing is.
	API http.Handler
	// Ready are the checks of /readyz.
	Ready []Check
	// Conditions, if not nil, returns what holds the process up though it does
	// its work, in words for the public. /readyz repeats them.
	Conditions func(context.Context) []string
	Log        *slog.Logger // required
	// Grace is how long requests under way may take to finish when the server
	// stops; 0 means 20 s.
	Grace time.Duration
}

// Server serves the API.
type Server struct {
	cfg Config
}

// New returns a Server. It starts nothing: see [Server.Run].
func New(cfg Config) (*Server, error) {
	var errs []error
	if cfg.Listener == nil {
		errs = append(errs, errors.New("apiserver: Listener is required"))
	}
	if cfg.Log == nil {
		errs = append(errs, errors.New("apiserver: Log is required"))
	}
	for _, c := range cfg.Ready {
		if c.Name == "" || c.Ready == nil {
			errs = append(errs, errors.New("apiserver: a check needs Name and Ready"))
		}
	}
	if cfg.Grace < 0 {
		errs = append(errs, errors.New("apiserver: Grace must not be negative"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	cfg.Grace = cmp.Or(cfg.Grace, defaultGrace)
	return &Server{cfg: cfg}, nil
}

// errStopping is why a request that outlasts the grace is cut off.
var errStopping = errors.New("server is stopping")

// Run serves until ctx is done. Then it takes no more connections, waits for
// requests under way up to the grace, cuts off the others, and returns nil once
// every handler has returned: it is for the API to heed its context. Run it
// once.
func (s *Server) Run(ctx context.Context) error {
	base, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	var connections sync.WaitGroup
	srv := &http.Server{
		Handler:           s.handler(),
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug),
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew: // told by Serve itself, so before it returns
				connections.Add(1)
			case http.StateClosed, http.StateHijacked:
				connections.Done()
			case http.StateActive, http.StateIdle:
			}
		},
	}
	var failure error
	served := make(chan struct{})
	go func() {
		defer close(served)
		failure = srv.Serve(s.cfg.Listener)
	}()
	select {
	case <-served:
	case <-ctx.Done():
	}
	s.stop(ctx, srv, cut)
	<-served
	connections.Wait()
	if !errors.Is(failure, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", failure)
	}
	return nil
}

// stop ends a server's connections.
func (s *Server) stop(ctx context.Context, srv *http.Server, cut context.CancelCauseFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Grace)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		s.cfg.Log.WarnContext(ctx, "requests are cut off: they outlasted the grace", "grace", s.cfg.Grace)
		cut(errStopping)
		_ = srv.Close() // nothing is left to lose
	}
}

// handler routes between health and API.
func (s *Server) handler() http.Handler {
	api := s.cfg.API
	if api == nil {
		api = http.NotFoundHandler()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/healthz":
			s.health(w, r)
		case "/readyz":
			s.ready(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	})
}
