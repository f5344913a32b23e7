// Package store keeps definitions, schedules and runs in Redis. It is the only
// package that knows the keys. Every change that touches more than one key is
// one Lua script in lua/; every script of a planner checks its lease's epoch.
//
// It knows nothing of NATS and decides nothing: what is due next, and what
// follows from a result, is worked out by its callers.
package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/pressure"
)

// layout is the version of the keys and what they hold.
const layout = "1"

// Store is safe for concurrent use.
type Store struct {
	rdb    redis.UniversalClient
	shards int
	clock  clock
	board  *pressure.Board
}

// New returns a Store of that many shards over rdb, which the caller owns and
// closes; it adds a hook to rdb. It does not touch Redis: call Open before
// anything else.
func New(rdb redis.UniversalClient, shards int) *Store {
	s := &Store{rdb: rdb, shards: shards}
	rdb.AddHook(unavailable{s})
	return s
}

// Report has the store tell b when Redis is out of memory. Call it before
// anything else.
func (s *Store) Report(b *pressure.Board) { s.board = b }

// Shards returns the number of shards.
func (s *Store) Shards() int { return s.shards }

// Open checks that Redis can be reached and holds what this version
// understands: its layout and number of shards, which it notes if it is the
// first. It learns Redis's time.
func (s *Store) Open(ctx context.Context) error {
	for _, f := range [][2]string{{"layout", layout}, {"shards", strconv.Itoa(s.shards)}} {
		field, want := f[0], f[1]
		have, err := s.rdb.HGet(ctx, clusterKey, field).Result()
		if missing(err) { // a Redis without memory would refuse to be told what it knows
			if err := s.rdb.HSetNX(ctx, clusterKey, field, want).Err(); err != nil {
				return fmt.Errorf("open store: %w", err)
			}
			have, err = s.rdb.HGet(ctx, clusterKey, field).Result()
		}
		if err != nil {
			return fmt.Errorf("open store: %w", err)
		}
		if have != want {
			return fmt.Errorf("open store: redis was set up with %s %s, this process wants %s: start it with what is there, or use another redis", field, have, want)
		}
	}
	return s.SyncClock(ctx)
}

// Ping returns nil if Redis answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.rdb.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("ping redis: %w", err)
	}
	return nil
}

// Wake calls woken with the number of each shard that got something earlier to
// do, and with -1 when a lease became free or notifications may have been
// missed. It blocks until ctx is done and returns nil; a lost connection is made
// anew. It fails if the client is closed before.
func (s *Store) Wake(ctx context.Context, woken func(shard int)) error {
	sub := s.rdb.Subscribe(ctx, wakeChannel)
	defer func() { _ = sub.Close() }() // nothing is left to lose
	ch := sub.ChannelWithSubscriptions()
	for {
		select {
		case <-ctx.Done():
			return nil
		case m, ok := <-ch:
			if !ok {
				if ctx.Err() != nil {
					return nil
				}
				return errors.New("wait for notifications: the client was closed")
			}
			n := -1
			if msg, ok := m.(*redis.Message); ok {
				if i, err := strconv.Atoi(msg.Payload); err == nil && i >= 0 && i < s.shards {
					n = i
				}
			}
			woken(n)
		}
	}
}

// wake tells a shard's planner that there is something earlier to do. A
// failure costs a moment, not the occurrence: planners also look by themselves.
func (s *Store) wake(ctx context.Context, sh shard) {
	_ = s.rdb.Publish(ctx, wakeChannel, strconv.Itoa(int(sh))).Err()
}

// run runs a script and turns its word into an error.
func (s *Store) run(ctx context.Context, what string, sc *redis.Script, keys []string, args ...any) error {
	word, err := sc.Run(ctx, s.rdb, keys, args...).Text()
	if err == nil {
		err = wordError(word)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if slices.Contains(growing, sc) {
		s.board.Over(ctx, memory)
	}
	return nil
}

func wordError(word string) error {
	switch word {
	case "OK":
		return nil
	case "NOTREADY":
		return job.ErrNotReady
	case "CHANGED", "COLLECTION":
		return job.ErrChanged
	case "GONE":
		return job.ErrNotFound
	case "LEASE":
		return job.ErrLeaseLost
	case "BEHIND":
		return job.ErrBehind
	case "FULL":
		return job.Conflict("The job collection holds as many jobs as its quota allows. Delete one, or raise the quota's maxJobCount.")
	case "FINAL":
		return job.Conflict("The job is completed or faulted and can only be deleted.")
	case "ACTIVE":
		return job.Conflict("A run of the job is not finished, and its policy.overlap lets no other begin meanwhile. Ask again when it is.")
	}
	return fmt.Errorf("script returned %q", word)
}

// Helpers for what Redis answers: nil and "" are zero.

func text(v any) string {
	t, _ := v.(string)
	return t
}

func number(v any) int64 {
	n, _ := strconv.ParseInt(text(v), 10, 64)
	return n
}

func instant(v any) time.Time {
	if t := text(v); t != "" && t != "0" {
		if ms, err := strconv.ParseInt(t, 10, 64); err == nil {
			return time.UnixMilli(ms).UTC()
		}
	}
	return time.Time{}
}

// millis is instant's opposite: "" for the zero time.
func millis(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

// times are instants as the scripts keep them, with spaces between.
func times(list []time.Time) string {
	words := make([]string, len(list))
	for i, t := range list {
		words[i] = millis(t)
	}
	return strings.Join(words, " ")
}

// instants is the opposite of times.
func instants(v any) (list []time.Time) {
	for word := range strings.FieldsSeq(text(v)) {
		list = append(list, instant(word))
	}
	return list
}

func digit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// missing reports whether err says that a key does not exist.
func missing(err error) bool { return errors.Is(err, redis.Nil) }
