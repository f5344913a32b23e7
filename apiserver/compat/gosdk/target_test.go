package gosdk

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// target is a server that jobs call. What it answers goes by the path.
type target struct {
	*httptest.Server
	mu       sync.Mutex
	received []received
}

// received is a request that came in.
type received struct {
	Method, Path, Body string
	Header             http.Header
}

// newTarget starts a target. It answers 500 at /fail, 429 to the first request
// if that is for /busy, and 200 to all others.
func newTarget(t *testing.T) *target {
	s := new(target)
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP answers a request.
func (s *target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.received = append(s.received, received{r.Method, r.URL.Path, string(body), r.Header})
	n := len(s.received)
	s.mu.Unlock()
	switch {
	case r.URL.Path == "/fail":
		w.WriteHeader(http.StatusInternalServerError)
	case r.URL.Path == "/busy" && n == 1:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	io.WriteString(w, "bong")
}

// requests returns what came in, the oldest first.
func (s *target) requests() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received(nil), s.received...)
}
