package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// clock follows Redis's clock by its offset to the local one. Of the last few
// measurements the one with the shortest round trip counts, unless a clock was
// set since.
type clock struct {
	mu      sync.RWMutex
	offset  time.Duration // to add to the local clock
	samples [8]sample
	n       int // measurements since one of the clocks was set
}

// drift is how far two clocks may go apart between a few measurements.
const drift = 10 * time.Millisecond

type sample struct{ trip, offset time.Duration }

// measured notes that Redis's clock showed t between sent and got.
func (c *clock) measured(sent, got, t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	trip := got.Sub(sent)
	now := sample{trip, t.Sub(sent.Add(trip / 2))}
	// The offset is within half a round trip of what is measured. Two that leave
	// no offset possible are of different clocks.
	if c.n > 0 && (now.offset-c.best().offset).Abs() > (now.trip+c.best().trip)/2+drift {
		c.n = 0
	}
	c.samples[c.n%len(c.samples)] = now
	c.n++
	c.offset = c.best().offset
}

// best returns the measurement with the shortest round trip.
func (c *clock) best() sample {
	return slices.MinFunc(c.samples[:min(c.n, len(c.samples))], func(a, b sample) int { return cmp.Compare(a.trip, b.trip) })
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

const (
	// exact is a round trip so short that a clock measured by it need not be
	// measured again.
	exact = 2 * time.Millisecond
	// measurements are the most that are made at once. A machine that is busy for
	// one is rarely so for all.
	measurements = 4
)

// SyncClock measures Redis's clock, in one round trip if that is short, else in a
// few. Call it now and then.
func (s *Store) SyncClock(ctx context.Context) error {
	for range measurements {
		sent := time.Now()
		t, err := s.rdb.Time(ctx).Result()
		if err != nil {
			return fmt.Errorf("read redis's clock: %w", err)
		}
		got := time.Now()
		s.clock.measured(sent, got, t)
		if got.Sub(sent) <= exact {
			return nil
		}
	}
	return nil
}
