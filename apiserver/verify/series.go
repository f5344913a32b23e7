package verify

import (
	"slices"
	"time"
)

// series is the occurrences of a definition's schedule, which go on over changes
// of the action and of the state.
type series struct {
	def     *definition // that began it
	markers []string    // of the definitions whose actions it ran

	// begun is the change that first enabled it.
	begun *change
	grid  *calendar // nil: once, or not known yet
	fixed time.Time // the one occurrence at startTime; zero: none
	// Without a startTime, or if a one-time one is past, the first occurrence is
	// "now", by the cluster's clock, when the series is enabled: from a time to a
	// time. at is known from an answer or from the occurrence itself.
	now      bool
	from, to time.Time
	at       time.Time
	claimed  bool // at is what an answer said
}

func newSeries(d *definition) *series { return &series{def: d} }

// begin begins the series with the change that enables it.
func (s *series) begin(c change, m margins) {
	s.begun = &c
	s.from, s.to = instant(c.sentAt.Add(-m.skew)), c.answeredAt.Add(m.skew+time.Millisecond) // the API rounds up
	if c.outcome == unclear {
		s.to = never()
	}
	switch {
	case s.def.rec != nil && !s.def.start.IsZero():
		s.grid = &calendar{s.def.rec, s.def.start}
	case s.def.rec == nil && s.def.start.After(s.to):
		s.fixed = s.def.start
	default:
		s.now = true
		if s.def.start.After(s.from) {
			s.from = s.def.start
		}
		if !c.next.IsZero() {
			s.claimed = true
			s.learn(c.next)
		}
	}
}

// never is later than anything.
func never() time.Time { return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }

// plausible reports whether "now" may have been t.
func (s *series) plausible(t time.Time) bool { return !t.Before(s.from) && !t.After(s.to) }

// learn sets when "now" was.
func (s *series) learn(t time.Time) {
	s.at = t.UTC()
	if s.def.rec != nil {
		s.grid = &calendar{s.def.rec, s.at}
	}
}

// on reports whether t is an occurrence, whatever the count.
func (s *series) on(t time.Time) bool {
	return s.now && t.Equal(s.at) || !s.fixed.IsZero() && t.Equal(s.fixed) || s.grid != nil && s.grid.occurs(t)
}

// between lists the occurrences between two instants, both included, whatever the
// count.
func (s *series) between(from, to time.Time) []time.Time {
	var list []time.Time
	if s.grid != nil {
		list = s.grid.between(from, to)
	}
	for _, t := range []time.Time{s.at, s.fixed} {
		if !t.IsZero() && !t.Before(from) && !t.After(to) && !slices.ContainsFunc(list, t.Equal) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// limit is the most occurrences that count allows; 0: any number.
func (s *series) limit() int {
	if s.def.rec == nil {
		return 1
	}
	return s.def.rec.Count
}

// over reports whether the last occurrence was due by t, whatever the count.
func (s *series) over(t time.Time) bool {
	if s.def.rec == nil {
		return !s.fixed.IsZero() && s.fixed.Before(t) // its time may have passed while it was disabled
	}
	end := s.def.rec.EndTime
	return !end.IsZero() && !end.After(t)
}
