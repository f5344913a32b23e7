package recur

import (
	"testing"
	"time"
)

// BenchmarkNext walks along the occurrences of the kinds of recurrence that
// there are, "rare" being 29 February. The "farthest" always ask for the same
// one: they are the slowest that a search through all intervals found.
func BenchmarkNext(b *testing.B) {
	anchor := at("2026-01-25T03:10:00Z")
	for _, bb := range []struct {
		name string
		spec Spec
	}{
		{"simple", Spec{Frequency: Minute, Interval: 5}},
		{"month", Spec{Frequency: Month}},
		{"daily", Spec{Frequency: Day, Schedule: &Schedule{Hours: []int{5, 17}, Minutes: []int{15, 45}}}},
		{"weekly", Spec{Frequency: Week, Schedule: &Schedule{
			Hours: []int{9, 17}, Minutes: []int{0, 30}, WeekDays: []time.Weekday{time.Monday, time.Wednesday, time.Friday},
		}}},
		{"monthDays", Spec{Frequency: Month, Schedule: &Schedule{MonthDays: []int{1, -1}}}},
		{"monthlyOccurrence", Spec{Frequency: Month, Schedule: &Schedule{MonthlyOccurrences: []MonthlyOccurrence{{time.Friday, -1}}}}},
		{"secondsOfAnHour", Spec{Frequency: Second, Schedule: &Schedule{Hours: []int{5}}}},
		{"minutesOfAnHour", Spec{Frequency: Minute, Schedule: &Schedule{Hours: []int{5}, Months: []int{2}}}},
		{"rare", Spec{Frequency: Month, Schedule: &Schedule{Months: []int{2}, MonthDays: []int{29}}}},
		{"rareInterval", Spec{Frequency: Minute, Interval: 1000, Schedule: &Schedule{Hours: []int{3}, Months: []int{2}}}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			series := mustCompile(b, bb.spec, anchor)
			t := anchor
			b.ReportAllocs()
			for b.Loop() {
				if t = series.Next(t); t.Year() > 9000 {
					t = anchor
				}
			}
		})
	}
	for _, bb := range []struct {
		name string
		spec Spec
	}{
		{"farthestSecond", Spec{Frequency: Second, Interval: 626, Schedule: &Schedule{Months: []int{2}, Hours: []int{3}, Minutes: []int{20}}}}, // 2232
		{"farthestDay", Spec{Frequency: Day, Interval: 365, Schedule: &Schedule{Months: []int{2}}}},                                            // 3388
	} {
		b.Run(bb.name, func(b *testing.B) {
			series := mustCompile(b, bb.spec, anchor)
			b.ReportAllocs()
			for b.Loop() {
				series.Next(anchor)
			}
		})
	}
}

// BenchmarkCompile includes a schedule that never comes true, which takes the
// whole search to find out.
func BenchmarkCompile(b *testing.B) {
	anchor := at("2026-01-25T03:10:00Z")
	for _, bb := range []struct {
		name string
		spec Spec
	}{
		{"simple", Spec{Frequency: Minute, Interval: 5}},
		{"monthDays", Spec{Frequency: Month, Schedule: &Schedule{MonthDays: []int{1, -1}}}},
		{"minutes", Spec{Frequency: Minute, Schedule: &Schedule{Hours: []int{5}}}},
		{"never", Spec{Frequency: Month, Schedule: &Schedule{Months: []int{2}, MonthDays: []int{30}}}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Compile(bb.spec, anchor)
			}
		})
	}
}

func BenchmarkFastest(b *testing.B) {
	for _, bb := range []struct {
		name string
		spec Spec
	}{
		{"simple", Spec{Frequency: Minute, Interval: 5}},
		{"daily", Spec{Frequency: Day, Schedule: &Schedule{Hours: []int{5, 17}}}},
		{"monthly", Spec{Frequency: Month}},
		{"filtered", Spec{Frequency: Minute, Interval: 997, Schedule: &Schedule{Hours: []int{3}, Minutes: []int{20}}}},
		{"filteredSeconds", Spec{Frequency: Second, Interval: 997, Schedule: &Schedule{Hours: []int{3}, Minutes: []int{20}}}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bb.spec.Fastest()
			}
		})
	}
}
