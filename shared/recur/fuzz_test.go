package recur

import (
	"errors"
	"testing"
	"time"
)

// FuzzNext draws a Spec from the bytes and holds a few results against the
// oracle: they increase, each occurs, and a walk through the time just before
// each, and just after the instant asked about, finds no other.
func FuzzNext(f *testing.F) {
	f.Add([]byte{}, int64(0), int64(0))
	f.Add([]byte{0, 1, 0, 3, 3, 0xe7, 0, 1, 0, 0, 0, 3}, int64(1_767_264_133_500), int64(-5))
	f.Add([]byte("a month's last Friday, if it is the 31st"), int64(1_769_853_733_000), int64(1<<40))
	f.Add([]byte("\x00\x04\x00\x01\x00\x01\x00\x01"), int64(951_782_400_000), int64(86_400_000))
	f.Fuzz(func(t *testing.T, data []byte, anchorMs, offsetMs int64) {
		const century = 100 * 365 * 86_400_000
		bytes := fuzzBytes(data)
		spec := randomSpec(&bytes)
		anchor := time.UnixMilli(anchorMs % century).Add(time.Duration(bytes.IntN(1_000_000)))
		series, err := Compile(spec, anchor)
		if err != nil {
			return
		}
		o := newOracle(spec, anchor)
		last := anchor.Add(time.Duration(offsetMs%century) * time.Millisecond)
		for range 4 {
			next := series.Next(last)
			if next.IsZero() {
				t.Fatalf("%s, anchor %s: no occurrence after %s", show(spec), anchor, last)
			}
			if !next.After(last) || next.Before(anchor) || !o.occurs(next) {
				t.Fatalf("%s, anchor %s: Next(%s) = %s", show(spec), anchor, last, next)
			}
			after := last.Truncate(time.Millisecond).Add(time.Millisecond)
			if after.Before(anchor) {
				after = o.anchor
			}
			near := 26 * time.Hour
			if spec.Frequency < Day {
				near = 2 * time.Hour
			}
			for _, from := range []time.Time{after, next.Add(-near)} {
				if from.Before(after) {
					from = after
				}
				to := from.Add(near)
				if next.Before(to) {
					to = next
				}
				if skipped := o.walk(from, to, 1); len(skipped) != 0 {
					t.Fatalf("%s, anchor %s: Next(%s) = %s, but it occurs at %s", show(spec), anchor, last, next, skipped[0])
				}
			}
			last = next
		}
	})
}

// FuzzCompile feeds what no user could write, too: nothing panics or hangs, every
// error is an InvalidError, and whatever compiles occurs.
func FuzzCompile(f *testing.F) {
	f.Add(uint8(4), 0, 0, 0, 0, 0, 0, 0, int64(0), int64(0))
	f.Add(uint8(6), 18, 1, 2, -31, -5, 24, 59, int64(1<<40), int64(1<<41))
	f.Add(uint8(1), 1000, -1, 13, 32, 6, 25, 60, int64(-1<<62), int64(1<<62))
	f.Fuzz(func(t *testing.T, frequency uint8, interval, count, month, day, occurrence, hour, minute int, anchor, end int64) {
		spec := Spec{Frequency: Frequency(frequency), Interval: interval, Count: count, EndAt: time.Unix(end, 0), Schedule: &Schedule{
			Months: []int{month}, Hours: []int{hour}, Minutes: []int{minute},
		}}
		switch spec.Frequency {
		case Week:
			spec.Schedule.WeekDays = []time.Weekday{time.Weekday(day)}
		case Month:
			spec.Schedule.MonthDays = []int{day}
			spec.Schedule.MonthlyOccurrences = []MonthlyOccurrence{{time.Weekday(day), occurrence}}
		default:
		}
		if fastest := spec.Fastest(); fastest < 0 || (fastest == 0) != (spec.Validate() != nil) {
			t.Errorf("Fastest of %s = %v", show(spec), fastest)
		}
		series, err := Compile(spec, time.Unix(anchor, 0))
		var fault *InvalidError
		if err != nil {
			if !errors.As(err, &fault) || fault.Field == "" || fault.Reason == "" {
				t.Errorf("Compile(%s): %v, want an InvalidError", show(spec), err)
			}
			return
		}
		if first := series.Next(time.Time{}); first.IsZero() || first.After(spec.EndAt) {
			t.Errorf("%s from %s: the first occurrence is %s", show(spec), time.Unix(anchor, 0), first)
		}
	})
}
