package wire

import (
	"errors"
	"strings"
	"time"
)

// tick is the grain of .NET's times and spans, which have 7 fraction digits.
const tick = 100 * time.Nanosecond

// ParseTime reads RFC 3339 with any offset and, leniently, times without an
// offset, which are UTC, without seconds, and dates, whose time is midnight. A
// fraction of more than 7 digits is rounded. It refuses what does not lie in
// the years 1 to 9999, UTC, and the first instant of these, which is .NET's
// sign for no time. The error says what a time must be.
func ParseTime(s string) (time.Time, error) {
	s = strings.ToUpper(strings.TrimSpace(s))
	if len(s) > len(time.DateOnly) && s[len(time.DateOnly)] == ' ' {
		s = s[:len(time.DateOnly)] + "T" + s[len(time.DateOnly)+1:]
	}
	for _, layout := range []string{
		"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05",
		"2006-01-02T15:04Z07:00", "2006-01-02T15:04",
		time.DateOnly,
	} {
		t, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		if len(s) > len(time.DateOnly) && s[len("2006-01-02T15")] != ':' {
			break // package time takes an hour of one digit
		}
		t = t.UTC().Round(tick)
		if t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
			return time.Time{}, errors.New("must lie in the years 1 to 9999")
		}
		return t, nil
	}
	return time.Time{}, errors.New("must be a time such as 2016-04-04T00:00:00Z")
}

// FormatTime returns t in UTC with up to 7 fraction digits, trailing zeros
// trimmed, as the live service wrote times.
func FormatTime(t time.Time) string {
	return t.UTC().Round(tick).Format("2006-01-02T15:04:05.9999999Z")
}

// formatGiven is FormatTime, and "" for the zero time.
func formatGiven(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return FormatTime(t)
}
