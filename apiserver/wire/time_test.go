package wire

import (
	"strings"
	"testing"
	"time"
)

// AZURE §2: "Times: UTC, Z, 0–7 fraction digits with trailing zeros trimmed. In:
// RFC 3339 with any offset; no offset means UTC; no seconds and date only are
// accepted; more than 7 digits are rounded".
func TestParseTime(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"2016-04-04T00:00:00Z", "2016-04-04T00:00:00Z"},
		{"2016-04-04t00:00:00z", "2016-04-04T00:00:00Z"},
		{"2016-04-04 00:00:00Z", "2016-04-04T00:00:00Z"},
		{" 2007-03-01T14:00:00Z ", "2007-03-01T14:00:00Z"}, // so in the documentation
		{"2016-04-04T02:30:00+02:30", "2016-04-04T00:00:00Z"},
		{"2016-04-03T16:00:00-08:00", "2016-04-04T00:00:00Z"},
		{"2016-04-04T01:02:03", "2016-04-04T01:02:03Z"},
		{"2012-08-04T00:00Z", "2012-08-04T00:00:00Z"},
		{"2012-08-04T10:20", "2012-08-04T10:20:00Z"},
		{"2012-08-04T10:20+01:00", "2012-08-04T09:20:00Z"},
		{"2012-11-04", "2012-11-04T00:00:00Z"},
		{"2016-03-30T20:40:55.469507Z", "2016-03-30T20:40:55.469507Z"},
		{"2016-03-30T20:40:55.4695070Z", "2016-03-30T20:40:55.469507Z"},
		{"2016-03-30T20:40:55.0000000Z", "2016-03-30T20:40:55Z"},
		{"2016-03-30T20:40:55.1234567Z", "2016-03-30T20:40:55.1234567Z"},
		{"2016-03-30T20:40:55.12345674Z", "2016-03-30T20:40:55.1234567Z"},
		{"2016-03-30T20:40:55.12345675Z", "2016-03-30T20:40:55.1234568Z"},
		{"2016-12-31T23:59:59.99999996Z", "2017-01-01T00:00:00Z"},
		{"2016-03-30T20:40:55.1234567890123456Z", "2016-03-30T20:40:55.1234568Z"},
		{"0001-01-01T00:00:00.0000001Z", "0001-01-01T00:00:00.0000001Z"},
		{"9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.9999999Z"},
		{"2016-02-29", "2016-02-29T00:00:00Z"},
	} {
		got, err := ParseTime(c.in)
		if err != nil {
			t.Errorf("ParseTime(%q): %v", c.in, err)
		} else if s := FormatTime(got); s != c.want || got.Location() != time.UTC {
			t.Errorf("ParseTime(%q) = %s in %v, want %s in UTC", c.in, s, got.Location(), c.want)
		}
	}
}

func TestParseTimeRefuses(t *testing.T) {
	for _, c := range []struct{ in, reason string }{
		{"", "must be a time"},
		{"now", "must be a time"},
		{"2016-04-04T", "must be a time"},
		{"2016-04-04T5:00:00Z", "must be a time"},
		{"2016-4-4", "must be a time"},
		{"16-04-04", "must be a time"},
		{"2016-02-30", "must be a time"},
		{"2015-02-29T00:00:00Z", "must be a time"},
		{"2016-04-04T24:00:00Z", "must be a time"},
		{"2016-04-04T00:60:00Z", "must be a time"},
		{"2016-04-04T00:00:60Z", "must be a time"},
		{"2016-04-04T00:00:00+99:00", "must be a time"},
		{"2016-04-04T00:00:00 PST", "must be a time"},
		{"2016-04-04T00:00:00Z\x00", "must be a time"},
		{"0000-12-31T23:59:59Z", "years 1 to 9999"},
		{"0001-01-01T00:00:00Z", "years 1 to 9999"}, // DateTime.MinValue
		{"0001-01-01T00:00:00+14:00", "years 1 to 9999"},
		{"9999-12-31T23:59:59-00:01", "years 1 to 9999"},
		{"9999-12-31T23:59:59.99999999Z", "years 1 to 9999"},
		{"10000-01-01T00:00:00Z", "must be a time"},
	} {
		got, err := ParseTime(c.in)
		if err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("ParseTime(%q) = %v, %v; want an error with %q", c.in, got, err, c.reason)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"2016-04-04T00:00:00Z", "2012-08-04T10:20+01:00", "2012-11-04", "9999-12-31T23:59:59.9999999Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		first, err := ParseTime(s)
		if err != nil {
			return
		}
		again, err := ParseTime(FormatTime(first))
		if err != nil || !again.Equal(first) {
			t.Errorf("%q: %v, read back %v, %v", s, first, again, err)
		}
	})
}
