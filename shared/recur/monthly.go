package recur

import "time"

// monthly is the days of frequencies month and year: some days in the months
// that are both visited and chosen.
type monthly struct {
	origin int // the anchor's month
	step   int // months
	months monthSet
	chosen monthDays
}

// monthDays says which days of a month are chosen, day 1 being bit 1. Within the
// month that depends on two things only: the weekday that the month begins with,
// and its length less 28.
type monthDays [7][4]bitSet

// newMonthly makes the days of s for an anchor on that day of that month. With
// frequency year it visits the chosen months of each year, or else the
// anchor's; with frequency month the chosen ones among every so many.
func newMonthly(s Spec, month, dayOfMonth int) monthly {
	m := monthly{origin: month, step: s.every(), months: monthsOf(s.Schedule.Months)}
	if s.Frequency == Year {
		m.step = 12
		if s.Schedule.Months != nil {
			m.step = 1
		}
	}
	for begin := range m.chosen {
		for over := range m.chosen[begin] {
			m.chosen[begin][over] = chosenDays(s.Schedule, dayOfMonth, time.Weekday(begin), 28+over)
		}
	}
	return m
}

// chosenDays returns which days a schedule chooses in a month of that length that
// begins with that weekday.
func chosenDays(s *Schedule, anchorDay int, begin time.Weekday, length int) bitSet {
	if s.MonthDays == nil && s.MonthlyOccurrences == nil {
		return 1 << min(anchorDay, length)
	}
	var chosen bitSet
	for d := 1; d <= length; d++ {
		weekday := (begin + time.Weekday(d-1)) % 7
		if onMonthDay(s.MonthDays, d, length) && onOccurrence(s.MonthlyOccurrences, weekday, d, length) {
			chosen |= 1 << d
		}
	}
	return chosen
}

// onMonthDay reports whether one of the values, if any were given, is the day d
// of a month of that length.
func onMonthDay(values []int, d, length int) bool {
	for _, v := range values {
		if v == d || v == d-length-1 {
			return true
		}
	}
	return values == nil
}

// onOccurrence reports whether one of the values, if any were given, is the day
// d, which is such a weekday, of a month of that length.
func onOccurrence(values []MonthlyOccurrence, weekday time.Weekday, d, length int) bool {
	nth, nthLast := (d-1)/7+1, -((length-d)/7 + 1)
	for _, v := range values {
		if v.Day == weekday && (v.Occurrence == 0 || v.Occurrence == nth || v.Occurrence == nthLast) {
			return true
		}
	}
	return values == nil
}

// onOrAfter looks at each month that is visited until one has a chosen day. What
// n months visit repeats after 400·n years, in which they visit monthsPer400Years
// months, or a fraction of that: where these bring nothing, no later one does.
func (m monthly) onOrAfter(day int) int {
	month, dayOfMonth := monthOf(day)
	if off := (month - m.origin) % m.step; off != 0 {
		month, dayOfMonth = month+m.step-off, 1
	}
	last := min(lastMonth, month+m.step*monthsPer400Years) // one more visit, since the first may be half over
	for ; month <= last; month, dayOfMonth = month+m.step, 1 {
		if !m.months.has(month) {
			continue
		}
		first, chosen := m.in(month)
		if left := chosen.from(dayOfMonth); left != 0 {
			return first + left.first() - 1
		}
	}
	return noDay
}

// in returns the first day of a month, and which of the month's are chosen, given
// that the month is itself.
func (m monthly) in(month int) (first int, chosen bitSet) {
	first = firstDay(month)
	return first, m.chosen[weekdayOf(first)][firstDay(month+1)-first-28]
}
