package recur

// clock is a set of times of day: hours × minutes, each at the same offset into
// its minute. Neither set is empty.
type clock struct {
	hours   bitSet
	minutes bitSet
	offset  int64 // milliseconds
}

// newClock makes the clock of frequencies day and longer.
func newClock(s *Schedule, anchor int64) clock {
	hours := setOrAll(s.Hours, 24)
	if s.Hours == nil && s.Minutes == nil {
		hours = 1 << (anchor % msPerDay / msPerHour)
	}
	minutes, offset := minutesOrAnchor(s, anchor)
	return clock{hours, minutes, offset}
}

// minutesOrAnchor returns the schedule's minutes, on the second, or else the
// anchor's minute and the milliseconds into it.
func minutesOrAnchor(s *Schedule, anchor int64) (minutes bitSet, offset int64) {
	if s.Minutes != nil {
		return setOf(s.Minutes, 60), 0
	}
	return 1 << (anchor % msPerHour / msPerMinute), anchor % msPerMinute
}

// atOrAfter returns the first time of day, in milliseconds, that is not before
// ms, and false if the day has none left.
func (c clock) atOrAfter(ms int64) (int64, bool) {
	minute := int((max(ms-c.offset, 0) + msPerMinute - 1) / msPerMinute)
	hour := minute / 60
	if c.hours.has(hour) {
		if left := c.minutes.from(minute % 60); left != 0 {
			return c.at(hour, left.first()), true
		}
	}
	if later := c.hours.from(hour + 1); later != 0 {
		return c.at(later.first(), c.minutes.first()), true
	}
	return 0, false
}

// first is the first time of day, in milliseconds.
func (c clock) first() int64 { return c.at(c.hours.first(), c.minutes.first()) }

func (c clock) at(hour, minute int) int64 { return int64(hour*60+minute)*msPerMinute + c.offset }
