package recur

import "time"

// Series is a compiled recurrence. It is made by Compile; its zero value is of
// no use. It never changes, so any number of goroutines may use it at once.
type Series struct {
	anchor  int64
	end     int64 // the last instant at which there may be an occurrence
	pattern pattern
}

// Compile validates s and fixes its anchor: the start of its grid, and what the
// schedule's defaults are taken from. The anchor is the job's start time, or the
// first planned time where it has none; Compile rounds it up to whole
// milliseconds. It keeps no reference to s.
//
// It refuses a recurrence that never occurs (30 February; or 20 past, every 15
// minutes from the hour), naming the field "recurrence.schedule", or
// "recurrence.endTime" if only the end prevents it;
// and an anchor that is the zero time or outside the years 1 to 9999, naming
// "startTime". Every error is an *InvalidError.
func Compile(s Spec, anchor time.Time) (*Series, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	// A nanosecond less than a millisecond makes rounding down round up.
	at := floor(anchor.Add(time.Millisecond - time.Nanosecond))
	if at < 1 || at > horizon {
		return nil, invalid("startTime", "must be given, and lie in the years 1 to 9999")
	}
	series := &Series{anchor: at, end: horizon, pattern: newPattern(s, at)}
	first := series.pattern.atOrAfter(at)
	if first > horizon {
		return nil, invalid("recurrence.schedule", "must come true some time: with this interval and start time it never does")
	}
	if !s.EndAt.IsZero() {
		series.end = min(horizon, floor(s.EndAt))
	}
	if first > series.end {
		return nil, invalid("recurrence.endTime", "must not be before the first occurrence, %s",
			timeOf(first).Format(time.RFC3339Nano))
	}
	return series, nil
}

// newPattern chooses the cheapest way to walk through a valid recurrence.
func newPattern(s Spec, anchor int64) pattern {
	every := int64(s.every())
	grid := steps{anchor: anchor, step: every * s.Frequency.length().Milliseconds()}
	if s.Schedule != nil {
		switch s.Frequency {
		case Second:
			return newSieve(grid, s.Schedule)
		case Minute:
			return newMinuteRounds(anchor, every, s.Schedule)
		case Hour:
			return newHourRounds(anchor, every, s.Schedule)
		default:
			return newCalendar(s, anchor)
		}
	}
	if months := s.Frequency.months(); months != 0 {
		day, ms := split(anchor)
		month, dayOfMonth := monthOf(day)
		return monthSteps{month: month, dayOfMonth: dayOfMonth, ms: ms, step: s.every() * months}
	}
	return grid
}

// Next returns the first occurrence strictly after t, in UTC and in whole
// milliseconds, or the zero time if there is none: none comes after the
// recurrence's end, nor after the year 9999. For any t before the anchor it is
// the first occurrence of all. With a plain grid that is the anchor itself; with
// a schedule the anchor is an occurrence only if the schedule yields it.
//
// Next does not look at Count. It allocates nothing. It does not step through
// time: how long it takes depends on how rare the occurrences are, not on how
// far t is from the anchor. BenchmarkNext has the slowest that are known.
func (s *Series) Next(t time.Time) time.Time {
	from := s.anchor
	if last := floor(t); last >= from {
		from = last + 1
		if last >= s.end {
			return time.Time{}
		}
	}
	next := s.pattern.atOrAfter(from)
	if next > s.end {
		return time.Time{}
	}
	return timeOf(next)
}
