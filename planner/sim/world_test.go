package sim_test

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

const (
	grid     = 8 * time.Millisecond // API servers take their steps at multiples of it, whatever jitter they have
	traced   = 20_000               // lines of a trace that are kept
	maxSteps = 50_000               // of a seed
)

// A world is a cluster and all that happens in it.
type world struct {
	seed   uint64
	rng    *rand.Rand // of play's goroutine only
	plan   plan
	shards int
	began  time.Time
	ahead  time.Duration // of redis's clock
	log    *slog.Logger

	turns     turns
	steps     int
	calm      bool // nothing goes wrong any more
	chances   chances
	away      map[string]time.Time // until when a server is away, by "redis" and "nats "
	events    []event
	net       *proc
	busy      atomic.Int32 // customers
	loose     sync.WaitGroup
	customers []*customer
	roles     []*role
	procs     []*proc

	redis     *miniredis.Miniredis
	clientsMu sync.Mutex
	clients   []*redis.Client
	scripts   map[string]string // names, by sha and by source
	bus       bus
	broker    *broker
	mutant    string

	traceMu sync.Mutex
	fresh   []line // not in the trace yet
	trace   []line
	hash    uint64

	book book
}

func newWorld(seed uint64, mutant string) *world {
	w := &world{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), began: time.Now(), net: newNet(), mutant: mutant,
		turns: turns{arrived: make(chan struct{}, 1)}, away: make(map[string]time.Time),
		redis: miniredis.NewMiniRedis(), scripts: scripts(), bus: bus{subs: make(map[chan int]*proc)}, broker: newBroker(),
		calm: true, log: slog.New(slog.DiscardHandler),
	}
	w.book.open()
	if c, err := w.redis.Dial(); err == nil { // starts it
		c.Close()
	}
	w.redis.Seed(int(seed))
	w.plan = plans[seed%uint64(len(plans))]
	w.shards = 1 + w.rng.IntN(2)
	if w.rng.IntN(3) == 0 {
		w.ahead = time.Duration(w.rng.IntN(601)-300) * time.Millisecond
	}
	w.broker.forgetful = mutant == "the queue forgets message ids"
	w.invite()
	return w
}

// close ends everything that is left.
func (w *world) close() {
	for _, p := range append(w.procs, w.net) {
		p.die()
	}
	for _, p := range w.procs {
		<-p.done
	}
	w.loose.Wait()
	for _, c := range w.clients {
		c.Close()
	}
	w.redis.Close()
}

// pressing is what the store puts before some of its scripts.
const pressing = "redis.call('HDEL', KEYS[1], 'room')\n"

// scripts returns the names of the store's scripts.
var scripts = sync.OnceValue(func() map[string]string {
	names := make(map[string]string)
	files, err := filepath.Glob("../../shared/store/lua/*.lua")
	if err != nil || len(files) == 0 {
		panic(fmt.Sprint("no scripts: ", err))
	}
	for _, f := range files {
		source, err := os.ReadFile(f)
		if err != nil {
			panic(err)
		}
		lines := strings.Split(string(source), "\n")
		for len(lines) > 0 && strings.HasPrefix(lines[0], "--") {
			lines = lines[1:]
		}
		name := strings.TrimSuffix(filepath.Base(f), ".lua")
		for _, before := range []string{"", pressing} {
			text := before + strings.Join(lines, "\n")
			sum := sha1.Sum([]byte(text))
			names[text], names[hex.EncodeToString(sum[:])] = name, name
		}
	}
	return names
})

// An event is something that happens by itself.
type event struct {
	at   time.Duration
	what string
	do   func(w *world)
}

// happen has what is due happen, and starts processes in place of dead ones.
func (w *world) happen() {
	now := time.Since(w.began)
	for !w.calm && len(w.events) > 0 && w.events[0].at <= now {
		e := w.events[0]
		w.events = w.events[1:]
		w.tell("", e.what, "", "")
		e.do(w)
	}
	for _, r := range w.roles {
		switch {
		case r.now.err() == nil && r.now.ctx.Err() == nil:
		case r.again == 0:
			r.again = now + time.Duration(100+w.rng.IntN(3000))*time.Millisecond
			w.tell(r.now.name, "is no more", "", "")
		case r.again <= now:
			r.again = 0
			w.start(r)
			w.tell(r.now.name, "starts", "", "")
		}
	}
}

// nextEvent returns when something happens by itself, at the latest until.
func (w *world) nextEvent(until time.Time) time.Time {
	if !w.calm && len(w.events) > 0 {
		until = earlier(until, w.began.Add(w.events[0].at))
	}
	for _, r := range w.roles {
		if r.again > 0 {
			until = earlier(until, w.began.Add(r.again))
		}
	}
	return until
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
