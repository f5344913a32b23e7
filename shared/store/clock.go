package store

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// clock follows Redis's clock by its offset to the local one. Of the last few
// measurements the one with the shortest round trip counts.
type clock struct {
	mu      sync.RWMutex
	offset  time.Duration // to add to the local clock
	samples [8]sample
	n       int
}

type sample struct{ trip, offset time.Duration }

// measured notes that Redis's clock showed t between sent and got.
func (c *clock) measured(sent, got, t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	trip := got.Sub(sent)
	c.samples[c.n%len(c.samples)] = sample{trip, t.Sub(sent.Add(trip / 2))}
	c.n++
	best := c.samples[0]
	for _, s := range c.samples[:min(c.n, len(c.samples))] {
		if s.trip < best.trip {
			best = s
		}
	}
	c.offset = best.offset
}

// Offset returns how far Redis's clock is ahead of the local one, as last
// measured.
func (s *Store) Offset() time.Duration {
	s.clock.mu.RLock()
	defer s.clock.mu.RUnlock()
	return s.clock.offset
}

// Now returns the time by Redis's clock, which all parts of a cluster follow.
func (s *Store) Now() time.Time { return time.Now().Add(s.Offset()).UTC() }

// SyncClock measures Redis's clock. Call it now and then.
func (s *Store) SyncClock(ctx context.Context) error {
	sent := time.Now()
	t, err := s.rdb.Time(ctx).Result()
	if err != nil {
		return fmt.Errorf("read redis's clock: %w", err)
	}
	s.clock.measured(sent, time.Now(), t)
	return nil
}
