package apiserver

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// checkTimeout bounds a check of /readyz: an orchestrator does not wait long.
const checkTimeout = 2 * time.Second

// A Check says whether something that a role stands on is there.
type Check struct {
	Name string // "redis"
	// Ready returns nil if it is. It must heed its context. What it returns goes
	// to the log and to nobody else.
	Ready func(context.Context) error
}

// health answers 200 as long as the process answers at all.
func (*Server) health(w http.ResponseWriter, r *http.Request) {
	if !reading(w, r) {
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}

// ready answers 200 if every check passes, else 503. Either names each check,
// and what holds the process up: under pressure it is still ready, since to take
// it, and with it all others, out of service would turn slow into away.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if !reading(w, r) {
		return
	}
	type check struct {
		Name  string `json:"name"`
		Ready bool   `json:"ready"`
	}
	answer := struct {
		Ready      bool     `json:"ready"`
		Checks     []check  `json:"checks"`
		Conditions []string `json:"conditions,omitempty"`
	}{true, make([]check, len(s.cfg.Ready)), nil}

	ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
	defer cancel()
	if s.cfg.Conditions != nil {
		answer.Conditions = s.cfg.Conditions(ctx)
	}
	var wg sync.WaitGroup
	for i, c := range s.cfg.Ready {
		wg.Go(func() {
			err := c.Ready(ctx)
			if err != nil {
				s.cfg.Log.WarnContext(ctx, "not ready", "check", c.Name, "err", err)
			}
			answer.Checks[i] = check{c.Name, err == nil}
		})
	}
	wg.Wait()
	status := http.StatusOK
	for _, c := range answer.Checks {
		if !c.Ready {
			answer.Ready, status = false, http.StatusServiceUnavailable
		}
	}
	body, err := json.Marshal(answer)
	if err != nil {
		panic("apiserver: marshal readiness: " + err.Error()) // strings and bools
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

// reading reports whether r is a GET or a HEAD, and answers it if it is not.
func reading(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	return false
}
