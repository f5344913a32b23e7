package verify

import (
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/apiserver/client"
)

// calendar says of any instant whether a recurrence occurs at it, and lists
// occurrences by trying every second. It reads the rules (AZURE, schedules) with
// package time, one sentence a line, and shares nothing with the search that
// planners use, which it is there to check. It knows nothing of count.
type calendar struct {
	rec    *client.Recurrence
	anchor time.Time // whole milliseconds
}

// between lists the occurrences from one instant up to, and including, another.
func (c calendar) between(from, to time.Time) []time.Time {
	var found []time.Time
	into := c.anchor.Sub(c.anchor.Truncate(time.Second))
	for s := from.Truncate(time.Second); !s.After(to); s = s.Add(time.Second) {
		for _, t := range []time.Time{s, s.Add(into)} {
			if !t.Before(from) && !t.After(to) && c.occurs(t) {
				found = append(found, t)
			}
			if into == 0 {
				break
			}
		}
	}
	return found
}

// occurs reports whether the recurrence occurs at t.
func (c calendar) occurs(t time.Time) bool {
	t = t.UTC()
	return !t.Before(c.anchor) && (c.rec.EndTime.IsZero() || !t.After(c.rec.EndTime)) && c.onDay(t) && c.onTime(t)
}

func (c calendar) schedule() client.Schedule {
	if c.rec.Schedule == nil {
		return client.Schedule{}
	}
	return *c.rec.Schedule
}

func (c calendar) interval() int64 { return int64(max(c.rec.Interval, 1)) }

// onDay reports whether t's day is one that the recurrence may occur on.
func (c calendar) onDay(t time.Time) bool {
	s := c.schedule()
	if s.Months != nil && !slices.Contains(s.Months, int(t.Month())) {
		return false
	}
	switch strings.ToLower(c.rec.Frequency) {
	case "day":
		return days(c.anchor, t)%c.interval() == 0
	case "week":
		chosen := t.Weekday() == c.anchor.Weekday()
		if s.WeekDays != nil {
			chosen = slices.ContainsFunc(s.WeekDays, func(name string) bool { return isDay(name, t) })
		}
		return chosen && days(monday(c.anchor), monday(t))/7%c.interval() == 0
	case "month":
		months := int64(t.Year()-c.anchor.Year())*12 + int64(t.Month()-c.anchor.Month())
		return months%c.interval() == 0 && c.onDayOfMonth(t, s)
	case "year":
		return (s.Months != nil || t.Month() == c.anchor.Month()) && t.Day() == min(c.anchor.Day(), lastDay(t))
	}
	return true
}

func (c calendar) onDayOfMonth(t time.Time, s client.Schedule) bool {
	if s.MonthDays == nil && s.MonthlyOccurrences == nil {
		return t.Day() == min(c.anchor.Day(), lastDay(t))
	}
	fromEnd := t.Day() - lastDay(t) - 1 // -1 is the last day
	byDay := s.MonthDays == nil || slices.Contains(s.MonthDays, t.Day()) || slices.Contains(s.MonthDays, fromEnd)
	nth, nthLast := (t.Day()-1)/7+1, (fromEnd+1)/7-1
	byOccurrence := s.MonthlyOccurrences == nil || slices.ContainsFunc(s.MonthlyOccurrences, func(o client.MonthlyOccurrence) bool {
		return isDay(o.Day, t) && (o.Occurrence == 0 || o.Occurrence == nth || o.Occurrence == nthLast)
	})
	return byDay && byOccurrence
}

// onTime reports whether t's time of day is right, given that its day is.
func (c calendar) onTime(t time.Time) bool {
	s := c.schedule()
	hourChosen := s.Hours == nil || slices.ContainsFunc(s.Hours, func(h int) bool { return h%24 == t.Hour() })
	minuteChosen := s.Minutes == nil || slices.Contains(s.Minutes, t.Minute())
	sinceAnchor := t.Sub(c.anchor)
	switch strings.ToLower(c.rec.Frequency) {
	case "second":
		return hourChosen && minuteChosen && sinceAnchor%(time.Duration(c.interval())*time.Second) == 0
	case "minute":
		return hourChosen && minuteChosen && sinceAnchor%(time.Duration(c.interval())*time.Minute) == 0
	case "hour":
		hours := int64(t.Truncate(time.Hour).Sub(c.anchor.Truncate(time.Hour)) / time.Hour)
		if hours%c.interval() != 0 {
			return false
		}
	default:
		if s.Hours == nil && s.Minutes == nil && t.Hour() != c.anchor.Hour() {
			return false
		}
	}
	if !hourChosen || !minuteChosen {
		return false
	}
	if s.Minutes != nil {
		return t.Truncate(time.Minute).Equal(t)
	}
	return t.Minute() == c.anchor.Minute() && t.Sub(t.Truncate(time.Minute)) == c.anchor.Sub(c.anchor.Truncate(time.Minute))
}

func isDay(name string, t time.Time) bool { return strings.EqualFold(name, t.Weekday().String()) }

func lastDay(t time.Time) int { return time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day() }

func midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// monday returns the beginning of t's week.
func monday(t time.Time) time.Time {
	return midnight(t).AddDate(0, 0, -(int(t.Weekday())+6)%7)
}

// days is how many midnights lie between two instants.
func days(since, t time.Time) int64 {
	return int64(midnight(t).Sub(midnight(since)) / (24 * time.Hour))
}
