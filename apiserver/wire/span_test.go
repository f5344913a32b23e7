package wire

import (
	"math"
	"strings"
	"testing"
	"time"
)

// AZURE §2: "answer the .NET TimeSpan [d.]hh:mm:ss (00:00:30, 30.00:00:00);
// accept that and ISO 8601 (PT30S, P1D, the documentation's mistaken PT1D,
// P18M)".
func TestParseSpan(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"00:00:30", "00:00:30"},
		{"30.00:00:00", "30.00:00:00"},
		{"1.12:30:15", "1.12:30:15"},
		{"1:00", "01:00:00"},
		{"23:59:59", "23:59:59"},
		{"0:0:0", "00:00:00"},
		{" 00:01:00 ", "00:01:00"},
		{"00:00:00.5", "00:00:00.5000000"},
		{"00:00:00.1234567", "00:00:00.1234567"},
		{"00:00:00.12345674", "00:00:00.1234567"},
		{"00:00:00.12345675", "00:00:00.1234568"},
		{"00:00:59.99999999", "00:01:00"},
		{"PT30S", "00:00:30"},
		{"pt30s", "00:00:30"},
		{"PT0.5S", "00:00:00.5000000"},
		{"PT1M", "00:01:00"},
		{"PT90M", "01:30:00"},
		{"PT1H30M5S", "01:30:05"},
		{"PT0S", "00:00:00"},
		{"P1D", "1.00:00:00"},
		{"PT1D", "1.00:00:00"},
		{"P1DT12H", "1.12:00:00"},
		{"P2W", "14.00:00:00"},
		{"PT36H", "1.12:00:00"},
		// Years and months as XmlConvert.ToTimeSpan: 365 and 30 days, and 12
		// months make a year.
		{"P1M", "30.00:00:00"},
		{"P11M", "330.00:00:00"},
		{"P12M", "365.00:00:00"},
		{"P1Y", "365.00:00:00"},
		{"P18M", "545.00:00:00"},
		{"P1Y6M", "545.00:00:00"},
		{"P1M1DT1M", "31.00:01:00"},
		{"106751.23:47:16.8547758", "106751.23:47:16.8547758"}, // the longest Duration, in ticks
	} {
		got, err := ParseSpan(c.in)
		if err != nil {
			t.Errorf("ParseSpan(%q): %v", c.in, err)
		} else if s := FormatSpan(got); s != c.want {
			t.Errorf("ParseSpan(%q) = %s, want %s", c.in, s, c.want)
		}
	}
}

func TestParseSpanRefuses(t *testing.T) {
	for _, c := range []struct{ in, reason string }{
		{"", "must be a span"},
		{"30", "must be a span"}, // days, to .NET
		{"1.00", "must be a span"},
		{"x", "must be a span"},
		{"24:00:00", "must be a span"},
		{"00:60:00", "must be a span"},
		{"00:00:60", "must be a span"},
		{"00:00:00.", "must be a span"},
		{"00:00:00.x", "must be a span"},
		{"00:00:", "must be a span"},
		{"00::00", "must be a span"},
		{"1.1.00:00:00", "must be a span"},
		{"00:00:00:00", "must be a span"},
		{"+00:00:30", "must be a span"},
		{"P", "must be a span"},
		{"PT", "must be a span"},
		{"P1DT", "must be a span"},
		{"P1", "must be a span"},
		{"PT1", "must be a span"},
		{"PS", "must be a span"},
		{"PTS", "must be a span"},
		{"P1S", "must be a span"},
		{"PT1Y", "must be a span"},
		{"PT1S1M", "must be a span"},
		{"PT1S1S", "must be a span"},
		{"P1D1M", "must be a span"},
		{"PT1.5H", "must be a span"},
		{"P1M ", ""}, // only trimmed
		{"PT-1S", "must be a span"},
		{"-00:00:30", "must not be negative"},
		{"-PT30S", "must not be negative"},
		{"P293Y", "292 years"},
		{"P99999999999999999999Y", "292 years"},
		{"P99999999999999999999M", "292 years"},
		{"PT9223372037S", "292 years"},
		{"PT99999999999999999999S", "292 years"},
		{"106751.23:47:16.8547759", "292 years"},
		{"99999999.00:00:00", "292 years"},
	} {
		got, err := ParseSpan(c.in)
		if c.reason == "" {
			if err != nil {
				t.Errorf("ParseSpan(%q): %v", c.in, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("ParseSpan(%q) = %v, %v; want an error with %q", c.in, got, err, c.reason)
		}
	}
}

func TestFormatSpan(t *testing.T) {
	for _, c := range []struct {
		in   time.Duration
		want string
	}{
		{0, "00:00:00"},
		{49, "00:00:00"},
		{50, "00:00:00.0000001"},
		{time.Millisecond, "00:00:00.0010000"},
		{90 * time.Minute, "01:30:00"},
		{25 * time.Hour, "1.01:00:00"},
		{-time.Minute, "-00:01:00"},
		{math.MaxInt64, "106751.23:47:16.8547758"},
		{math.MinInt64, "-106751.23:47:16.8547758"},
	} {
		if got := FormatSpan(c.in); got != c.want {
			t.Errorf("FormatSpan(%d) = %s, want %s", c.in, got, c.want)
		}
	}
}

func FuzzParseSpan(f *testing.F) {
	for _, s := range []string{"00:00:30", "30.00:00:00", "00:00:00.12345675", "PT1H30M5.5S", "P18M", "PT1D", "P1Y2M3W4DT5H"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		first, err := ParseSpan(s)
		if err != nil {
			return
		}
		again, err := ParseSpan(FormatSpan(first))
		if err != nil || again != first || first < 0 {
			t.Errorf("%q: %v, read back %v, %v", s, first, again, err)
		}
	})
}
