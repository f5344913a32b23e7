package webhook

import (
	"container/list"
	"sync"
	"time"
)

// hash is a key that gives nothing away.
type hash [32]byte

// A cache keeps values that take time to make. What is in use is never dropped;
// of the others it keeps as many as make up its size, those used last, each for
// some time after its last use. It is safe for concurrent use.
type cache[V any] struct {
	size int           // entries
	idle time.Duration // since the last use
	drop func(V)       // is told of each value that was dropped

	mu      sync.Mutex
	entries map[hash]*entry[V]
	unused  list.List // of *entry[V], the one used last in front
	timer   *time.Timer
	closed  bool
}

type entry[V any] struct {
	key   hash
	value V
	users int
	since time.Time     // unused
	place *list.Element // among the unused ones; nil: in use
}

// use returns the value under key, made by make if there is none, and what must
// be called once when it is no longer needed. make must not block.
func (c *cache[V]) use(key hash, make func() V) (value V, done func()) {
	c.mu.Lock()
	defer c.trim()
	e, ok := c.entries[key]
	if !ok {
		e = &entry[V]{key: key, value: make()}
		if c.entries == nil {
			c.entries = map[hash]*entry[V]{}
		}
		c.entries[key] = e
	}
	if e.place != nil {
		c.unused.Remove(e.place)
		e.place = nil
	}
	e.users++
	return e.value, func() { c.release(e) }
}

func (c *cache[V]) release(e *entry[V]) {
	c.mu.Lock()
	if e.users--; e.users == 0 {
		e.since = time.Now()
		e.place = c.unused.PushFront(e)
		if c.timer == nil && !c.closed {
			c.timer = time.AfterFunc(c.idle, c.sweep)
		}
	}
	c.trim()
}

// sweep drops what was not used for too long.
func (c *cache[V]) sweep() {
	c.mu.Lock()
	c.timer = nil
	c.trim()
}

// trim drops what is too much or too old, and unlocks c.mu.
func (c *cache[V]) trim() {
	var dropped []V
	now := time.Now()
	for last := c.unused.Back(); last != nil; last = c.unused.Back() {
		e := last.Value.(*entry[V])
		if left := e.since.Add(c.idle).Sub(now); !c.closed && len(c.entries) <= c.size && left > 0 {
			if c.timer == nil {
				c.timer = time.AfterFunc(left, c.sweep)
			}
			break
		}
		c.unused.Remove(last)
		delete(c.entries, e.key)
		dropped = append(dropped, e.value)
	}
	c.mu.Unlock()
	for _, value := range dropped {
		c.drop(value)
	}
}

// close drops all values, those in use when they no longer are.
func (c *cache[V]) close() {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	c.trim()
}
