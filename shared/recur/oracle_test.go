package recur

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// oracle says of any instant whether a recurrence occurs at it. It reads
// AZURE.md with package time, one sentence a line, and shares nothing with the
// code under test. To list occurrences it tries every second or minute.
type oracle struct {
	spec   Spec
	anchor time.Time
}

func newOracle(s Spec, anchor time.Time) oracle {
	ms := anchor.UTC().Truncate(time.Millisecond)
	if ms.Before(anchor) {
		ms = ms.Add(time.Millisecond)
	}
	return oracle{s, ms}
}

func (o oracle) occurs(t time.Time) bool {
	return o.within(t) && o.onTime(t) && o.onDay(t)
}

func (o oracle) within(t time.Time) bool {
	return !t.Before(o.anchor) && (o.spec.EndAt.IsZero() || !t.After(o.spec.EndAt))
}

// onDay reports whether t's day is one that the recurrence may occur on.
func (o oracle) onDay(t time.Time) bool {
	if o.spec.Schedule != nil && o.spec.Schedule.Months != nil && !slices.Contains(o.spec.Schedule.Months, int(t.Month())) {
		return false
	}
	interval := int64(max(o.spec.Interval, 1))
	switch o.spec.Frequency {
	case Second, Minute, Hour:
		return true
	case Day:
		return units(midnight(t), midnight(o.anchor), 86400)%interval == 0
	case Week:
		weekday := t.Weekday() == o.anchor.Weekday()
		if o.spec.Schedule != nil && o.spec.Schedule.WeekDays != nil {
			weekday = slices.Contains(o.spec.Schedule.WeekDays, t.Weekday())
		}
		return weekday && units(monday(t), monday(o.anchor), 7*86400)%interval == 0
	case Month:
		months := int64((t.Year()-o.anchor.Year())*12 + int(t.Month()-o.anchor.Month()))
		return months%interval == 0 && o.onDayOfMonth(t)
	case Year:
		month := t.Month() == o.anchor.Month()
		if o.spec.Schedule != nil && o.spec.Schedule.Months != nil {
			month = true // looked at above
		}
		return month && t.Day() == min(o.anchor.Day(), lengthOfMonth(t))
	}
	panic("unknown frequency")
}

func (o oracle) onDayOfMonth(t time.Time) bool {
	s := o.spec.Schedule
	if s == nil || s.MonthDays == nil && s.MonthlyOccurrences == nil {
		return t.Day() == min(o.anchor.Day(), lengthOfMonth(t))
	}
	byDay, byOccurrence := s.MonthDays == nil, s.MonthlyOccurrences == nil
	for _, d := range s.MonthDays {
		byDay = byDay || d > 0 && t.Day() == d || d < 0 && t.Day() == lengthOfMonth(t)+1+d
	}
	for _, mo := range s.MonthlyOccurrences {
		var such []int // the days of the month that are such a weekday
		for d := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC); d.Month() == t.Month(); d = d.AddDate(0, 0, 1) {
			if d.Weekday() == mo.Day {
				such = append(such, d.Day())
			}
		}
		switch n := mo.Occurrence; {
		case n == 0:
			byOccurrence = byOccurrence || slices.Contains(such, t.Day())
		case n > 0 && n <= len(such):
			byOccurrence = byOccurrence || such[n-1] == t.Day()
		case n < 0 && -n <= len(such):
			byOccurrence = byOccurrence || such[len(such)+n] == t.Day()
		}
	}
	return byDay && byOccurrence
}

// onTime reports whether t's time of day is right, given that its day is.
func (o oracle) onTime(t time.Time) bool {
	s := o.spec.Schedule
	if s == nil {
		s = &Schedule{}
	}
	interval := int64(max(o.spec.Interval, 1))
	hourChosen := slices.ContainsFunc(s.Hours, func(h int) bool { return h%24 == t.Hour() })
	minuteChosen := slices.Contains(s.Minutes, t.Minute())
	sameSecond := t.Second() == o.anchor.Second() && t.Nanosecond() == o.anchor.Nanosecond()

	switch o.spec.Frequency {
	case Second, Minute:
		if s.Hours != nil && !hourChosen || s.Minutes != nil && !minuteChosen {
			return false
		}
		length := int64(1)
		if o.spec.Frequency == Minute {
			length = 60
		}
		ms := t.UnixMilli() - o.anchor.UnixMilli()
		return ms%(interval*length*1000) == 0
	case Hour:
		if s.Hours != nil && !hourChosen || units(t.Truncate(time.Hour), o.anchor.Truncate(time.Hour), 3600)%interval != 0 {
			return false
		}
	default:
		switch {
		case s.Hours != nil && !hourChosen:
			return false
		case s.Hours == nil && s.Minutes == nil && t.Hour() != o.anchor.Hour():
			return false
		}
	}
	if s.Minutes != nil {
		return minuteChosen && t.Second() == 0 && t.Nanosecond() == 0
	}
	return t.Minute() == o.anchor.Minute() && sameSecond
}

// walk lists the occurrences from one instant up to, not including, another, but
// no more than limit of them.
func (o oracle) walk(from, to time.Time, limit int) []time.Time {
	var found []time.Time
	for day := midnight(from); day.Before(to); day = day.AddDate(0, 0, 1) {
		if !o.onDay(day) {
			continue
		}
		begin, end := day, day.Add(24*time.Hour)
		if begin.Before(from) {
			begin = from.Truncate(time.Hour)
		}
		if to.Before(end) {
			end = to
		}
		for t := range o.candidates(begin, end) {
			if t.Before(from) || !t.Before(to) || !o.within(t) || !o.onTime(t) {
				continue
			}
			if found = append(found, t); len(found) == limit {
				return found
			}
		}
	}
	return found
}

// candidates yields each second from one instant to another; or for other
// frequencies than that each minute twice: its start, and the instant that is as
// far into it as the anchor is into its own.
func (o oracle) candidates(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		unit := time.Minute
		if o.spec.Frequency == Second {
			unit = time.Second
		}
		into := o.anchor.Sub(o.anchor.Truncate(unit))
		for t := from; t.Before(to); t = t.Add(unit) {
			if !yield(t) || into != 0 && !yield(t.Add(into)) {
				return
			}
		}
	}
}

func midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func monday(t time.Time) time.Time {
	return midnight(t).AddDate(0, 0, -(int(t.Weekday())+6)%7)
}

func lengthOfMonth(t time.Time) int {
	return time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// units is how many units of so many seconds lie between two instants.
func units(t, since time.Time, seconds int64) int64 { return (t.Unix() - since.Unix()) / seconds }

// draw is where random specs take their numbers from: a generator, or the bytes
// of a fuzz input.
type draw interface{ IntN(n int) int }

// fuzzBytes draws from bytes, and zeros when they are used up.
type fuzzBytes []byte

func (b *fuzzBytes) IntN(n int) int {
	v := 0
	for range 2 {
		v <<= 8
		if len(*b) > 0 {
			v |= int((*b)[0])
			*b = (*b)[1:]
		}
	}
	return v % n
}

// randomSpec draws a valid Spec without an end. Intervals tend to be small.
func randomSpec(d draw) Spec {
	s := Spec{Frequency: Second + Frequency(d.IntN(7))}
	limit := s.Frequency.maxInterval()
	switch d.IntN(4) {
	case 0: // the default
	case 1:
		s.Interval = 1 + d.IntN(min(limit, 5))
	case 2:
		s.Interval = 1 + d.IntN(min(limit, 60))
	case 3:
		s.Interval = 1 + d.IntN(limit)
	}
	if d.IntN(8) == 0 {
		return s
	}
	s.Schedule = &Schedule{
		Hours:   numbers(d, 2, 0, 24),
		Minutes: numbers(d, 2, 0, 59),
		Months:  numbers(d, 4, 1, 12),
	}
	switch s.Frequency {
	case Week:
		for _, w := range numbers(d, 2, 0, 6) {
			s.Schedule.WeekDays = append(s.Schedule.WeekDays, time.Weekday(w))
		}
	case Month:
		s.Schedule.MonthDays = slices.DeleteFunc(numbers(d, 2, -31, 31), func(v int) bool { return v == 0 })
		if len(s.Schedule.MonthDays) == 0 {
			s.Schedule.MonthDays = nil
		}
		for _, n := range numbers(d, 2, -5, 5) {
			mo := MonthlyOccurrence{Day: time.Weekday(d.IntN(7)), Occurrence: n}
			s.Schedule.MonthlyOccurrences = append(s.Schedule.MonthlyOccurrences, mo)
		}
	default:
	}
	return s
}

// numbers draws nil in all of so many cases but one, and else some numbers of a
// range.
func numbers(d draw, cases, low, high int) []int {
	if d.IntN(cases) != 0 {
		return nil
	}
	var list []int
	for range 1 + d.IntN(4) {
		list = append(list, low+d.IntN(high-low+1))
	}
	return list
}

// randomAnchor draws an instant from 1990 to 2040, often at a month's end, and
// often not at a whole second.
func randomAnchor(d draw) time.Time {
	month := time.Date(1990, 1+time.Month(d.IntN(50*12)), 1, 0, 0, 0, 0, time.UTC)
	day := d.IntN(28)
	if d.IntN(3) == 0 {
		day = lengthOfMonth(month) - 1 - d.IntN(3)
	}
	t := month.AddDate(0, 0, day).Add(time.Duration(d.IntN(1440)) * time.Minute)
	if d.IntN(2) == 0 {
		t = t.Add(time.Duration(d.IntN(60_000)) * time.Millisecond)
	}
	return t
}

// window is how long a walk over a spec's occurrences may be.
func window(f Frequency) time.Duration {
	switch f {
	case Second:
		return 12 * time.Hour
	case Minute, Hour:
		return 40 * 24 * time.Hour
	case Day, Week:
		return 300 * 24 * time.Hour
	default:
		return 3 * 366 * 24 * time.Hour
	}
}

// collect lists what Next yields from one instant up to another, like walk.
func collect(s *Series, from, to time.Time, limit int) []time.Time {
	var found []time.Time
	t := from.Add(-time.Nanosecond)
	for len(found) < limit {
		t = s.Next(t)
		if t.IsZero() || !t.Before(to) {
			break
		}
		found = append(found, t)
	}
	return found
}

func mustCompile(t testing.TB, s Spec, anchor time.Time) *Series {
	t.Helper()
	series, err := Compile(s, anchor)
	if err != nil {
		t.Fatalf("Compile(%s, %s): %v", show(s), anchor.Format(time.RFC3339Nano), err)
	}
	return series
}

// at reads a time as RFC 3339.
func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}

func show(s Spec) string {
	if s.Schedule == nil {
		return fmt.Sprintf("%+v", s)
	}
	sched := *s.Schedule
	s.Schedule = nil
	return fmt.Sprintf("%+v with %+v", s, sched)
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
