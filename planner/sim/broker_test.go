package sim_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// A broker is a model of JetStream, of as much of it as planners, workers and
// API servers see through the queue: see shared/queue for what is promised.
type broker struct {
	mu        sync.Mutex
	losing    int    // so many dispatches, acknowledged and not kept
	forgetful bool   // of message ids
	identity  string // of the history
	dispatch  *stream
	history   *stream
	journal   *stream
	changed   chan struct{} // closed at the next change
}

// What shared/queue asks of the streams.
const (
	duplicates   = 30 * time.Second
	historyRows  = 1000
	journalLines = 8
)

type stream struct {
	last uint64
	list []*message // in order
	ids  map[string]remembered
	most int // messages of a subject; 0: any number
}

type remembered struct {
	sequence uint64
	at       time.Time
}

type message struct {
	sequence uint64
	subject  string
	shard    int
	id       string
	data     []byte
	at       time.Time

	// Of dispatches.
	deliveries int
	to         *crew
	nextAt     time.Time // not to be delivered before
}

func newBroker() *broker {
	b := &broker{changed: make(chan struct{}), identity: time.Now().UTC().Format(time.RFC3339Nano)}
	b.dispatch, b.history, b.journal = newStream(0), newStream(historyRows), newStream(journalLines)
	return b
}

func newStream(most int) *stream {
	return &stream{last: uint64(time.Now().UnixMicro()), ids: make(map[string]remembered), most: most}
}

// add stores a message, unless its id is remembered. It returns its sequence.
func (b *broker) add(s *stream, shard int, subject, id string, v any) uint64 {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	now := time.Now()
	if r, ok := s.ids[id]; ok && id != "" && now.Sub(r.at) < duplicates && !b.forgetful {
		return r.sequence
	}
	s.last++
	if id != "" {
		s.ids[id] = remembered{s.last, now}
	}
	if s == b.dispatch && b.losing > 0 {
		b.losing--
		return s.last
	}
	s.list = append(s.list, &message{sequence: s.last, subject: subject, shard: shard, id: id, data: data, at: now})
	if same := s.of(func(m *message) bool { return m.subject == subject }); s.most > 0 && len(same) > s.most {
		s.remove(same[0].sequence)
	}
	close(b.changed)
	b.changed = make(chan struct{})
	return s.last
}

func (s *stream) of(is func(*message) bool) []*message {
	var list []*message
	for _, m := range s.list {
		if is(m) {
			list = append(list, m)
		}
	}
	return list
}

// after returns a shard's messages after a place.
func (s *stream) after(shard int, sequence uint64) []*message {
	return s.of(func(m *message) bool { return m.shard == shard && m.sequence > sequence })
}

// end returns the sequence of a shard's newest message, 0 if there is none.
func (s *stream) end(shard int) uint64 {
	list := s.after(shard, 0)
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1].sequence
}

func (s *stream) get(sequence uint64) *message {
	i, ok := slices.BinarySearchFunc(s.list, sequence, func(m *message, n uint64) int { return cmp.Compare(m.sequence, n) })
	if !ok {
		return nil
	}
	return s.list[i]
}

func (s *stream) remove(sequence uint64) {
	s.list = slices.DeleteFunc(s.list, func(m *message) bool { return m.sequence == sequence })
}

// restart has the broker forget the ids of what is no longer stored, as a
// nats-server does.
func (b *broker) restart() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range []*stream{b.dispatch, b.history, b.journal} {
		for id, r := range s.ids {
			if s.get(r.sequence) == nil {
				delete(s.ids, id)
			}
		}
	}
}

// purge takes all dispatches away, and the next one that it acknowledges; drop, the stream with them, and another one
// takes its place.
func (b *broker) purge(drop bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dispatch.list, b.losing = nil, 1
	if drop {
		b.dispatch = newStream(0)
	}
}

func decode[T any](m *message) *T {
	v := new(T)
	if err := json.Unmarshal(m.data, v); err != nil {
		panic(err)
	}
	return v
}

// errAway is what a client of NATS meets that has no answer.
var errAway = errors.New("simulated: no answer from nats")

// A session is the queue as a process has it.
type session struct {
	w *world
	p *proc
	b *broker
}

// ask takes a step that reads.
func (q *session) ask(ctx context.Context, op, detail string, do func(f *fate)) error {
	return q.w.take(ctx, q.p, &step{op: "nats " + op, detail: detail}, act{now: func(f *fate) error {
		q.b.mu.Lock()
		defer q.b.mu.Unlock()
		do(f)
		return nil
	}}, errAway)
}

// publish takes a step that stores messages, in their order, and returns their
// sequences, 0 for those that were not acknowledged. When the answer is lost,
// those of some may not be; who dies may have sent a part.
func (q *session) publish(ctx context.Context, op string, n int, name func(i int) string, add func(i int) uint64) ([]uint64, error) {
	sequences := make([]uint64, n)
	if n == 0 {
		return sequences, nil
	}
	detail := name(0)
	if n > 1 {
		detail += fmt.Sprintf(" and %d more", n-1)
	}
	all := func(f *fate) {
		q.b.mu.Lock()
		defer q.b.mu.Unlock()
		for i := range n {
			if f != nil && f.kind == dieAfter && i > 0 && f.draw>>(i%60)&1 == 0 {
				return
			}
			s := add(i)
			if f != nil && f.kind == unanswered && f.draw>>(i%60)&1 == 0 {
				continue
			}
			sequences[i] = s
		}
	}
	s := &step{op: "nats " + op, detail: detail, writes: true}
	err := q.w.take(ctx, q.p, s, act{
		now:   func(f *fate) error { all(f); return nil },
		later: func() { q.late(n, add) },
	}, errAway)
	if errors.Is(err, errAway) && !slices.Contains(sequences, 0) {
		err = nil // all were answered
	}
	return sequences, err
}

// late stores messages whose sender waits no longer.
func (q *session) late(n int, add func(i int) uint64) {
	q.b.mu.Lock()
	defer q.b.mu.Unlock()
	for i := range n {
		add(i)
	}
}

// position returns where the history of a shard ends.
func (b *broker) position(shard int) job.Position {
	return job.Position{History: b.identity, Sequence: b.history.end(shard)}
}
