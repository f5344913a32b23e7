package recur

import (
	"fmt"
	"time"
)

// InvalidError says which field of a recurrence is wrong and what it may be.
// Every error of this package is one.
type InvalidError struct {
	// Field is spelled as on the wire: "recurrence.interval",
	// "recurrence.schedule.hours[2]", and "startTime" for the anchor.
	Field string
	// Reason continues the field's name to a sentence: "must be …".
	Reason string
}

// Error returns the field followed by the reason.
func (e *InvalidError) Error() string { return e.Field + " " + e.Reason }

func invalid(field, reason string, args ...any) *InvalidError {
	return &InvalidError{Field: field, Reason: fmt.Sprintf(reason, args...)}
}

func errFrequency() *InvalidError {
	return invalid("recurrence.frequency", "must be %s", frequencyNames)
}

// Validate checks what can be judged without a clock and without an anchor:
// ranges, and which element goes with which frequency. It stops at the first
// fault, and its error is an *InvalidError. Whether the recurrence ever occurs
// is for Compile to say.
func (s Spec) Validate() error {
	limit := s.Frequency.maxInterval()
	switch {
	case limit == 0:
		return errFrequency()
	case s.Interval == 0: // not given
	case limit == 1 && s.Interval != 1:
		return invalid("recurrence.interval", "must be 1 with frequency %s", s.Frequency)
	case s.Interval < 1 || s.Interval > limit:
		return invalid("recurrence.interval", "must be between 1 and %d with frequency %s", limit, s.Frequency)
	}
	if s.Count < 0 {
		return invalid("recurrence.count", "must be 1 or more")
	}
	if s.Schedule == nil {
		return nil
	}
	return s.Schedule.validate(s.Frequency)
}

func (s *Schedule) validate(f Frequency) error {
	monthDay := func(d int) bool { return d != 0 && between(d, -31, 31) }
	weekday := func(d time.Weekday) bool { return between(d, time.Sunday, time.Saturday) }
	known := func(o MonthlyOccurrence) bool { return weekday(o.Day) }
	placed := func(o MonthlyOccurrence) bool { return between(o.Occurrence, -5, 5) }
	within := func(low, high int) func(int) bool {
		return func(v int) bool { return between(v, low, high) }
	}
	for _, fault := range []*InvalidError{
		check("months", "", s.Months, within(1, 12), "must be between 1 and 12"),
		only(Week, f, "weekDays", s.WeekDays),
		check("weekDays", "", s.WeekDays, weekday, "must be a day of the week"),
		only(Month, f, "monthDays", s.MonthDays),
		check("monthDays", "", s.MonthDays, monthDay, "must be between 1 and 31 or between -31 and -1"),
		only(Month, f, "monthlyOccurrences", s.MonthlyOccurrences),
		check("monthlyOccurrences", ".day", s.MonthlyOccurrences, known, "must be a day of the week"),
		check("monthlyOccurrences", ".occurrence", s.MonthlyOccurrences, placed,
			"must be between 1 and 5 or between -5 and -1"),
		check("hours", "", s.Hours, within(0, 24), "must be between 0 and 24"),
		check("minutes", "", s.Minutes, within(0, 59), "must be between 0 and 59"),
	} {
		if fault != nil {
			return fault
		}
	}
	return nil
}

// only returns a fault if the element is given with another frequency than its.
func only[V any](its, f Frequency, name string, values []V) *InvalidError {
	if values == nil || f == its {
		return nil
	}
	return invalid("recurrence.schedule."+name, "goes only with frequency %s", its)
}

// check returns a fault if the element is given and empty, or if one of its
// values, or that member of it, is not ok.
func check[V any](name, member string, values []V, ok func(V) bool, reason string) *InvalidError {
	if values != nil && len(values) == 0 {
		return invalid("recurrence.schedule."+name, "must not be empty")
	}
	for i, v := range values {
		if !ok(v) {
			return invalid(fmt.Sprintf("recurrence.schedule.%s[%d]%s", name, i, member), "%s", reason)
		}
	}
	return nil
}

func between[V ~int](v, low, high V) bool { return low <= v && v <= high }
