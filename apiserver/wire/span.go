package wire

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseSpan reads a .NET TimeSpan, [d.]hh:mm[:ss[.fffffff]], or an ISO 8601
// duration. A fraction of more than 7 digits is rounded. It refuses what is
// negative or longer than the 292 years of a Duration. The error says what a
// span must be.
//
// A duration's years and months have no length of their own. They count as
// .NET's XmlConvert.ToTimeSpan counted them: 365 days a year, 30 days a month,
// and 12 months as a year, so that P12M is P1Y and P18M is 545 days. PT1D, as
// Azure's documentation has it by mistake, is P1D.
func ParseSpan(s string) (time.Duration, error) {
	s = strings.ToUpper(strings.TrimSpace(s))
	var t ticks
	switch {
	case strings.HasPrefix(s, "-"):
		return 0, errors.New("must not be negative")
	case strings.HasPrefix(s, "P"):
		t.addISO(s[1:])
	default:
		t.addTimeSpan(s)
	}
	switch {
	case t.malformed:
		return 0, errors.New("must be a span such as 00:00:30, 1.12:00:00 or PT30S")
	case t.overflow:
		return 0, errors.New("must not be longer than 292 years")
	}
	return time.Duration(t.sum) * tick, nil
}

// FormatSpan returns d, rounded to 100 ns, as .NET's TimeSpan prints:
// [d.]hh:mm:ss, with 7 fraction digits if there is a fraction.
func FormatSpan(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	n := (uint64(d) + uint64(tick)/2) / uint64(tick)
	var b strings.Builder
	b.WriteString(sign)
	if days := n / perDay; days > 0 {
		fmt.Fprintf(&b, "%d.", days)
	}
	fmt.Fprintf(&b, "%02d:%02d:%02d", n%perDay/perHour, n%perHour/perMinute, n%perMinute/perSecond)
	if fraction := n % perSecond; fraction > 0 {
		fmt.Fprintf(&b, ".%07d", fraction)
	}
	return b.String()
}

// Lengths in ticks of 100 ns.
const (
	perSecond = uint64(time.Second / tick)
	perMinute = 60 * perSecond
	perHour   = 60 * perMinute
	perDay    = 24 * perHour
	perMonth  = 30 * perDay
	perYear   = 365 * perDay
	maxTicks  = math.MaxInt64 / uint64(tick)
)

// ticks is a sum of parts of a span. Whatever is wrong with a part, the others
// may still be added.
type ticks struct {
	sum                 uint64
	malformed, overflow bool
}

// add adds n, written in digits, of a unit. n must not be above limit.
func (t *ticks) add(n string, unit, limit uint64) {
	if n == "" || strings.Trim(n, "0123456789") != "" {
		t.malformed = true
		return
	}
	count, err := strconv.ParseUint(n, 10, 64)
	switch {
	case err != nil || count > (maxTicks-t.sum)/unit:
		t.overflow = true
	case count > limit:
		t.malformed = true
	default:
		t.sum += count * unit
	}
}

// addMonths adds months, of which 12 are a year.
func (t *ticks) addMonths(n string) {
	count, err := strconv.ParseUint(n, 10, 32)
	if err != nil {
		t.add(n, perMonth, math.MaxUint64)
		return
	}
	t.add(strconv.FormatUint(count/12, 10), perYear, math.MaxUint64)
	t.add(strconv.FormatUint(count%12, 10), perMonth, math.MaxUint64)
}

// addSeconds adds seconds, with or without a fraction.
func (t *ticks) addSeconds(n string, limit uint64) {
	const digits = 7
	whole, fraction, ok := strings.Cut(n, ".")
	t.add(whole, perSecond, limit)
	if !ok {
		return
	}
	if fraction == "" || strings.Trim(fraction, "0123456789") != "" {
		t.malformed = true
		return
	}
	fraction += strings.Repeat("0", digits)
	t.add(fraction[:digits], 1, math.MaxUint64)
	if fraction[digits] >= '5' {
		t.add("1", 1, math.MaxUint64)
	}
}

// addTimeSpan adds [d.]hh:mm[:ss[.f]].
func (t *ticks) addTimeSpan(s string) {
	hours, rest, _ := strings.Cut(s, ":")
	if days, h, ok := strings.Cut(hours, "."); ok {
		t.add(days, perDay, math.MaxUint64)
		hours = h
	}
	minutes, seconds, ok := strings.Cut(rest, ":")
	t.add(hours, perHour, 23)
	t.add(minutes, perMinute, 59) // a bare number, which .NET took for days, ends here
	if ok {
		t.addSeconds(seconds, 59)
	}
}

// addISO adds what follows the P of an ISO 8601 duration.
func (t *ticks) addISO(s string) {
	date, clock, timed := strings.Cut(s, "T")
	if date == "" && clock == "" || timed && clock == "" {
		t.malformed = true
	}
	for _, part := range []struct{ units, rest string }{{"YMWD", date}, {"DHMS", clock}} {
		units, rest := part.units, part.rest
		for rest != "" {
			end := strings.IndexAny(rest, units)
			if end < 0 {
				t.malformed = true
				return
			}
			n, unit := rest[:end], rest[end]
			rest = rest[end+1:]
			_, units, _ = strings.Cut(units, string(unit)) // each once, in order
			switch {
			case unit == 'Y':
				t.add(n, perYear, math.MaxUint64)
			case unit == 'M' && part.units[0] == 'Y':
				t.addMonths(n)
			case unit == 'W':
				t.add(n, 7*perDay, math.MaxUint64)
			case unit == 'D':
				t.add(n, perDay, math.MaxUint64)
			case unit == 'H':
				t.add(n, perHour, math.MaxUint64)
			case unit == 'M':
				t.add(n, perMinute, math.MaxUint64)
			default:
				t.addSeconds(n, math.MaxUint64)
			}
		}
	}
}
