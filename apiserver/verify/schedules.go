package verify

import (
	"time"

	"github.com/carillon-scheduler/carillon/apiserver/client"
)

// before returns the instant that is n units of a frequency before x.
func (g *generator) before(x time.Time, frequency string, n int) time.Time {
	switch frequency {
	case "second":
		return x.Add(-time.Duration(n) * time.Second)
	case "minute":
		return x.Add(-time.Duration(n) * time.Minute)
	case "hour":
		return x.Add(-time.Duration(n) * time.Hour)
	case "day":
		return x.AddDate(0, 0, -n)
	case "week":
		return x.AddDate(0, 0, -7*n)
	case "month":
		return monthsBefore(x, n)
	default:
		return monthsBefore(x, 12*n)
	}
}

// monthsBefore returns the same day n months before x, or the last one of that
// month.
func monthsBefore(x time.Time, n int) time.Time {
	first := x.AddDate(0, -n, 1-x.Day())
	return first.AddDate(0, 0, min(x.Day(), lastDay(first))-1)
}

// schedule returns elements that all name x, but for one if not is set. What they
// leave to the start is that of one before x.
func (g *generator) schedule(frequency string, x time.Time, not bool) *client.Schedule {
	s := &client.Schedule{}
	choices := []func(miss bool){
		func(miss bool) { s.Hours = around(x.Hour(), 24, 0, miss) },
		func(miss bool) { s.Months = around(int(x.Month())-1, 12, 1, miss) },
	}
	if frequency == "hour" || frequency == "day" {
		choices = append(choices, func(miss bool) {
			if miss || g.rng.IntN(2) == 0 { // on the full minute: only if the run meets one
				s.Minutes = around(x.Minute(), 60, 0, miss)
			}
		})
	}
	if frequency == "week" {
		choices = append(choices, func(miss bool) {
			for _, d := range around(int(x.Weekday()), 7, 0, miss) {
				s.WeekDays = append(s.WeekDays, time.Weekday(d).String())
			}
		})
	}
	if frequency == "month" {
		choices = append(choices, func(miss bool) { s.MonthDays = g.monthDays(x, miss) }, func(miss bool) { s.MonthlyOccurrences = g.monthlyOccurrences(x, miss) })
	}
	missed := -1
	if not {
		missed = g.rng.IntN(len(choices))
	}
	for i, choose := range choices {
		if i == missed || g.rng.IntN(2) == 0 {
			choose(i == missed)
		}
	}
	if s.MonthDays != nil && s.MonthlyOccurrences != nil && not { // they might never meet
		if missed == len(choices)-1 {
			s.MonthDays = nil
		} else {
			s.MonthlyOccurrences = nil
		}
	}
	if s.Hours == nil && s.Minutes == nil && s.Months == nil && s.WeekDays == nil && s.MonthDays == nil && s.MonthlyOccurrences == nil {
		choices[0](false)
	}
	return s
}

// around returns numbers of a ring of so many, the first of which is low: v and
// another, or, if v is to be missed, neither it nor its neighbours.
func around(v, size, low int, miss bool) []int {
	if miss {
		return []int{low + (v+size/2)%size}
	}
	return []int{low + v, low + (v+size/2)%size}
}

// monthDays names the day of x, or the one in half a month, from either end.
func (g *generator) monthDays(x time.Time, miss bool) []int {
	d := x.Day()
	if miss {
		d = (d+13)%28 + 1
	}
	if g.rng.IntN(2) == 0 {
		return []int{d - lastDay(x) - 1}
	}
	return []int{d}
}

// monthlyOccurrences names the weekday of x by its number, from either end, or
// all such days; or the weekday that is half a week away.
func (g *generator) monthlyOccurrences(x time.Time, miss bool) []client.MonthlyOccurrence {
	if miss {
		return []client.MonthlyOccurrence{{Day: ((x.Weekday() + 3) % 7).String()}}
	}
	n := []int{0, (x.Day()-1)/7 + 1, (x.Day()-lastDay(x))/7 - 1}[g.rng.IntN(3)]
	return []client.MonthlyOccurrence{{Day: x.Weekday().String(), Occurrence: n}}
}

// anyRecurrence returns a recurrence of any frequency with any elements, most of
// which name x.
func (g *generator) anyRecurrence(x time.Time) *client.Recurrence {
	frequencies := []string{"minute", "hour", "day", "week", "month", "year"}
	if g.beat < time.Minute {
		frequencies = append(frequencies, "second")
	}
	rec := &client.Recurrence{Frequency: frequencies[g.rng.IntN(len(frequencies))], Interval: 1 + g.rng.IntN(4)}
	if rec.Frequency == "year" {
		rec.Interval = 1
	}
	if g.rng.IntN(8) > 0 {
		not := g.rng.IntN(5) == 0
		if not && rec.Frequency == "month" {
			rec.Interval = 1 // others might never meet the months named
		}
		rec.Schedule = g.schedule(rec.Frequency, x, not)
	}
	return rec
}
