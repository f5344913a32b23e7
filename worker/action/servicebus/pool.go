package servicebus

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"
)

// lifetime is how long a connection is kept at most. It is shorter than the
// five minutes after which azservicebus renews its token, over and over without
// a pause if the service does not answer well; and a namespace that moved, by
// geo-replication say, is found at its new place.
const lifetime = 4 * time.Minute

// key says what connections are shared by. The secret is in it as a hash, so
// that a job whose key has changed gets a connection of its own.
type key struct {
	address, entity, keyName string
	key                      [sha256.Size]byte
}

var errClosed = errors.New("service bus: closed")

// pool keeps connections. The zero value is not ready to use.
type pool struct {
	most int
	idle time.Duration

	mu     sync.Mutex // guards what follows, and all leases
	kept   map[key]*lease
	leases map[*lease]bool // those kept, and those that are still in use or being closed
	closed bool
	empty  chan struct{} // closed when the pool is closed and has no leases
}

// lease is a connection and who uses it. What is not kept any more is closed by
// who uses it last.
type lease struct {
	key        key
	ready      chan struct{} // closed when connection, err and cancelled are set
	connection *connection
	err        error
	cancelled  bool // who made it had to go

	users  int
	kept   bool
	madeAt time.Time
	usedAt time.Time
	expiry *time.Timer
}

func newPool(most int, idle time.Duration) *pool {
	return &pool{most: most, idle: min(idle, lifetime), kept: map[key]*lease{}, leases: map[*lease]bool{}, empty: make(chan struct{})}
}

// acquire returns a connection of k's, made by connect if there is none yet.
// Those who come while it is being made wait for it and share what comes of it.
// What connect returns with an error is closed and not kept. Who acquires must
// release.
func (p *pool) acquire(ctx context.Context, k key, connect func(context.Context) (*connection, error)) (*lease, error) {
	for {
		l, mine, err := p.join(k)
		if err != nil {
			return nil, err
		}
		if mine {
			l.connection, l.err = connect(ctx)
			l.cancelled = l.err != nil && ctx.Err() != nil
			close(l.ready)
		} else {
			select {
			case <-l.ready:
			case <-ctx.Done():
				p.release(l, true)
				return nil, ctx.Err()
			}
		}
		if l.err == nil {
			return l, nil
		}
		p.release(l, false)
		if !l.cancelled || ctx.Err() != nil {
			return nil, l.err
		}
	}
}

// join makes the caller a user of k's lease. It reports whether the lease is new,
// and the connection the caller's to make.
func (p *pool) join(k key) (l *lease, mine bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, errClosed
	}
	now := time.Now()
	l = p.kept[k]
	if l != nil && now.Sub(l.madeAt) >= lifetime {
		p.drop(l)
		l = nil
	}
	if l == nil {
		l, mine = &lease{key: k, ready: make(chan struct{}), kept: true, madeAt: now}, true
		p.kept[k], p.leases[l] = l, true
	}
	l.users++
	l.usedAt = now
	if l.expiry != nil {
		l.expiry.Stop()
	}
	p.evict()
	return l, mine, nil
}

// release ends a use. If the connection is of no use any more, it is not kept.
func (p *pool) release(l *lease, useful bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.users--
	if !useful || !l.kept {
		p.drop(l)
		return
	}
	l.usedAt = time.Now()
	p.evict()
	if l.users == 0 && l.kept {
		l.expiry = time.AfterFunc(min(p.idle, max(lifetime-l.usedAt.Sub(l.madeAt), 0)), func() { p.expire(l) })
	}
}

// expire drops a lease that nobody has used since its timer was set.
func (p *pool) expire(l *lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// One that was used just now has another timer, or will have one.
	if l.kept && l.users == 0 && (time.Since(l.usedAt) >= p.idle || time.Since(l.madeAt) >= lifetime) {
		p.drop(l)
	}
}

// evict drops, of those that are not in use, the least recently used, until no
// more are kept than may be.
func (p *pool) evict() {
	for len(p.kept) > p.most {
		var oldest *lease
		for _, l := range p.kept {
			if l.users == 0 && (oldest == nil || l.usedAt.Before(oldest.usedAt)) {
				oldest = l
			}
		}
		if oldest == nil {
			return
		}
		p.drop(oldest)
	}
}

// drop makes sure that l is not kept, and begins to close it if nobody uses it.
func (p *pool) drop(l *lease) {
	if l.kept {
		l.kept = false
		delete(p.kept, l.key)
		if l.expiry != nil {
			l.expiry.Stop()
		}
	}
	if l.users > 0 {
		return
	}
	go func() {
		if l.connection != nil {
			l.connection.close()
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.leases, l)
		if p.closed && len(p.leases) == 0 {
			close(p.empty)
		}
	}()
}

// close closes all connections, those in use when they are released or when ctx
// ends, and returns when that is done.
func (p *pool) close(ctx context.Context) error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		if len(p.leases) == 0 {
			close(p.empty)
		}
		for _, l := range p.kept {
			p.drop(l)
		}
	}
	p.mu.Unlock()
	select {
	case <-p.empty:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	for l := range p.leases {
		select {
		case <-l.ready:
			if l.connection != nil {
				l.connection.line.close()
			}
		default: // whoever makes it closes it
		}
	}
	p.mu.Unlock()
	return fmt.Errorf("close service bus connections: %w", ctx.Err())
}
