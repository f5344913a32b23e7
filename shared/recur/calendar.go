package recur

// calendar is the pattern of frequencies day and longer with a schedule: chosen
// days, and on each of them the same times.
type calendar struct {
	days days
	clock
}

// days is a set of days.
type days interface {
	// onOrAfter returns the first day of the set that is not before day, and
	// some day after lastDay if there is none up to it. day is not before the
	// anchor's.
	onOrAfter(day int) int
}

func newCalendar(s Spec, anchor int64) *calendar {
	day, _ := split(anchor)
	c := &calendar{clock: newClock(s.Schedule, anchor)}
	if s.Frequency.months() == 0 {
		c.days = newCycle(s, day)
	} else {
		month, dayOfMonth := monthOf(day)
		c.days = newMonthly(s, month, dayOfMonth)
	}
	return c
}

func (c *calendar) atOrAfter(from int64) int64 {
	today, ms := split(from)
	day := c.days.onOrAfter(today)
	if day == today {
		if ms, ok := c.clock.atOrAfter(ms); ok {
			return startOf(day) + ms
		}
		day = c.days.onOrAfter(today + 1)
	}
	return startOf(day) + c.first()
}

// cycle is the days of frequencies day and week: a few days of every so many,
// in the chosen months.
type cycle struct {
	origin int    // the first day of the first cycle
	length int    // days
	chosen bitSet // of the first seven days of each cycle; not empty
	months monthSet
}

// newCycle starts the cycles at the anchor's day, or for weeks at its Monday.
func newCycle(s Spec, anchor int) cycle {
	c := cycle{origin: anchor, length: s.every(), chosen: 1, months: monthsOf(s.Schedule.Months)}
	if s.Frequency == Week {
		c.origin, c.length = anchor-anchor%7, s.every()*7
		c.chosen = 1 << (anchor % 7)
		if s.Schedule.WeekDays != nil {
			c.chosen = weekSet(s.Schedule.WeekDays)
		}
	}
	return c
}

// onOrAfter leaps from a day in a wrong month to the next right one, so its loop
// turns at most twice a year. Most sets meet within a few years. A few drift
// past each other slowly (every 365 days, in February), which takes centuries
// and as many turns; the end of the calendar bounds them.
func (c cycle) onOrAfter(day int) int {
	for day <= lastDay {
		day = c.next(day)
		allowed := c.months.admit(day)
		if allowed == day {
			return day
		}
		day = allowed
	}
	return noDay
}

// next is onOrAfter without regard to the months.
func (c cycle) next(day int) int {
	position := (day - c.origin) % c.length
	if left := c.chosen.from(position); left != 0 {
		return day - position + left.first()
	}
	return day - position + c.length + c.chosen.first()
}
