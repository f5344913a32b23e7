package recur

import (
	"math"
	"testing"
	"time"
)

func TestFastest(t *testing.T) {
	const day = 24 * time.Hour
	fifthMonday := []MonthlyOccurrence{{time.Monday, 5}}
	for _, tt := range []struct {
		name string
		spec Spec
		want time.Duration
	}{
		{"second", Spec{Frequency: Second}, time.Second},
		{"90 seconds", Spec{Frequency: Second, Interval: 90}, 90 * time.Second},
		{"15 minutes", Spec{Frequency: Minute, Interval: 15}, 15 * time.Minute},
		{"hour", Spec{Frequency: Hour}, time.Hour},
		{"548 days", Spec{Frequency: Day, Interval: 548}, 548 * day},
		{"2 weeks", Spec{Frequency: Week, Interval: 2}, 14 * day},
		{"month: the shortest", Spec{Frequency: Month}, 28 * day},
		{"2 months: February and March", Spec{Frequency: Month, Interval: 2}, 59 * day},
		{"3 months: February to April", Spec{Frequency: Month, Interval: 3}, 89 * day},
		{"12 months", Spec{Frequency: Month, Interval: 12}, 365 * day},
		{"18 months", Spec{Frequency: Month, Interval: 18}, (365 + 181) * day},
		{"year", Spec{Frequency: Year}, 365 * day},

		{"every 15 minutes of the day", Spec{Frequency: Day, Schedule: &Schedule{Minutes: []int{0, 15, 30, 45}}}, 15 * time.Minute},
		{"5 and 17", Spec{Frequency: Day, Schedule: &Schedule{Hours: []int{5, 17}}}, 12 * time.Hour},
		{"0 and 23: over midnight", Spec{Frequency: Day, Schedule: &Schedule{Hours: []int{0, 23}}}, time.Hour},
		{"24 is 0", Spec{Frequency: Day, Schedule: &Schedule{Hours: []int{24, 23}}}, time.Hour},
		{"0 and 23 every second day", Spec{Frequency: Day, Interval: 2, Schedule: &Schedule{Hours: []int{0, 23}}}, 23 * time.Hour},
		{"minutes 0 and 59 of neighbouring hours", Spec{Frequency: Day, Schedule: &Schedule{Hours: []int{4, 5}, Minutes: []int{0, 59}}}, time.Minute},
		{"minutes 0 and 59 of distant hours", Spec{Frequency: Day, Schedule: &Schedule{Hours: []int{4, 6}, Minutes: []int{0, 59}}}, 59 * time.Minute},
		{"once a day, duplicates", Spec{Frequency: Day, Schedule: &Schedule{Hours: []int{4, 4}, Minutes: []int{7, 7}}}, day},
		{"every 5 hours, two minutes", Spec{Frequency: Hour, Interval: 5, Schedule: &Schedule{Minutes: []int{0, 50}}}, 50 * time.Minute},
		{"every 2 hours, two minutes far apart", Spec{Frequency: Hour, Interval: 1, Schedule: &Schedule{Minutes: []int{0, 50}}}, 10 * time.Minute},
		{"every 5 hours, hours filter", Spec{Frequency: Hour, Interval: 5, Schedule: &Schedule{Hours: []int{3, 8, 9}}}, 5 * time.Hour},
		{"every 5 hours, hours filter more", Spec{Frequency: Hour, Interval: 5, Schedule: &Schedule{Hours: []int{3, 9}}}, 30 * time.Hour},
		{"every 30 minutes on the hour", Spec{Frequency: Minute, Interval: 30, Schedule: &Schedule{Minutes: []int{0}}}, time.Hour},
		{"every minute of an hour", Spec{Frequency: Minute, Schedule: &Schedule{Hours: []int{5}}}, time.Minute},
		{"every minute, but one an hour", Spec{Frequency: Minute, Schedule: &Schedule{Minutes: []int{7}}}, time.Hour},
		{"every minute, but one a day", Spec{Frequency: Minute, Schedule: &Schedule{Hours: []int{5}, Minutes: []int{7}}}, day},
		{"every 1000 minutes, one a day", Spec{Frequency: Minute, Interval: 1000, Schedule: &Schedule{Hours: []int{5}, Minutes: []int{7}}}, 25 * day},
		{"every 20 seconds of a minute", Spec{Frequency: Second, Interval: 20, Schedule: &Schedule{Minutes: []int{7}}}, 20 * time.Second},
		{"every 60 seconds, one minute an hour", Spec{Frequency: Second, Interval: 60, Schedule: &Schedule{Minutes: []int{7}}}, time.Hour},
		{"every 700 seconds, one minute an hour", Spec{Frequency: Second, Interval: 700, Schedule: &Schedule{Minutes: []int{7}}}, 7 * time.Hour},
		{"every 1000 seconds, one minute a day", Spec{Frequency: Second, Interval: 1000, Schedule: &Schedule{Hours: []int{5}, Minutes: []int{7}}}, 5 * day},

		{"a day of the week, twice", Spec{Frequency: Week, Schedule: &Schedule{WeekDays: []time.Weekday{1, 1}}}, 7 * day},
		{"Saturday and Sunday", Spec{Frequency: Week, Interval: 2, Schedule: &Schedule{WeekDays: []time.Weekday{0, 6}}}, day},
		{"Sunday and Monday are neighbours", Spec{Frequency: Week, Schedule: &Schedule{WeekDays: []time.Weekday{0, 1}}}, day},
		{"but not every second week", Spec{Frequency: Week, Interval: 2, Schedule: &Schedule{WeekDays: []time.Weekday{0, 1}}}, 6 * day},
		{"the anchor's weekday, two hours", Spec{Frequency: Week, Schedule: &Schedule{Hours: []int{1, 2}}}, time.Hour},
		{"the first and the last of the month", Spec{Frequency: Month, Schedule: &Schedule{MonthDays: []int{1, -1}}}, day},
		{"the same of every second month", Spec{Frequency: Month, Interval: 2, Schedule: &Schedule{MonthDays: []int{1, -1}}}, 27 * day},
		{"the last and the 28th, two hours", Spec{Frequency: Month, Schedule: &Schedule{MonthDays: []int{28, -1}, Hours: []int{0, 22}}}, 2 * time.Hour},
		{"the 31st", Spec{Frequency: Month, Schedule: &Schedule{MonthDays: []int{31}}}, 31 * day},
		{"the 31st of two months", Spec{Frequency: Month, Schedule: &Schedule{Months: []int{1, 3}, MonthDays: []int{31}}}, 59 * day},
		{"the first Friday", Spec{Frequency: Month, Schedule: &Schedule{MonthlyOccurrences: []MonthlyOccurrence{{time.Friday, 1}}}}, 28 * day},
		{"the fifth Friday", Spec{Frequency: Month, Schedule: &Schedule{MonthlyOccurrences: []MonthlyOccurrence{{time.Friday, 5}}}}, 63 * day}, // 29 March to 31 May
		{"the anchor's day", Spec{Frequency: Month, Schedule: &Schedule{Hours: []int{5}}}, 28 * day},
		{"the anchor's day in February and March", Spec{Frequency: Year, Schedule: &Schedule{Months: []int{2, 3}}}, 28 * day},
		{"the anchor's day in January and February: the 31st, clamped", Spec{Frequency: Year, Schedule: &Schedule{Months: []int{1, 2}}}, 28 * day},
		{"the anchor's day in January and March", Spec{Frequency: Year, Schedule: &Schedule{Months: []int{1, 3}}}, 59 * day},
		{"the anchor's day once a year", Spec{Frequency: Year, Schedule: &Schedule{Hours: []int{5, 6}}}, time.Hour},
		{"29 February", Spec{Frequency: Month, Schedule: &Schedule{Months: []int{2}, MonthDays: []int{29}}}, 1461 * day},
		{"29 February, a Monday, every 11 months: the longest", Spec{Frequency: Month, Interval: 11, Schedule: &Schedule{Months: []int{2}, MonthlyOccurrences: fifthMonday}}, 80353 * day},
		{"the anchor's day in February, every 5 months, over 1900", Spec{Frequency: Month, Interval: 5, Schedule: &Schedule{Months: []int{2}}}, 5 * 365 * day},

		{"Months is not looked at above 27 days", Spec{Frequency: Day, Interval: 40, Schedule: &Schedule{Months: []int{1}}}, 40 * day},
		{"Count and EndAt are not", Spec{Frequency: Day, Count: 1, EndAt: time.Unix(1, 0)}, day},
		{"never", Spec{Frequency: Month, Schedule: &Schedule{Months: []int{2}, MonthDays: []int{30}, Hours: []int{1, 2}}}, math.MaxInt64},
		{"invalid", Spec{Frequency: Day, Interval: -1}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.spec.Fastest(); got != tt.want {
				t.Errorf("Fastest of %s = %v, want %v", show(tt.spec), got, tt.want)
			}
		})
	}
}

// TestFastestIsNeverTooLong looks for a shorter gap than Fastest claims, in random
// series; and for one as short, where it claims to be exact.
func TestFastestIsNeverTooLong(t *testing.T) {
	r := seeded(3)
	attained, exact := 0, 0
	for range 300 {
		spec := randomSpec(r)
		claimed := spec.Fastest()
		least := time.Duration(math.MaxInt64)
		for range 40 {
			anchor := randomAnchor(r)
			series, err := Compile(spec, anchor)
			if err != nil {
				continue
			}
			last := series.Next(anchor.AddDate(0, r.IntN(100), 0))
			for range 60 {
				next := series.Next(last)
				if next.IsZero() {
					break
				}
				least = min(least, next.Sub(last))
				last = next
			}
		}
		if least < claimed {
			t.Fatalf("Fastest of %s = %v, but there is a gap of %v", show(spec), claimed, least)
		}
		if claimed <= 27*24*time.Hour {
			exact++
			if least == claimed {
				attained++
			}
		}
	}
	// Some gaps are as short only from a rare anchor.
	if attained*100 < exact*95 {
		t.Errorf("%d of %d gaps attained, want almost all", attained, exact)
	}
	t.Logf("%d of %d gaps attained", attained, exact)
}
