// Package pressure remembers what holds a process up: a server without room, a
// backlog. It is said in the log once when it begins and once when it is over,
// and to whoever asks in between. The package knows nothing of what it is told.
package pressure

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	// quiet is for how long a condition must not have been met to be over: at a
	// limit every other request is refused, and that is one condition.
	quiet = 3 * time.Second
	// forget is after how long a condition that nobody meets any more is taken
	// to be over: nobody has tried since.
	forget = time.Minute
)

// Board holds the conditions of a process. Nil forgets everything. It is safe
// for concurrent use.
type Board struct {
	log *slog.Logger

	mu         sync.Mutex
	conditions map[string]*condition // by name
}

type condition struct {
	words              string
	since, last, eased time.Time // begun, met last, and last not met
	timer              *time.Timer
}

// New returns a board that writes to log.
func New(log *slog.Logger) *Board {
	return &Board{log: log, conditions: make(map[string]*condition)}
}

// Met notes that something holds the process up. name says what and is for
// [Board.Over], words say how it is now, for the public: no secret. advice says
// in the log what to do about it.
func (b *Board) Met(ctx context.Context, name, words, advice string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.prune(ctx)
	now := time.Now()
	c := b.conditions[name]
	if c == nil {
		c = &condition{since: now}
		b.conditions[name] = c
		b.log.WarnContext(ctx, "held up", "by", name, "state", words, "advice", advice)
	}
	c.words, c.last = words, now
}

// Over notes that what was met holds nobody up at this moment. It is over when
// it is not met for 3 s.
func (b *Board) Over(ctx context.Context, name string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.conditions[name]
	if c == nil {
		return
	}
	c.eased = time.Now()
	if c.timer == nil {
		c.timer = time.AfterFunc(quiet-time.Since(c.last), func() { b.settle(context.WithoutCancel(ctx), name, c) })
	}
}

// settle ends a condition that has eased and was not met for a while.
func (b *Board) settle(ctx context.Context, name string, c *condition) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c.timer = nil
	left := quiet - time.Since(c.last)
	switch {
	case b.conditions[name] != c || c.last.After(c.eased): // over, or met again
	case left > 0:
		c.timer = time.AfterFunc(left, func() { b.settle(ctx, name, c) })
	default:
		b.end(ctx, name)
	}
}

// Conditions returns what holds the process up, sorted: "redis: out of memory,
// for 12s". What was last met a minute ago is over.
func (b *Board) Conditions(ctx context.Context) []string {
	list := []string{}
	if b == nil {
		return list
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.prune(ctx)
	for name, c := range b.conditions {
		list = append(list, name+": "+c.words+", for "+time.Since(c.since).Round(time.Second).String())
	}
	slices.Sort(list)
	return list
}

func (b *Board) prune(ctx context.Context) {
	for name, c := range b.conditions {
		if time.Since(c.last) >= forget {
			b.end(ctx, name)
		}
	}
}

func (b *Board) end(ctx context.Context, name string) {
	c := b.conditions[name]
	if c.timer != nil {
		c.timer.Stop()
	}
	delete(b.conditions, name)
	b.log.InfoContext(ctx, "no longer held up", "by", name, "after", c.last.Sub(c.since).Round(time.Millisecond))
}
