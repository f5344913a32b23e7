package recur

import (
	"strings"
	"time"
)

// Frequency is the unit of a recurrence. Its zero value is invalid.
type Frequency uint8

// The units of Azure Scheduler, and Second, which it did not have.
const (
	Second Frequency = iota + 1
	Minute
	Hour
	Day
	Week
	Month
	Year
)

const frequencyNames = "second, minute, hour, day, week, month or year"

// String returns the wire's spelling, "second" to "year", and "" for an invalid
// Frequency.
func (f Frequency) String() string {
	switch f {
	case Second:
		return "second"
	case Minute:
		return "minute"
	case Hour:
		return "hour"
	case Day:
		return "day"
	case Week:
		return "week"
	case Month:
		return "month"
	case Year:
		return "year"
	default:
		return ""
	}
}

// ParseFrequency reads a frequency's name in any case. It reports whether there
// is one of that name.
func ParseFrequency(s string) (Frequency, bool) {
	for f := Second; f <= Year; f++ {
		if strings.EqualFold(s, f.String()) {
			return f, true
		}
	}
	return 0, false
}

// MarshalText returns the name of f, and an *InvalidError if f has none.
func (f Frequency) MarshalText() ([]byte, error) {
	if name := f.String(); name != "" {
		return []byte(name), nil
	}
	return nil, errFrequency()
}

// UnmarshalText sets f to the frequency of that name, in any case. Its error is
// an *InvalidError.
func (f *Frequency) UnmarshalText(text []byte) error {
	parsed, ok := ParseFrequency(string(text))
	if !ok {
		return errFrequency()
	}
	*f = parsed
	return nil
}

// maxInterval is the greatest interval for f, and 0 for an invalid f.
func (f Frequency) maxInterval() int {
	switch f {
	case Second, Minute, Hour:
		return 1000
	case Day:
		return 548
	case Week:
		return 78
	case Month:
		return 18
	case Year:
		return 1
	default:
		return 0
	}
}

// length is how long one unit lasts, and 0 for months and years, which vary.
func (f Frequency) length() time.Duration {
	switch f {
	case Second:
		return time.Second
	case Minute:
		return time.Minute
	case Hour:
		return time.Hour
	case Day:
		return 24 * time.Hour
	case Week:
		return 7 * 24 * time.Hour
	default:
		return 0
	}
}

// months is how many months one unit lasts, and 0 for the units below a month.
func (f Frequency) months() int {
	switch f {
	case Month:
		return 1
	case Year:
		return 12
	default:
		return 0
	}
}

// ParseWeekday reads a weekday's English name in any case. It reports whether
// there is one of that name.
func ParseWeekday(s string) (time.Weekday, bool) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(s, d.String()) {
			return d, true
		}
	}
	return 0, false
}

// WeekdayName returns the wire's spelling of d, "sunday" to "saturday".
func WeekdayName(d time.Weekday) string { return strings.ToLower(d.String()) }
