package queue

import (
	"sync"
	"time"
)

// pulse tells when this process was halted for so long that what waited for it
// meanwhile has been given to others, though its delivery was the first.
type pulse struct {
	mu    sync.Mutex
	last  time.Time // beat
	until time.Time // what is taken up to then may have waited
}

// beat is called at least three times in the time that the broker waits.
func (p *pulse) beat(now time.Time, ackWait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.skipped(now, ackWait) {
		p.until = now.Add(ackWait)
	}
	p.last = now
}

// missed reports whether what is taken now may have waited too long.
func (p *pulse) missed(now time.Time, ackWait time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return now.Before(p.until) || p.skipped(now, ackWait)
}

// skipped reports whether a beat is overdue.
func (p *pulse) skipped(now time.Time, ackWait time.Duration) bool {
	return !p.last.IsZero() && now.Sub(p.last) > ackWait*2/3
}
