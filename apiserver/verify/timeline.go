package verify

import (
	"slices"
	"time"
)

// margins say how exactly anything about a distributed system can be known from
// outside.
type margins struct {
	// skew is how far the clocks of the cluster may be from the checker's.
	skew time.Duration
	// grace is how long before a change took effect an occurrence may have come
	// due and not have been planned yet, so that the change decides what becomes
	// of it.
	grace time.Duration
}

// state is what a job is between two changes.
type state struct {
	enabled bool        // and exists
	def     *definition // whose action runs
	series  *series
	by      changeKind // that brought it about
}

// timeline is the states of a job, in turn: the first before any change, then one
// after each.
type timeline struct {
	changes []change // but those refused and those that change nothing
	states  []state  // one more
	series  []*series
	margins margins
}

func newTimeline(changes []change, m margins) *timeline {
	l := &timeline{margins: m, states: make([]state, 1)}
	for _, c := range changes {
		if c.outcome == refused || c.kind == ran || c.kind == repeated {
			continue
		}
		s := l.states[len(l.states)-1]
		s.by = c.kind
		switch c.kind {
		case created, rescheduled, replaced:
			s = state{enabled: !c.def.disabled, def: c.def, series: newSeries(c.def), by: c.kind}
			l.series = append(l.series, s.series)
		case redirected:
			s.def = c.def
		case enabled:
			s.enabled = true
		case disabled, deleted:
			s.enabled = false
		case repeated, ran:
		}
		if s.series != nil {
			s.series.markers = appendNew(s.series.markers, s.def.marker)
			if s.enabled && s.series.begun == nil {
				s.series.begin(c, m)
			}
		}
		l.changes, l.states = append(l.changes, c), append(l.states, s)
	}
	return l
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// span returns the states that the job can be in at t by the cluster's clock, as
// a range of indexes, both included. An occurrence that is due at t may have met
// one up to late.
func (l *timeline) span(t time.Time) (first, last, late int) {
	for i, c := range l.changes {
		if c.outcome == acknowledged && c.answeredAt.Add(l.margins.skew).Before(t) {
			first = i + 1
		}
		if !c.sentAt.Add(-l.margins.skew).After(t) {
			last = i + 1
		}
		if !c.sentAt.Add(-l.margins.skew - l.margins.grace).After(t) {
			late = i + 1
		}
	}
	return first, max(first, last), max(first, late)
}

// may reports whether an occurrence at t may run the action of that definition.
// An empty marker is any definition.
func (l *timeline) may(t time.Time, marker string) bool {
	first, last, late := l.span(t)
	for i := first; i <= late; i++ {
		s := l.states[i]
		if !s.enabled || marker != "" && s.def.marker != marker || !s.series.on(t) {
			continue
		}
		if i <= last || s.by == redirected && l.states[i-1].enabled {
			return true
		}
	}
	return false
}

// must reports whether something must run at t, which is an occurrence of s.
func (l *timeline) must(t time.Time, s *series) bool {
	first, _, late := l.span(t)
	for i := first; i <= late; i++ {
		if !l.states[i].enabled || l.states[i].series != s {
			return false
		}
	}
	return true
}

// stopped reports whether the job may, and whether it must, be disabled or
// deleted when something is due at t and looked at by until.
func (l *timeline) stopped(t, until time.Time) (may, must bool) {
	first, _, late := l.span(t)
	_, last, _ := l.span(until)
	must = true
	for i := first; i <= max(late, last); i++ {
		if l.states[i].enabled {
			must = false
		} else if i <= late {
			may = true
		}
	}
	return may, must
}

// definitions returns the definitions that the job may have at t.
func (l *timeline) definitions(t time.Time) []*definition {
	first, last, _ := l.span(t)
	var list []*definition
	for i := first; i <= last; i++ {
		if d := l.states[i].def; d != nil {
			list = append(list, d)
		}
	}
	return list
}

// find returns the definition with that marker, and its series.
func (l *timeline) find(marker string) (*definition, *series) {
	for _, s := range l.states {
		if s.def != nil && s.def.marker == marker {
			return s.def, s.series
		}
	}
	return nil, nil
}

// newSwitch is the timeline of a collection: its states say nothing but whether
// it is enabled. It is from the beginning.
func newSwitch(changes []change, m margins) *timeline {
	l := &timeline{margins: m, states: []state{{enabled: true}}}
	for _, c := range changes {
		if c.outcome != refused {
			l.changes, l.states = append(l.changes, c), append(l.states, state{enabled: c.kind == enabled, by: c.kind})
		}
	}
	return l
}

// on reports whether a collection may, and whether it must, be enabled for an
// occurrence at t.
func (l *timeline) on(t time.Time) (may, must bool) {
	first, last, late := l.span(t)
	must = true
	for i := first; i <= late; i++ {
		if !l.states[i].enabled {
			must = false
		} else if i <= last {
			may = true
		}
	}
	return may, must
}
