package verify

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/carillon-scheduler/carillon/apiserver/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// t0 is when hand-made runs begin.
var t0 = at("2026-03-01T12:00:00Z")

func sec(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }

// world makes the evidence of a run in which everything is right: a second after
// it is asked for, what is asked for happens.
type world struct {
	evidence
	tags int
}

func newWorld() *world {
	return &world{evidence: evidence{until: sec(10), switches: make(map[string][]change)}}
}

// did returns a change that was asked for at a time and acknowledged 20 ms later.
func did(kind changeKind, at float64, d *definition) change {
	c := change{kind: kind, def: d, sentAt: sec(at), answeredAt: sec(at + 0.02), outcome: acknowledged, tries: 1}
	return c
}

// took is when a change took effect.
func (c change) took() time.Time { return c.sentAt.Add(10 * time.Millisecond) }

// job plays a job's whole life.
func (w *world) job(changes ...change) *life {
	l := &life{collection: "c", job: fmt.Sprintf("j%d", len(w.lives)), form: "test", changes: changes, read: true, found: &found{}}
	w.lives = append(w.lives, l)
	changes = slices.Clone(changes)
	for i := range changes {
		c := &changes[i]
		if c.def != nil && c.def.marker == "" {
			c.def.marker = fmt.Sprintf("1-%d", i+1)
		}
	}
	for i := range changes { // "now" is what the answer names
		if c := &changes[i]; c.def != nil && c.def.start.IsZero() && !c.def.disabled && c.kind != redirected {
			c.next = c.took()
		} else if c.kind == enabled && changes[0].def.disabled {
			c.next = c.took()
		}
	}
	l.changes = changes
	line := newTimeline(changes, margins{})
	planned := make(map[*series]int)
	for i, st := range line.states[1:] {
		from, to := line.changes[i].took(), sec(11)
		if i+1 < len(line.changes) {
			to = line.changes[i+1].took().Add(-time.Millisecond)
		}
		if !st.enabled {
			continue
		}
		for _, at := range st.series.between(from, to) {
			if n := st.series.limit(); (n == 0 || planned[st.series] < n) && w.open(at) {
				planned[st.series]++
				w.perform(l, st.def, at)
			}
		}
		if st.series.limit() > 0 && planned[st.series] == st.series.limit() {
			l.found.state = stateCompleted
		}
	}
	for _, c := range changes {
		if c.kind == ran {
			w.perform(l, line.definitions(c.took())[0], c.took())
		}
	}
	w.finish(l, line)
	return l
}

// open reports whether the collection is enabled.
func (w *world) open(t time.Time) bool {
	on := true
	for _, c := range w.switches["c"] {
		if !c.took().After(t) {
			on = c.kind == enabled
		}
	}
	return on
}

// finish sets how the job is found.
func (w *world) finish(l *life, line *timeline) {
	last := line.states[len(line.states)-1]
	if last.by == deleted {
		l.found, l.rows = nil, nil
		return
	}
	l.found.uri = "http://t/run/c/" + l.job + "/" + last.def.marker + "/main"
	switch {
	case !last.enabled && l.found.state == "":
		l.found.state = stateDisabled
	case last.series.over(w.until):
		l.found.state = stateCompleted
	case l.found.state == "":
		l.found.state = stateEnabled
	}
	s := &l.found.status
	for _, r := range l.rows {
		if r.ActionName == mainAction {
			s.LastExecutionTime = maxTime(s.LastExecutionTime, r.StartTime)
		}
		if r.Status == rowFailed {
			s.FailureCount++
		}
		if r.ActionName == mainAction && r.RetryCount == 0 {
			s.ExecutionCount++
		}
		if r.Status == rowFailed && r.ActionName == mainAction && r.RetryCount == last.def.policyOf(mainAction).count {
			s.FaultedCount++
			if l.found.state == stateCompleted {
				l.found.state = stateFaulted
			}
		}
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// perform plays the attempts of an occurrence, each 2 ms late and 3 ms long.
func (w *world) perform(l *life, d *definition, nominal time.Time) {
	w.tags++
	due, failed := nominal, false
	for _, phase := range []string{mainAction, errorAction} {
		if phase == errorAction && (!failed || !d.fallback) {
			return
		}
		p, s := d.policyOf(phase), d.scriptOf(phase)
		for n := 1; n <= 1+p.count; n++ {
			a := w.arrive(l, d, nominal, phase, n, due.Add(2*time.Millisecond))
			if failed = n <= s.fails; !failed {
				break
			}
			a.status = 500
			r := &l.rows[len(l.rows)-1]
			r.Status, due = rowFailed, a.doneAt
			if n > p.count {
				break
			}
			if s.retryAfter > 0 {
				a.status, a.retryAfter, r.Status = 503, s.retryAfter, rowPostponed
			}
			due = due.Add(max(p.interval, s.retryAfter))
		}
	}
}

func (w *world) arrive(l *life, d *definition, nominal time.Time, phase string, n int, when time.Time) *arrival {
	id := int64(len(w.arrivals) + 1)
	w.arrivals = append(w.arrivals, arrival{
		id: id, at: when, doneAt: when.Add(3 * time.Millisecond), status: 200, collection: l.collection, job: l.job,
		marker: d.marker, phase: phase, tag: fmt.Sprintf("%032x", w.tags), nominal: nominal, attempt: n,
	})
	l.rows = append(l.rows, row{
		StartTime: when.Add(-time.Millisecond), EndTime: when.Add(4 * time.Millisecond), ExpectedExecutionTime: nominal,
		Message: fmt.Sprintf("Http Action - Response from host 'h': 'OK' Body: carillon-verify %d\n", id), RetryCount: n - 1, ActionName: phase,
	})
	return &w.arrivals[len(w.arrivals)-1]
}

// move gives the occurrence of one time another.
func (w *world) move(l *life, from, to time.Time) {
	for i := range w.arrivals {
		if a := &w.arrivals[i]; a.job == l.job && a.nominal.Equal(from) {
			a.at, a.doneAt, a.nominal = a.at.Add(to.Sub(from)), a.doneAt.Add(to.Sub(from)), to
		}
	}
	for i := range l.rows {
		if r := &l.rows[i]; r.ExpectedExecutionTime.Equal(from) {
			r.StartTime, r.EndTime, r.ExpectedExecutionTime = r.StartTime.Add(to.Sub(from)), r.EndTime.Add(to.Sub(from)), to
		}
	}
}

// drop takes the n-th request, from 0, out of the evidence, with its row if told
// so.
func (w *world) drop(n int, row bool) {
	a := w.arrivals[n]
	w.arrivals = slices.Delete(w.arrivals, n, n+1)
	for _, l := range w.lives {
		l.rows = slices.DeleteFunc(l.rows, func(r client.RowProperties) bool { return row && receivedBy(&r) == a.id })
	}
}
