package recur

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestNextAgreesWithOracle compares Next on random specs with a walk through
// every second or minute: at the anchor, and where the recurrence is later.
func TestNextAgreesWithOracle(t *testing.T) {
	const limit = 30
	r := seeded(2016)
	compiled, refused := 0, 0
	for range 200 {
		spec, anchor := randomSpec(r), randomAnchor(r)
		o := newOracle(spec, anchor)
		length := window(spec.Frequency)
		series, err := Compile(spec, anchor)
		if err != nil {
			refused++
			if found := o.walk(anchor, anchor.Add(length), 1); len(found) != 0 {
				t.Fatalf("Compile(%s, %s): %v, but it occurs at %v", show(spec), anchor, err, found[0])
			}
			continue
		}
		compiled++
		from := anchor.Add(-time.Hour)
		for range 2 {
			want := o.walk(from, from.Add(length), limit)
			got := collect(series, from, from.Add(length), limit)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s, anchor %s, from %s (-walk +Next):\n%s", show(spec), anchor, from, diff)
			}
			// Again, some occurrences or empty years later.
			later := anchor.AddDate(0, r.IntN(240), r.IntN(31)).Add(time.Duration(r.IntN(86_400_000)) * time.Millisecond)
			if next := series.Next(later); !next.IsZero() {
				from = next.Add(-length / 2)
			}
		}
	}
	if compiled < 150 || refused < 5 {
		t.Errorf("%d specs compiled and %d refused; the generator should draw more of each", compiled, refused)
	}
}

// TestNextAfterAnyInstant asks for occurrences after instants on, before and
// between them, in any zone.
func TestNextAfterAnyInstant(t *testing.T) {
	series := mustCompile(t, Spec{Frequency: Minute, Interval: 7, EndAt: at("2026-03-01T00:14:00Z")}, at("2026-03-01T00:00:00Z"))
	for _, tt := range []struct {
		name  string
		after time.Time
		want  time.Time
	}{
		{"zero time", time.Time{}, at("2026-03-01T00:00:00Z")},
		{"before the year 1", time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC), at("2026-03-01T00:00:00Z")},
		{"least time", time.Unix(-1<<63, 0), at("2026-03-01T00:00:00Z")},
		{"long before the anchor", at("1900-01-01T00:00:00Z"), at("2026-03-01T00:00:00Z")},
		{"a nanosecond before the anchor", at("2026-02-28T23:59:59.999999999Z"), at("2026-03-01T00:00:00Z")},
		{"the anchor", at("2026-03-01T00:00:00Z"), at("2026-03-01T00:07:00Z")},
		{"a nanosecond after the anchor", at("2026-03-01T00:00:00.000000001Z"), at("2026-03-01T00:07:00Z")},
		{"between, in another zone", at("2026-03-01T05:06:59.9999999+05:00"), at("2026-03-01T00:07:00Z")},
		{"the last but one", at("2026-03-01T00:07:00Z"), at("2026-03-01T00:14:00Z")},
		{"the last", at("2026-03-01T00:14:00Z"), time.Time{}},
		{"after the end", at("2030-01-01T00:00:00Z"), time.Time{}},
		{"beyond the calendar", time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC), time.Time{}},
		{"greatest time", time.Unix(1<<63-1, 0), time.Time{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := series.Next(tt.after); !got.Equal(tt.want) {
				t.Errorf("Next(%v) = %v, want %v", tt.after, got, tt.want)
			}
		})
	}
}

// TestNextReturnsUTC keeps callers from formatting another zone's time.
func TestNextReturnsUTC(t *testing.T) {
	series := mustCompile(t, Spec{Frequency: Day}, at("2026-03-01T01:00:00+05:00"))
	got := series.Next(time.Time{})
	if got.Location() != time.UTC || got != at("2026-02-28T20:00:00Z").UTC() {
		t.Errorf("Next = %v in %v, want 2026-02-28T20:00:00Z in UTC", got, got.Location())
	}
}

// TestAnchorIsRoundedUp: occurrences are whole milliseconds, none before the
// anchor.
func TestAnchorIsRoundedUp(t *testing.T) {
	for anchor, want := range map[string]string{
		"2026-03-01T00:00:00.123Z":       "2026-03-01T00:00:00.123Z",
		"2026-03-01T00:00:00.123000001Z": "2026-03-01T00:00:00.124Z",
		"2026-03-01T00:00:00.1234567Z":   "2026-03-01T00:00:00.124Z",
		"2026-12-31T23:59:59.9999999Z":   "2027-01-01T00:00:00Z",
		"1969-12-31T23:59:59.9991Z":      "1970-01-01T00:00:00Z",
		"1969-12-31T23:59:59.5Z":         "1969-12-31T23:59:59.5Z",
	} {
		for f := Second; f <= Year; f++ {
			for _, schedule := range []*Schedule{nil, {}} {
				series := mustCompile(t, Spec{Frequency: f, Schedule: schedule}, at(anchor))
				if got := series.Next(time.Time{}); !got.Equal(at(want)) {
					t.Errorf("first occurrence of a %v from %s, schedule %v = %v, want %s", f, anchor, schedule, got, want)
				}
			}
		}
	}
}

// TestCompileRefuses covers what Validate cannot judge.
func TestCompileRefuses(t *testing.T) {
	anchor := at("2026-03-10T09:30:00Z")
	for _, tt := range []struct {
		name   string
		spec   Spec
		anchor time.Time
		field  string
	}{
		{"an invalid spec", Spec{}, anchor, "recurrence.frequency"},
		{"no anchor", Spec{Frequency: Day}, time.Time{}, "startTime"},
		{"anchor before the year 1", Spec{Frequency: Day}, time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC), "startTime"},
		{"anchor after the year 9999", Spec{Frequency: Day}, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "startTime"},
		{"anchor that rounds up out of the calendar", Spec{Frequency: Day}, at("9999-12-31T23:59:59.9999Z"), "startTime"},
		{"end before the anchor", Spec{Frequency: Day, EndAt: at("2026-03-10T09:29:59.999999Z")}, anchor, "recurrence.endTime"},
		{"end long ago", Spec{Frequency: Day, EndAt: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)}, anchor, "recurrence.endTime"},
		{"end before the first time", Spec{Frequency: Day, Schedule: &Schedule{Hours: []int{8}}, EndAt: at("2026-03-11T08:00:00Z")}, anchor, "recurrence.endTime"},
		{"31 February", Spec{Frequency: Month, Schedule: &Schedule{Months: []int{2}, MonthDays: []int{30, 31, -30}}}, anchor, "recurrence.schedule"},
		{"31 February, and it ends", Spec{Frequency: Month, Schedule: &Schedule{Months: []int{2}, MonthDays: []int{31}}, EndAt: anchor}, anchor, "recurrence.schedule"},
		{"month never visited", Spec{Frequency: Month, Interval: 12, Schedule: &Schedule{Months: []int{2}}}, anchor, "recurrence.schedule"},
		{"every 18 months, neither visited", Spec{Frequency: Month, Interval: 18, Schedule: &Schedule{Months: []int{4}}}, anchor, "recurrence.schedule"},
		{"first Monday on the 8th", Spec{Frequency: Month, Schedule: &Schedule{
			MonthDays: []int{8}, MonthlyOccurrences: []MonthlyOccurrence{{time.Monday, 1}},
		}}, anchor, "recurrence.schedule"},
		{"fifth Monday on 28 February", Spec{Frequency: Month, Schedule: &Schedule{
			Months: []int{2}, MonthDays: []int{28}, MonthlyOccurrences: []MonthlyOccurrence{{time.Monday, 5}},
		}}, anchor, "recurrence.schedule"},
		{"hour never visited", Spec{Frequency: Hour, Interval: 24, Schedule: &Schedule{Hours: []int{10}}}, anchor, "recurrence.schedule"},
		{"hour never visited, common divisor", Spec{Frequency: Hour, Interval: 999, Schedule: &Schedule{Hours: []int{10}}}, anchor, "recurrence.schedule"},
		{"minute never visited", Spec{Frequency: Minute, Interval: 15, Schedule: &Schedule{Minutes: []int{20}}}, anchor, "recurrence.schedule"},
		{"minute never visited, common divisor", Spec{Frequency: Minute, Interval: 1000, Schedule: &Schedule{Hours: []int{3}, Minutes: []int{20}}}, anchor, "recurrence.schedule"},
		{"second never visited", Spec{Frequency: Second, Interval: 900, Schedule: &Schedule{Minutes: []int{20}}}, anchor, "recurrence.schedule"},
		{"only after the year 9999", Spec{Frequency: Day, Schedule: &Schedule{Months: []int{1}}}, at("9999-02-01T00:00:00Z"), "recurrence.schedule"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			series, err := Compile(tt.spec, tt.anchor)
			var fault *InvalidError
			if !errors.As(err, &fault) || series != nil {
				t.Fatalf("Compile = %v, %v, want an InvalidError", series, err)
			}
			if fault.Field != tt.field || fault.Reason == "" {
				t.Errorf("error is %q of %q, want one of %q", fault.Reason, fault.Field, tt.field)
			}
		})
	}
}

// TestCompileKeepsNothingOfItsSpec: the caller may change it afterwards.
func TestCompileKeepsNothingOfItsSpec(t *testing.T) {
	schedule := &Schedule{Hours: []int{5}, Minutes: []int{15}, MonthDays: []int{10}}
	series := mustCompile(t, Spec{Frequency: Month, Schedule: schedule}, at("2026-01-01T00:00:00Z"))
	schedule.Hours[0], schedule.Minutes[0], schedule.MonthDays[0] = 6, 16, 11
	if got, want := series.Next(time.Time{}), at("2026-01-10T05:15:00Z"); !got.Equal(want) {
		t.Errorf("Next = %v, want %v", got, want)
	}
}

// TestRareOccurrencesAreFound has gaps up to the longest of which the calendar
// and an interval are capable. Expected times follow from the calendar alone.
func TestRareOccurrencesAreFound(t *testing.T) {
	fifthMonday := []MonthlyOccurrence{{time.Monday, 5}}
	for _, tt := range []struct {
		name   string
		spec   Spec
		anchor string
		after  string
		want   []string
	}{
		{
			"29 February over the year 2100",
			Spec{Frequency: Month, Schedule: &Schedule{Months: []int{2}, MonthDays: []int{29}}},
			"2026-01-01T00:00:00Z", "2092-03-01T00:00:00Z",
			[]string{"2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"},
		},
		{
			"29 February every 17 months: a visit in 17 years, a leap year in 4",
			Spec{Frequency: Month, Interval: 17, Schedule: &Schedule{Months: []int{2}, MonthDays: []int{29}}},
			"2024-02-29T12:00:00Z", "2024-02-29T12:00:00Z",
			[]string{"2092-02-29T12:00:00Z", "2160-02-29T12:00:00Z"},
		},
		{
			"29 February that is a Monday, over 2100: 40 years",
			Spec{Frequency: Month, Schedule: &Schedule{Months: []int{2}, MonthlyOccurrences: fifthMonday}},
			"2026-01-01T00:00:00Z", "2064-01-01T00:00:00Z",
			[]string{"2072-02-29T00:00:00Z", "2112-02-29T00:00:00Z"}, // not 2100, which is no leap year
		},
		{
			"the last millisecond of the calendar",
			Spec{Frequency: Year, Schedule: &Schedule{Months: []int{12}}},
			"2026-12-31T23:59:59.999Z", "9998-12-31T23:59:59.999Z",
			[]string{"9999-12-31T23:59:59.999Z"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			series := mustCompile(t, tt.spec, at(tt.anchor))
			next := at(tt.after)
			for _, want := range tt.want {
				if next = series.Next(next); !next.Equal(at(want)) {
					t.Fatalf("Next = %v, want %s", next, want)
				}
			}
		})
	}
	t.Run("nothing after the calendar", func(t *testing.T) {
		for f := Second; f <= Year; f++ {
			for _, schedule := range []*Schedule{nil, {}, {Months: []int{12}, Hours: []int{23}, Minutes: []int{0, 59}}} {
				spec := Spec{Frequency: f, Schedule: schedule, EndAt: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)}
				series := mustCompile(t, spec, at("2026-12-31T23:59:00.001Z"))
				for _, after := range []string{"9999-12-31T23:59:59.998Z", "9999-12-31T23:59:59.999Z"} {
					if got := series.Next(at(after)); !got.IsZero() {
						t.Errorf("%v with %v: Next(%s) = %v, want none", f, schedule, after, got)
					}
				}
			}
		}
	})
}

// TestSlowDriftIsFollowed steps through the grid for centuries, which Next must
// not do but agree with: every 365 days, the grid wanders back through the year by
// a day in four years, so it leaves February for more than a thousand years.
func TestSlowDriftIsFollowed(t *testing.T) {
	for _, spec := range []Spec{
		{Frequency: Day, Interval: 365, Schedule: &Schedule{Months: []int{2}}},
		{Frequency: Day, Interval: 366, Schedule: &Schedule{Months: []int{2}}},
		{Frequency: Day, Interval: 548, Schedule: &Schedule{Months: []int{2}}},
		{Frequency: Week, Interval: 52, Schedule: &Schedule{Months: []int{2}, WeekDays: []time.Weekday{time.Sunday}}},
		{Frequency: Hour, Interval: 997, Schedule: &Schedule{Months: []int{2}, Hours: []int{3}}},
		{Frequency: Minute, Interval: 1000, Schedule: &Schedule{Months: []int{2}, Hours: []int{3}}},
		{Frequency: Minute, Interval: 997, Schedule: &Schedule{Months: []int{2}, Hours: []int{3}, Minutes: []int{20}}},
		{Frequency: Minute, Interval: 730, Schedule: &Schedule{Months: []int{2}, Hours: []int{3}, Minutes: []int{20}}},
		{Frequency: Second, Interval: 929, Schedule: &Schedule{Months: []int{2}, Hours: []int{3}, Minutes: []int{20}}},
	} {
		t.Run(show(spec), func(t *testing.T) {
			anchor := at("2026-01-25T03:10:00Z")
			o := newOracle(spec, anchor)
			series := mustCompile(t, spec, anchor)
			step := time.Duration(spec.Interval) * spec.Frequency.length()
			got := series.Next(time.Time{})
			walked := anchor
			if spec.Frequency == Week {
				walked = anchor.AddDate(0, 0, 6-int(anchor.Weekday()+6)%7) // the Sunday of that week
			}
			for range 4 {
				for !o.occurs(walked) {
					walked = walked.Add(step)
				}
				if !got.Equal(walked) {
					t.Fatalf("Next = %v, the walk finds %v", got, walked)
				}
				got, walked = series.Next(got), walked.Add(step)
				if got.IsZero() {
					return // beyond the calendar
				}
			}
		})
	}
}

// TestNextDoesNotAllocate holds for each pattern that Compile can choose.
func TestNextDoesNotAllocate(t *testing.T) {
	anchor := at("2026-01-31T10:20:30.456Z")
	for f := Second; f <= Year; f++ {
		for _, schedule := range []*Schedule{nil, {}, {Months: []int{2}, Hours: []int{5}, Minutes: []int{0, 30}}} {
			series := mustCompile(t, Spec{Frequency: f, Schedule: schedule}, anchor)
			after := anchor
			if n := testing.AllocsPerRun(100, func() { after = series.Next(after) }); n != 0 {
				t.Errorf("%v with schedule %v: %v allocations", f, schedule, n)
			}
		}
	}
}

// TestNextIsSafeForConcurrentUse is for the race detector.
func TestNextIsSafeForConcurrentUse(t *testing.T) {
	series := mustCompile(t, Spec{Frequency: Month, Schedule: &Schedule{MonthDays: []int{-1}}}, at("2026-01-01T00:00:00Z"))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if got := len(collect(series, at("2026-01-01T00:00:00Z"), at("2028-01-01T00:00:00Z"), 100)); got != 24 {
				t.Errorf("%d occurrences, want 24", got)
			}
		})
	}
	all.Wait()
}
