package queue

import (
	"testing"
	"time"
)

// TestPulse: a process that was halted for longer than the broker waits takes what
// waited for it meanwhile for given to others, until that has passed.
func TestPulse(t *testing.T) {
	const wait = 9 * time.Second
	began := time.Now()
	at := func(s int) time.Time { return began.Add(time.Duration(s) * time.Second) }
	var p pulse
	expect := func(s int, want bool) {
		t.Helper()
		if p.missed(at(s), wait) != want {
			t.Errorf("at %d s: missed is %v", s, !want)
		}
	}
	expect(0, false)
	for s := 0; s <= 9; s += 3 {
		p.beat(at(s), wait)
		expect(s, false)
		expect(s+3, false)
	}
	expect(20, true) // halted from 9 to 20; nothing beats yet
	p.beat(at(20), wait)
	expect(21, true)
	p.beat(at(23), wait)
	expect(28, true)
	p.beat(at(26), wait)
	p.beat(at(29), wait)
	expect(30, false)
}
