package recur

import (
	"math"
	"time"
)

// Fastest returns the shortest time that can lie between two occurrences of the
// recurrence, whatever its anchor. It is what a collection's quota "at most
// every hour" limits. For the calendar's sake:
//
//   - The plain grid's is its step. Months and years count as the shortest run
//     of so many months: 28 days for one month, 59 for two, 365 for a year.
//   - A schedule's is the least of the gaps between its minutes, its hours and
//     its days, from the last time of one day to the first of the next: 1 hour
//     for {day, hours: [0, 23]}, 15 minutes for {day, minutes: [0, 15, 30, 45]}.
//   - A schedule that filters a grid stretches it: 1 hour for {minute, interval
//     30, minutes: [0]}.
//
// Leap years, clamped days and rare days are taken into account for months and
// years, so that the answer is exact; so it is for the other frequencies up to
// 27 days. Above that Months is not looked at, and the true gap may be longer
// ({day, interval 40, months: [1]} answers 40 days), but is never shorter.
//
// Count and EndAt are not looked at either, nor is a run on top of the schedule.
// Fastest returns 0 if the Spec is invalid, and the longest Duration if it can
// never occur.
func (s Spec) Fastest() time.Duration {
	if s.Validate() != nil {
		return 0
	}
	step := time.Duration(s.every()) * s.Frequency.length()
	if s.Schedule == nil {
		if step != 0 {
			return step
		}
		s.Schedule = &Schedule{} // the same grid of months, by way of the defaults
	}
	if s.Frequency == Second || s.Frequency == Minute {
		return shortestSum(step, minutesOfDay(s.Schedule))
	}

	// Below, any anchor will do: one anchor's minute is as far from itself as
	// another's.
	c := newClock(s.Schedule, 0)
	withinHour := minutesLong(c.minutes.closest())
	minuteSpan := minutesLong(c.minutes.last() - c.minutes.first())
	if s.Frequency == Hour {
		hours := minutesOfDay(&Schedule{Hours: s.Schedule.Hours})
		return shortest(withinHour, shortestSum(step, hours)-minuteSpan)
	}
	betweenHours := minutesLong(60 * c.hours.closest())
	if betweenHours != 0 {
		betweenHours -= minuteSpan
	}
	apart := shortestDays(s)
	if apart == 0 {
		return math.MaxInt64
	}
	hourSpan := minutesLong(60 * (c.hours.last() - c.hours.first()))
	betweenDays := time.Duration(apart)*24*time.Hour - hourSpan - minuteSpan
	return shortest(withinHour, betweenHours, betweenDays)
}

func minutesLong(n int) time.Duration { return time.Duration(n) * time.Minute }

// shortest returns the least of the gaps, 0 standing for one that there is not.
func shortest(gaps ...time.Duration) time.Duration {
	least := time.Duration(math.MaxInt64)
	for _, gap := range gaps {
		if gap != 0 {
			least = min(least, gap)
		}
	}
	return least
}

// shortestSum returns the least multiple of step that leads from a chosen minute
// of the day to a chosen one. There is one: after at most minutesPerDay steps the
// time of day is within a minute of what it was.
func shortestSum(step time.Duration, chosen ring) time.Duration {
	var elements []int
	for i := range chosen.size {
		if chosen.has(i) {
			elements = append(elements, i)
		}
	}
	for sum := step; ; sum += step {
		n := int(sum / time.Minute)
		whole := sum%time.Minute == 0
		for _, i := range elements {
			// A sum of n minutes and some seconds reaches two minutes, depending
			// on the second that it starts from.
			if chosen.has(i+n) || !whole && chosen.has(i+n+1) {
				return sum
			}
		}
	}
}

// shortestDays returns the least number of days between two chosen ones of
// frequency day and longer, and 0 if there are none.
func shortestDays(s Spec) int {
	if s.Frequency.months() == 0 {
		c := newCycle(s, 0)
		around := c.length - (c.chosen.last() - c.chosen.first())
		if within := c.chosen.closest(); within != 0 {
			return min(within, around)
		}
		return around
	}
	m := newMonthly(s, 0, 28)
	if s.Schedule.MonthDays != nil || s.Schedule.MonthlyOccurrences != nil {
		return closestDays(m)
	}
	// Now the anchor's day of the month is it. If every month is chosen, the
	// shortest run of m.step months has no leap day, so it is in the years 1 to 3.
	if s.Schedule.Months == nil {
		least := firstDay(m.step)
		for begin := 1; begin < 12; begin++ {
			least = min(least, firstDay(begin+m.step)-firstDay(begin))
		}
		return least
	}
	// If not, it depends on the day by way of clamping, which shortens the gap
	// between two given months most at one of these ends.
	return min(closestDays(m), closestDays(newMonthly(s, 0, 31)))
}

// closestDays returns the least number of days between two days of m, taking
// each month in turn for the anchor's, and 0 if m is empty. The calendar repeats
// every 400 years, so all there is to see are the months of that time.
func closestDays(m monthly) int {
	least := 0
	for month := range monthsPer400Years {
		if !m.months.has(month) {
			continue
		}
		first, chosen := m.in(month)
		if chosen == 0 {
			continue
		}
		m.origin = month
		gap := m.onOrAfter(firstDay(month+1)) - (first + chosen.last() - 1)
		if within := chosen.closest(); within != 0 {
			gap = min(gap, within)
		}
		if least == 0 || gap < least {
			least = gap
		}
	}
	return least
}
