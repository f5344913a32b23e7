package recur

import (
	"testing"
	"time"
)

// TestDatesAgreeWithPackageTime goes through every day of the calendar.
func TestDatesAgreeWithPackageTime(t *testing.T) {
	days := 0
	for date := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC); date.Year() < 10000; date = date.Add(24 * time.Hour) {
		month, dayOfMonth := monthOf(days)
		if month/12+1 != date.Year() || month%12+1 != int(date.Month()) || dayOfMonth != date.Day() {
			t.Fatalf("monthOf(%d) = %d, %d, want those of %v", days, month, dayOfMonth, date)
		}
		if weekdayOf(days) != date.Weekday() {
			t.Fatalf("weekdayOf(%d) = %v, want %v", days, weekdayOf(days), date.Weekday())
		}
		if dayOfMonth == 1 {
			if firstDay(month) != days || monthLength(month) != lengthOfMonth(date) {
				t.Fatalf("month %d begins on day %d and has %d, want %d and %d", month, firstDay(month), monthLength(month), days, lengthOfMonth(date))
			}
			if got := timeOf(startOf(days)); !got.Equal(date) || floor(date) != startOf(days) {
				t.Fatalf("day %d begins at %v, want %v", days, got, date)
			}
		}
		days++
	}
	if days-1 != lastDay || firstDay(lastMonth+1)-1 != lastDay {
		t.Errorf("the last day is %d, want %d", lastDay, days-1)
	}
}

// TestInstants reads times at the edges of what an instant can be.
func TestInstants(t *testing.T) {
	for text, want := range map[string]int64{
		"0001-01-01T00:00:00Z":             0,
		"0001-01-01T00:00:00.0019Z":        1,
		"0000-12-31T23:59:59.9999Z":        -1,
		"1969-12-31T23:59:59.9999Z":        unixEpoch*msPerSecond - 1,
		"1970-01-01T00:00:00.001Z":         unixEpoch*msPerSecond + 1,
		"9999-12-31T23:59:59.999999999Z":   horizon,
		"9999-12-31T23:59:59.999999-23:59": never,
	} {
		if got := floor(at(text)); got != want {
			t.Errorf("floor(%s) = %d, want %d", text, got, want)
		}
	}
}

// TestRing compares the search through words with one through elements.
func TestRing(t *testing.T) {
	d := seeded(7)
	for _, size := range []int{1, 24, 63, 64, 65, 128, 1440} {
		for fill := range 5 {
			r := ring{size: size}
			elements := map[int]bool{}
			for range fill {
				i := d.IntN(size)
				r.add(i)
				elements[i] = true
			}
			for i := range 2 * size {
				want := 0
				for want < size && !elements[(i+want)%size] {
					want++
				}
				got, ok := r.from(i)
				if ok != (len(elements) > 0) || ok && got != want || r.has(i) != elements[i%size] {
					t.Fatalf("size %d, elements %v: from(%d) = %d, %t, want %d; has = %t", size, elements, i, got, ok, want, r.has(i))
				}
			}
		}
	}
}
