package store

import (
	"slices"
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	type reading struct {
		trip  time.Duration
		shown time.Duration // by redis's clock, in the middle of the trip, more than by the local one
	}
	const ms, hour = time.Millisecond, time.Hour
	for _, tt := range []struct {
		name     string
		readings []reading
		want     time.Duration
	}{
		{"none", nil, 0},
		{"one", []reading{{2 * ms, hour}}, hour},
		{"behind", []reading{{2 * ms, -hour}}, -hour},
		{"the shortest trip counts", []reading{{20 * ms, hour + 9*ms}, {2 * ms, hour}, {20 * ms, hour - 9*ms}}, hour},
		{"for a while", append([]reading{{ms, hour}, {2 * ms, hour + ms}}, slices.Repeat([]reading{{3 * ms, hour}}, 7)...), hour + ms},
		{"a clock that was set", []reading{{ms, hour}, {9 * ms, 2 * hour}}, 2 * hour},
		{"a clock that was set back", []reading{{ms, hour}, {ms, hour}, {9 * ms, hour - 20*ms}, {10 * ms, hour - 21*ms}}, hour - 20*ms},
		{"a slow answer", []reading{{ms, hour}, {2 * time.Second, hour + 999*ms}}, hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s Store
			sent := began
			for _, r := range tt.readings {
				s.clock.measured(sent, sent.Add(r.trip), sent.Add(r.trip/2+r.shown))
				sent = sent.Add(time.Second)
			}
			if got := s.Offset(); got != tt.want {
				t.Errorf("offset = %v, want %v", got, tt.want)
			}
			if d := time.Until(s.Now()) - tt.want; d.Abs() > time.Second {
				t.Errorf("now is off by %v", d)
			}
		})
	}
}
