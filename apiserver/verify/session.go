package verify

import (
	"context"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/apiserver/client"
)

const (
	// firstPause is the wait before something is asked again, maxPause the
	// longest.
	firstPause = 50 * time.Millisecond
	maxPause   = time.Second
	// atOnce is how many requests to the API are under way at once.
	atOnce = 16
)

// session is what the parts of a run share.
type session struct {
	api    *client.Client
	target *target
	ledger *ledger
	url    string // at which workers reach the target
	slots  chan struct{}

	beat, minRetry time.Duration // what the API allows
	until          time.Time

	mu       sync.Mutex
	failures int // requests that were not answered, or refused
	newest   error
}

// base is the URL that a job's definitions call, but for marker and phase.
func (s *session) base(collection, job string) string {
	return s.url + s.target.path + collection + "/" + job
}

// failed notes that the API did not do as asked.
func (s *session) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures++
	s.newest = err
}

// failedSoFar returns how often, and how the last time.
func (s *session) failedSoFar() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failures, s.newest
}

// call makes a request when there is room for it.
func call[T any](ctx context.Context, s *session, do func(context.Context) (T, error)) (T, error) {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
	defer func() { <-s.slots }()
	return do(ctx)
}

// waitUntil waits until t. It reports false if ctx ended first.
func waitUntil(ctx context.Context, t time.Time) bool { return pauseFor(ctx, time.Until(t)) }

// pauseFor waits. It reports false if ctx ended first.
func pauseFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
