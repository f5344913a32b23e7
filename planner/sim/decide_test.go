package sim_test

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// chances are how often steps go wrong, of 1000.
type chances struct {
	fail, late, slow int
}

// decide says what becomes of a step. Only this, and what happens by itself,
// draws from the seed.
func (w *world) decide(s *step) fate {
	var f fate
	switch {
	case s.p.asleep() > 0:
		f = fate{wait: s.p.asleep(), draw: 1}
		w.note(s, "(asleep)")
		return f
	case s.f != nil:
		f = *s.f
		f.wait = 0
	default:
		f = w.draw(s)
		s.f = &f
		if f.wait > 0 {
			w.note(s, fmt.Sprint("in ", f.wait))
			return f
		}
	}
	if f.kind == sleepsOn {
		s.p.fallAsleep(f.slow)
	}
	w.note(s, string(f.kind))
	return f
}

// draw draws the fate of a step.
func (w *world) draw(s *step) fate {
	f := fate{draw: w.rng.Uint64()}
	if s.p == w.net || s.news {
		return f
	}
	if w.rng.IntN(10) < 3 && !s.p.isAPI {
		f.wait = time.Duration(1+w.rng.IntN(3000)) * time.Microsecond
	}
	if w.calm {
		return f
	}
	if t := s.p.trap; t != nil && (counts(s) || !t.writing) {
		if t.skip--; t.skip < 0 {
			s.p.trap = nil
			f.kind, f.slow = t.kind, t.asleep
			if t.kind == fine { // it falls asleep before
				s.p.fallAsleep(t.asleep)
				f.slow = 0
				f.wait = t.asleep
			}
			w.count(t)
			return f
		}
	}
	if w.down(s) {
		f.kind = lost
		return f
	}
	switch n := w.rng.IntN(1000); {
	case n < w.chances.fail:
		f.kind = lost
	case n < 2*w.chances.fail:
		f.kind = unanswered
	case n < 2*w.chances.fail+w.chances.late:
		f.kind, f.late = late, time.Duration(1+w.rng.IntN(30))*grid
		if strings.HasPrefix(s.op, "redis ") && !s.p.isAPI && !*lateRedis {
			f.kind = lost // see doc.go
		}
	}
	if w.rng.IntN(1000) < w.chances.slow {
		d := time.Duration(1+w.rng.IntN(150)) * grid
		if w.rng.IntN(2) == 0 {
			f.wait = d
		} else {
			f.slow = d
		}
	}
	return f
}

// down reports whether the server of a step is away.
func (w *world) down(s *step) bool {
	until := w.away[s.op[:5]]
	return time.Now().Before(until)
}

// note writes a line of the trace.
func (w *world) note(s *step, what string) {
	w.tell(s.p.name, s.op, s.detail, what)
}

type line struct {
	at                     time.Duration
	who, what, which, fate string
}

func (l line) String() string {
	return fmt.Sprintf("%10.4f %-8s %s %s %s", l.at.Seconds(), l.who, l.what, l.which, l.fate)
}

// tell writes a line of the trace.
func (w *world) tell(who, what, which, fate string) {
	w.traceMu.Lock()
	defer w.traceMu.Unlock()
	w.fresh = append(w.fresh, line{time.Since(w.began), who, what, which, fate})
}

// put puts the lines told since the last time into the trace. They come from
// goroutines that ran side by side, so their order means nothing.
func (w *world) put() {
	w.traceMu.Lock()
	defer w.traceMu.Unlock()
	slices.SortStableFunc(w.fresh, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.who, b.who), cmp.Compare(a.what, b.what), cmp.Compare(a.which, b.which), cmp.Compare(a.fate, b.fate))
	})
	h := fnv.New64a()
	for _, l := range w.fresh {
		fmt.Fprint(h, w.hash, l)
		w.hash = h.Sum64()
	}
	w.trace = append(w.trace, w.fresh...)
	w.fresh = w.fresh[:0]
	if len(w.trace) > 2*traced {
		w.trace = append(w.trace[:0:0], w.trace[traced:]...)
	}
}
