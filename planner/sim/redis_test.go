package sim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/store"
)

// errBroken is what a client of Redis meets whose connection breaks.
var errBroken = fmt.Errorf("simulated: %w", io.EOF)

// A link is a process's client of Redis. Each of its round trips is a step.
type link struct {
	w *world
	p *proc
}

// connect returns a store as a process has it.
func (w *world) connect(p *proc) *store.Store {
	rdb := client(w.redis, w.ahead)
	w.clientsMu.Lock()
	w.clients = append(w.clients, rdb)
	w.clientsMu.Unlock()
	s := store.New(rdb, w.shards)
	rdb.AddHook(link{w, p}) // inside of the store's own
	return s
}

var _ redis.Hook = link{}

func (link) DialHook(next redis.DialHook) redis.DialHook { return next }

// inside marks the context of what belongs to a step under way: setting up a
// connection.
type inside struct{}

func (l link) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if ctx.Value(inside{}) != nil {
			return next(ctx, cmd)
		}
		s := l.w.stepOf(cmd)
		if s.op == "redis publish" {
			return l.publish(ctx, s, cmd)
		}
		err := l.tries(ctx, s, act{
			now: func(*fate) error {
				cmd.SetErr(nil)
				l.w.forge(cmd)
				err := next(context.WithValue(context.WithoutCancel(ctx), inside{}, true), cmd)
				l.w.witness(l.p, cmd)
				return err
			},
			later: func() {
				again := redis.NewCmd(context.Background(), cmd.Args()...)
				_ = next(context.WithValue(context.Background(), inside{}, true), again)
				l.w.witness(l.p, again)
			},
		})
		if err != nil {
			cmd.SetErr(err)
		}
		return err
	}
}

// ProcessPipelineHook serves what only reads: the store pipelines nothing else.
func (l link) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if ctx.Value(inside{}) != nil || len(cmds) == 0 {
			return next(ctx, cmds)
		}
		s := l.w.stepOf(cmds[0])
		s.op, s.writes = "redis "+strings.TrimPrefix(s.op, "redis ")+"s", false
		err := l.tries(ctx, s, act{now: func(*fate) error {
			for _, c := range cmds {
				c.SetErr(nil)
			}
			return next(context.WithValue(context.WithoutCancel(ctx), inside{}, true), cmds)
		}})
		if errors.Is(err, errBroken) || l.p.err() != nil {
			for _, c := range cmds {
				c.SetErr(err)
			}
		}
		return err
	}
}

// tries takes a step as the client library does: what breaks is sometimes tried
// again.
func (l link) tries(ctx context.Context, s *step, a act) error {
	l.p.rounds.Add(1)
	defer l.p.rounds.Add(-1)
	for try := 0; ; try++ {
		err := l.w.take(ctx, l.p, s, a, errBroken)
		if !errors.Is(err, errBroken) || try == 3 || s.f.draw&2 == 0 {
			return err
		}
		s.f = nil
		if !sleep(ctx, l.p, grid<<try) {
			return err
		}
	}
}

// stepOf returns the step that a command is.
func (w *world) stepOf(cmd redis.Cmder) *step {
	args := cmd.Args()
	s := &step{op: cmd.Name()}
	words := make([]string, 0, 8)
	for _, a := range args[1:] {
		words = append(words, fmt.Sprint(a))
	}
	switch s.op {
	case "evalsha", "eval":
		if name := w.scripts[words[0]]; name != "" {
			s.op = name
		}
		words = words[2:]
		s.writes = true
	case "publish", "srem", "hsetnx":
		s.writes = true
	}
	s.op = "redis " + s.op
	s.detail = strings.ReplaceAll(strings.Join(words, " "), "carillon:", "")
	return s
}

// idle is what a planner does all the time; what it does besides is what counts.
var idle = []string{"redis heartbeat", "redis lease"}

func counts(s *step) bool { return s.writes && !slices.Contains(idle, s.op) }

// A bus carries notifications.
type bus struct {
	mu   sync.Mutex
	subs map[chan int]*proc
}

// publish has a notification delivered to whom it reaches.
func (l link) publish(ctx context.Context, s *step, cmd redis.Cmder) error {
	n := -1
	_, _ = fmt.Sscan(fmt.Sprint(cmd.Args()[2]), &n)
	return l.w.take(ctx, l.p, s, act{now: func(f *fate) error {
		if l.w.calm {
			f.draw = all
		}
		l.w.bus.send(n, f.draw)
		return nil
	}}, errBroken)
}

// all has send reach everybody.
const all = ^uint64(0)

// send sends to those that draw's bits do not leave out.
func (b *bus) send(n int, draw uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ch := range b.sorted() {
		draw >>= 2
		if draw&3 == 0 {
			continue // lost
		}
		select {
		case ch <- n:
		default:
		}
	}
}

func (b *bus) sorted() []chan int {
	list := make([]chan int, 0, len(b.subs))
	for ch := range b.subs {
		list = append(list, ch)
	}
	slices.SortFunc(list, func(x, y chan int) int { return strings.Compare(b.subs[x].name, b.subs[y].name) })
	return list
}

// A view is the store as a planner has it.
type view struct {
	*store.Store
	w *world
	p *proc
}

// Wake is the store's, over the bus.
func (v view) Wake(ctx context.Context, woken func(shard int)) error {
	ch := make(chan int, 64)
	b := &v.w.bus
	b.mu.Lock()
	b.subs[ch] = v.p
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.subs, ch)
		b.mu.Unlock()
	}()
	if !v.w.learn(ctx, v.p, "hears", "all") {
		return nil
	}
	woken(-1)
	for {
		select {
		case <-ctx.Done():
			return nil
		case n := <-ch:
			if !v.w.learn(ctx, v.p, "hears", strconv.Itoa(n)) {
				return nil
			}
			woken(n)
		}
	}
}

// A snapshot is what Redis held at a moment.
type snapshot struct {
	at     time.Time
	hashes map[string]map[string]string
	zsets  map[string]map[string]float64
	sets   map[string][]string
}

func takeSnapshot(m *miniredis.Miniredis) *snapshot {
	s := &snapshot{
		at:     time.Now(),
		hashes: make(map[string]map[string]string), zsets: make(map[string]map[string]float64), sets: make(map[string][]string),
	}
	for _, k := range m.Keys() {
		switch m.Type(k) {
		case "hash":
			s.hashes[k] = make(map[string]string)
			fields, _ := m.HKeys(k)
			for _, f := range fields {
				s.hashes[k][f] = m.HGet(k, f)
			}
		case "zset":
			live, _ := m.SortedSet(k)
			s.zsets[k] = maps.Clone(live)
		case "set":
			s.sets[k], _ = m.Members(k)
		default:
			panic("what is " + k)
		}
	}
	return s
}

// putBack has Redis hold what it held once; nothing, if s is nil.
func (s *snapshot) putBack(m *miniredis.Miniredis) {
	cluster := map[string]string{"layout": m.HGet("carillon:cluster", "layout"), "shards": m.HGet("carillon:cluster", "shards")}
	m.FlushAll()
	if s == nil {
		for f, v := range cluster { // processes look for it only when they start
			m.HSet("carillon:cluster", f, v)
		}
		return
	}
	for k, h := range s.hashes {
		for f, v := range h {
			m.HSet(k, f, v)
		}
	}
	for k, z := range s.zsets {
		for member, score := range z {
			_, _ = m.ZAdd(k, score, member)
		}
	}
	for k, set := range s.sets {
		_, _ = m.SAdd(k, set...)
	}
}
