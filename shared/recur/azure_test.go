package recur

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The tests of this file hold the package against AZURE.md §6, one sentence
// each, cited above the test. Where it says "now", the planner asks for the
// first occurrence that is not before now: Next of the instant before.

// expect checks the first occurrences after t. Times may leave out ":00Z".
func expect(t *testing.T, s Spec, anchor, after string, want ...string) {
	t.Helper()
	series := mustCompile(t, s, at(anchor))
	var got []string
	next := at(after)
	for range want {
		next = series.Next(next)
		got = append(got, next.Format(time.RFC3339Nano))
	}
	for i, w := range want {
		if w == "" {
			want[i] = time.Time{}.Format(time.RFC3339Nano)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, anchor %s, after %s (-want +got):\n%s", show(s), anchor, after, diff)
	}
}

const longAgo = "0001-01-01T00:00:00Z"

// "past, recurrence, no schedule: first of startTime + n·interval that is ≥ now,
// then on that grid".
func TestPastStartJoinsTheGrid(t *testing.T) {
	spec := Spec{Frequency: Hour, Interval: 5}
	expect(t, spec, "2015-07-13T00:10:00Z", "2015-07-14T00:09:59.999Z", "2015-07-14T01:10:00Z", "2015-07-14T06:10:00Z")
	expect(t, spec, "2015-07-13T00:10:00Z", "2015-07-14T01:09:59.999Z", "2015-07-14T01:10:00Z", "2015-07-14T06:10:00Z")
	expect(t, spec, "2015-07-13T00:10:00Z", "2026-07-14T01:12:13Z", "2026-07-14T04:10:00Z", "2026-07-14T09:10:00Z")
}

// "past, recurrence with schedule: first time of the schedule ≥ now, counted from
// startTime".
func TestPastStartWithScheduleCountsFromStart(t *testing.T) {
	spec := Spec{Frequency: Day, Interval: 3, Schedule: &Schedule{Hours: []int{6}, Minutes: []int{0}}}
	expect(t, spec, "2026-01-01T12:00:00Z", "2026-01-02T00:00:00Z", "2026-01-04T06:00:00Z", "2026-01-07T06:00:00Z")
	expect(t, spec, "2026-01-01T12:00:00Z", "2026-01-07T05:59:59.999Z", "2026-01-07T06:00:00Z", "2026-01-10T06:00:00Z")
}

// "future, recurrence, no schedule: startTime, then every interval". Also where
// nothing else is said: "the grid is anchored at the first planned time".
func TestFutureStartIsTheFirstOccurrence(t *testing.T) {
	for _, tt := range []struct {
		frequency Frequency
		interval  int
		want      []string
	}{
		{Second, 90, []string{"2026-05-06T07:08:09.5Z", "2026-05-06T07:09:39.5Z", "2026-05-06T07:11:09.5Z"}},
		{Minute, 1000, []string{"2026-05-06T07:08:09.5Z", "2026-05-06T23:48:09.5Z", "2026-05-07T16:28:09.5Z"}},
		{Hour, 25, []string{"2026-05-06T07:08:09.5Z", "2026-05-07T08:08:09.5Z", "2026-05-08T09:08:09.5Z"}},
		{Day, 0, []string{"2026-05-06T07:08:09.5Z", "2026-05-07T07:08:09.5Z", "2026-05-08T07:08:09.5Z"}},
		{Week, 2, []string{"2026-05-06T07:08:09.5Z", "2026-05-20T07:08:09.5Z", "2026-06-03T07:08:09.5Z"}},
		{Month, 18, []string{"2026-05-06T07:08:09.5Z", "2027-11-06T07:08:09.5Z", "2029-05-06T07:08:09.5Z"}},
		{Year, 1, []string{"2026-05-06T07:08:09.5Z", "2027-05-06T07:08:09.5Z", "2028-05-06T07:08:09.5Z"}},
	} {
		t.Run(tt.frequency.String(), func(t *testing.T) {
			expect(t, Spec{Frequency: tt.frequency, Interval: tt.interval}, "2026-05-06T07:08:09.5Z", longAgo, tt.want...)
		})
	}
}

// "future, recurrence with schedule: first time of the schedule ≥ startTime", and
// "A schedule never yields a time before the anchor".
func TestScheduleBeginsAtTheAnchor(t *testing.T) {
	spec := Spec{Frequency: Day, Schedule: &Schedule{Hours: []int{8, 9, 10}, Minutes: []int{0, 30}}}
	expect(t, spec, "2026-01-01T09:30:00Z", longAgo, "2026-01-01T09:30:00Z", "2026-01-01T10:00:00Z", "2026-01-01T10:30:00Z", "2026-01-02T08:00:00Z")
	// The anchor's second is past :00, so its minute is too.
	expect(t, spec, "2026-01-01T09:30:01Z", longAgo, "2026-01-01T10:00:00Z")
	// The week's Monday lies before the anchor, a Wednesday.
	weekly := Spec{Frequency: Week, Interval: 2, Schedule: &Schedule{WeekDays: []time.Weekday{time.Monday, time.Friday}}}
	expect(t, weekly, "2026-01-07T00:00:00Z", longAgo, "2026-01-09T00:00:00Z", "2026-01-19T00:00:00Z", "2026-01-23T00:00:00Z")
}

// "Without startTime the live service drifted … Ours does not: the grid is
// anchored at the first planned time".
func TestNextDoesNotDriftWithWhenItIsAsked(t *testing.T) {
	spec := Spec{Frequency: Minute, Interval: 15}
	expect(t, spec, "2026-01-01T00:00:00Z", "2026-01-01T00:00:07.3Z", "2026-01-01T00:15:00Z")
	expect(t, spec, "2026-01-01T00:00:00Z", "2026-01-01T00:29:59.999999Z", "2026-01-01T00:30:00Z")
}

// "Month and year steps count from the anchor and clamp to the month's last day
// (31 Jan → 28 Feb → 31 Mar)".
func TestMonthAndYearStepsClamp(t *testing.T) {
	expect(t, Spec{Frequency: Month}, "2026-01-31T10:00:00Z", longAgo,
		"2026-01-31T10:00:00Z", "2026-02-28T10:00:00Z", "2026-03-31T10:00:00Z", "2026-04-30T10:00:00Z", "2026-05-31T10:00:00Z")
	expect(t, Spec{Frequency: Month, Interval: 3}, "2027-11-30T10:00:00Z", "2027-11-30T10:00:00Z",
		"2028-02-29T10:00:00Z", "2028-05-30T10:00:00Z")
	expect(t, Spec{Frequency: Year}, "2024-02-29T10:00:00Z", longAgo,
		"2024-02-29T10:00:00Z", "2025-02-28T10:00:00Z", "2026-02-28T10:00:00Z", "2027-02-28T10:00:00Z", "2028-02-29T10:00:00Z")
	// After the clamped day's time the next one is a month on, not the 31st.
	expect(t, Spec{Frequency: Month}, "2026-01-31T10:00:00Z", "2026-02-28T10:00:00.001Z", "2026-03-31T10:00:00Z")
}

// "monthDays: [31] on the other hand runs only in months that have a 31st".
func TestMonthDay31SkipsShortMonths(t *testing.T) {
	expect(t, Spec{Frequency: Month, Schedule: &Schedule{MonthDays: []int{31}}}, "2026-01-31T10:00:00Z", longAgo,
		"2026-01-31T10:00:00Z", "2026-03-31T10:00:00Z", "2026-05-31T10:00:00Z", "2026-07-31T10:00:00Z", "2026-08-31T10:00:00Z")
	expect(t, Spec{Frequency: Month, Schedule: &Schedule{MonthDays: []int{-31}}}, "2026-02-10T10:00:00Z", longAgo,
		"2026-03-01T10:00:00Z", "2026-05-01T10:00:00Z")
}

// "hours given, minutes not → the anchor's minute".
func TestHoursWithoutMinutesKeepTheAnchorsMinute(t *testing.T) {
	s := &Schedule{Hours: []int{5, 17}}
	expect(t, Spec{Frequency: Day, Schedule: s}, "2026-01-01T10:42:00Z", longAgo, "2026-01-01T17:42:00Z", "2026-01-02T05:42:00Z")
	expect(t, Spec{Frequency: Year, Schedule: s}, "2026-01-01T10:42:00Z", longAgo, "2026-01-01T17:42:00Z", "2027-01-01T05:42:00Z")
	expect(t, Spec{Frequency: Hour, Schedule: s}, "2026-01-01T10:42:00Z", longAgo, "2026-01-01T17:42:00Z", "2026-01-02T05:42:00Z")
}

// "minutes given, hours not → every hour ({"minutes":[0,15,30,45]} with frequency
// day is "every 15 minutes"; with a week or month it is every hour of the chosen
// days)", and "RFC 5545 differs at "minutes without hours": it would keep the
// anchor's hour".
func TestMinutesWithoutHoursMeanEveryHour(t *testing.T) {
	expect(t, Spec{Frequency: Day, Schedule: &Schedule{Minutes: []int{0, 15, 30, 45}}}, "2026-01-01T10:42:00Z", longAgo,
		"2026-01-01T10:45:00Z", "2026-01-01T11:00:00Z", "2026-01-01T11:15:00Z", "2026-01-01T11:30:00Z")
	expect(t, Spec{Frequency: Week, Schedule: &Schedule{Minutes: []int{15}, WeekDays: []time.Weekday{time.Saturday}}},
		"2026-01-03T22:00:00Z", longAgo,
		"2026-01-03T22:15:00Z", "2026-01-03T23:15:00Z", "2026-01-10T00:15:00Z", "2026-01-10T01:15:00Z")
	expect(t, Spec{Frequency: Month, Schedule: &Schedule{Minutes: []int{15}, MonthDays: []int{-1}}},
		"2026-01-31T22:00:00Z", longAgo,
		"2026-01-31T22:15:00Z", "2026-01-31T23:15:00Z", "2026-02-28T00:15:00Z")
}

// "neither → the anchor's hour and minute".
func TestNeitherHoursNorMinutesKeepTheAnchorsTime(t *testing.T) {
	s := &Schedule{MonthDays: []int{2}}
	expect(t, Spec{Frequency: Month, Schedule: s}, "2026-01-01T10:42:13.5Z", longAgo, "2026-01-02T10:42:13.5Z", "2026-02-02T10:42:13.5Z")
	s = &Schedule{Months: []int{1, 3}}
	expect(t, Spec{Frequency: Hour, Schedule: s}, "2026-01-31T22:42:13.5Z", longAgo,
		"2026-01-31T22:42:13.5Z", "2026-01-31T23:42:13.5Z", "2026-03-01T00:42:13.5Z")
}

// "frequency week without weekDays → the anchor's weekday".
func TestWeekWithoutWeekDaysKeepsTheAnchorsWeekday(t *testing.T) {
	expect(t, Spec{Frequency: Week, Interval: 2, Schedule: &Schedule{Hours: []int{5}, Minutes: []int{0}}}, "2026-01-01T10:00:00Z", longAgo,
		"2026-01-15T05:00:00Z", "2026-01-29T05:00:00Z")
}

// "frequency month without monthDays or monthlyOccurrences → the anchor's day of
// the month", and ""The anchor's day" is clamped to the month's last day".
func TestMonthWithoutDaysKeepsTheAnchorsDay(t *testing.T) {
	s := &Schedule{Hours: []int{5}, Minutes: []int{0}}
	expect(t, Spec{Frequency: Month, Schedule: s}, "2026-01-15T10:00:00Z", longAgo, "2026-02-15T05:00:00Z", "2026-03-15T05:00:00Z")
	expect(t, Spec{Frequency: Month, Schedule: s}, "2026-01-31T10:00:00Z", longAgo,
		"2026-02-28T05:00:00Z", "2026-03-31T05:00:00Z", "2026-04-30T05:00:00Z")
}

// "hours × minutes is a product".
func TestHoursAndMinutesAreAProduct(t *testing.T) {
	expect(t, Spec{Frequency: Day, Schedule: &Schedule{Hours: []int{17, 5}, Minutes: []int{45, 15, 15}}}, "2026-01-01T10:42:00Z", longAgo,
		"2026-01-01T17:15:00Z", "2026-01-01T17:45:00Z", "2026-01-02T05:15:00Z", "2026-01-02T05:45:00Z", "2026-01-02T17:15:00Z")
}

// "Seconds of a scheduled time: 0 where minutes is given (frequency hour and
// longer), else the anchor's".
func TestSecondsOfAScheduledTime(t *testing.T) {
	const anchor = "2026-01-01T10:42:13.125Z"
	expect(t, Spec{Frequency: Day, Schedule: &Schedule{Hours: []int{5}}}, anchor, longAgo, "2026-01-02T05:42:13.125Z")
	expect(t, Spec{Frequency: Day, Schedule: &Schedule{Hours: []int{5}, Minutes: []int{1}}}, anchor, longAgo, "2026-01-02T05:01:00Z")
	expect(t, Spec{Frequency: Hour, Schedule: &Schedule{Minutes: []int{42, 50}}}, anchor, longAgo, "2026-01-01T10:50:00Z", "2026-01-01T11:42:00Z")
	expect(t, Spec{Frequency: Hour, Schedule: &Schedule{Hours: []int{11}}}, anchor, longAgo, "2026-01-01T11:42:13.125Z")
	expect(t, Spec{Frequency: Minute, Schedule: &Schedule{Minutes: []int{44}}}, anchor, longAgo, "2026-01-01T10:44:13.125Z", "2026-01-01T11:44:13.125Z")
}

// "With frequency second or minute the schedule's elements only filter the grid".
func TestSecondAndMinuteSchedulesFilter(t *testing.T) {
	const anchor = "2026-01-31T10:42:13Z"
	expect(t, Spec{Frequency: Second, Interval: 25, Schedule: &Schedule{Minutes: []int{43}}}, anchor, longAgo,
		"2026-01-31T10:43:03Z", "2026-01-31T10:43:28Z", "2026-01-31T10:43:53Z", "2026-01-31T11:43:03Z")
	expect(t, Spec{Frequency: Second, Schedule: &Schedule{Hours: []int{5}, Months: []int{3}}}, anchor, longAgo,
		"2026-03-01T05:00:00Z", "2026-03-01T05:00:01Z")
	expect(t, Spec{Frequency: Second, Schedule: &Schedule{Hours: []int{5}, Months: []int{3}}}, anchor, "2026-03-31T05:59:59Z",
		"2027-03-01T05:00:00Z")
	// 1000 minutes are 16 h 40 min: the grid meets 10:42 every 25 days.
	expect(t, Spec{Frequency: Minute, Interval: 1000, Schedule: &Schedule{Hours: []int{10}}}, anchor, longAgo,
		"2026-01-31T10:42:13Z", "2026-02-16T10:02:13Z", "2026-02-25T10:42:13Z")
	// Hours without minutes is no default here: every minute of the hour.
	expect(t, Spec{Frequency: Minute, Interval: 20, Schedule: &Schedule{Hours: []int{5}}}, anchor, longAgo,
		"2026-02-01T05:02:13Z", "2026-02-01T05:22:13Z", "2026-02-01T05:42:13Z", "2026-02-02T05:02:13Z")
}

// "with hour, minutes expands and hours filters".
func TestHourExpandsMinutesAndFiltersHours(t *testing.T) {
	expect(t, Spec{Frequency: Hour, Interval: 3, Schedule: &Schedule{Hours: []int{12, 13, 16, 24}, Minutes: []int{0, 50}}}, "2026-01-01T10:42:00Z", longAgo,
		"2026-01-01T13:00:00Z", "2026-01-01T13:50:00Z", "2026-01-01T16:00:00Z", "2026-01-01T16:50:00Z", "2026-01-02T13:00:00Z")
	// The anchor's hour is unit 0, and its 10:00 is past.
	expect(t, Spec{Frequency: Hour, Interval: 5, Schedule: &Schedule{Minutes: []int{0, 50}}}, "2026-01-01T10:42:00Z", longAgo,
		"2026-01-01T10:50:00Z", "2026-01-01T15:00:00Z", "2026-01-01T15:50:00Z", "2026-01-01T20:00:00Z")
}

// "with day and longer both expand".
func TestDayAndLongerExpandHoursAndMinutes(t *testing.T) {
	s := &Schedule{Hours: []int{5, 6}, Minutes: []int{0}}
	for f, second := range map[Frequency]string{
		Day: "2026-01-02", Week: "2026-01-08", Month: "2026-02-01", Year: "2027-01-01",
	} {
		expect(t, Spec{Frequency: f, Schedule: s}, "2026-01-01T00:00:00Z", longAgo,
			"2026-01-01T05:00:00Z", "2026-01-01T06:00:00Z", second+"T05:00:00Z", second+"T06:00:00Z")
	}
}

// "Year: months given → the anchor's day in each of them, else the anchor's
// month", and ""The anchor's day" is clamped to the month's last day".
func TestYearPicksMonths(t *testing.T) {
	expect(t, Spec{Frequency: Year, Schedule: &Schedule{Months: []int{2, 4, 5}}}, "2027-03-31T10:00:00Z", longAgo,
		"2027-04-30T10:00:00Z", "2027-05-31T10:00:00Z", "2028-02-29T10:00:00Z", "2028-04-30T10:00:00Z")
	expect(t, Spec{Frequency: Year, Schedule: &Schedule{Hours: []int{5}}}, "2024-02-29T10:00:00Z", longAgo,
		"2025-02-28T05:00:00Z", "2026-02-28T05:00:00Z", "2027-02-28T05:00:00Z", "2028-02-29T05:00:00Z")
}

// "monthDays (1..31, −1..−31) … only with month".
func TestMonthDaysCountFromBothEnds(t *testing.T) {
	expect(t, Spec{Frequency: Month, Schedule: &Schedule{MonthDays: []int{1, -1, -29}}}, "2026-01-02T10:00:00Z", longAgo,
		"2026-01-03T10:00:00Z", "2026-01-31T10:00:00Z", "2026-02-01T10:00:00Z", "2026-02-28T10:00:00Z",
		"2026-03-01T10:00:00Z", "2026-03-03T10:00:00Z")
}

// "monthlyOccurrences (day, occurrence ±1..±5; occurrence absent = every such
// day) only with month".
func TestMonthlyOccurrencesCountFromBothEnds(t *testing.T) {
	month := func(o ...MonthlyOccurrence) Spec {
		return Spec{Frequency: Month, Schedule: &Schedule{MonthlyOccurrences: o}}
	}
	// January 2026 begins with a Thursday.
	expect(t, month(MonthlyOccurrence{Day: time.Friday}), "2026-01-01T10:00:00Z", longAgo,
		"2026-01-02T10:00:00Z", "2026-01-09T10:00:00Z", "2026-01-16T10:00:00Z", "2026-01-23T10:00:00Z", "2026-01-30T10:00:00Z", "2026-02-06T10:00:00Z")
	expect(t, month(MonthlyOccurrence{time.Friday, 5}), "2026-01-01T10:00:00Z", longAgo,
		"2026-01-30T10:00:00Z", "2026-05-29T10:00:00Z")
	expect(t, month(MonthlyOccurrence{time.Friday, -5}), "2026-01-01T10:00:00Z", longAgo,
		"2026-01-02T10:00:00Z", "2026-05-01T10:00:00Z")
	expect(t, month(MonthlyOccurrence{time.Friday, -1}, MonthlyOccurrence{time.Monday, 2}), "2026-01-01T10:00:00Z", longAgo,
		"2026-01-12T10:00:00Z", "2026-01-30T10:00:00Z", "2026-02-09T10:00:00Z", "2026-02-27T10:00:00Z")
}

// "both = their intersection".
func TestMonthDaysAndOccurrencesIntersect(t *testing.T) {
	friday13 := &Schedule{MonthDays: []int{13}, MonthlyOccurrences: []MonthlyOccurrence{{Day: time.Friday}}}
	expect(t, Spec{Frequency: Month, Schedule: friday13}, "2026-01-01T10:00:00Z", longAgo,
		"2026-02-13T10:00:00Z", "2026-03-13T10:00:00Z", "2026-11-13T10:00:00Z", "2027-08-13T10:00:00Z")
}

// "months (1..12) with any frequency".
func TestMonthsFilterAnyFrequency(t *testing.T) {
	for f, want := range map[Frequency][]string{
		Second: {"2026-01-31T23:59:30Z", "2026-01-31T23:59:31Z"},
		Minute: {"2026-01-31T23:59:30Z", "2026-03-01T00:00:30Z"},
		Hour:   {"2026-01-31T23:59:30Z", "2026-03-01T00:59:30Z"},
		Day:    {"2026-01-31T23:59:30Z", "2026-03-01T23:59:30Z"},
		Week:   {"2026-01-31T23:59:30Z", "2026-03-07T23:59:30Z"},
		Month:  {"2026-01-31T23:59:30Z", "2026-03-31T23:59:30Z"},
		Year:   {"2026-01-31T23:59:30Z", "2026-03-31T23:59:30Z"},
	} {
		t.Run(f.String(), func(t *testing.T) {
			expect(t, Spec{Frequency: f, Schedule: &Schedule{Months: []int{3, 1}}}, "2026-01-31T23:59:30Z", longAgo, want...)
		})
	}
	expect(t, Spec{Frequency: Second, Schedule: &Schedule{Months: []int{3, 1}}}, "2026-01-31T23:59:30Z", "2026-01-31T23:59:59Z",
		"2026-03-01T00:00:00Z")
}

// "hours 0..23, 24 means 0".
func TestHour24IsMidnight(t *testing.T) {
	expect(t, Spec{Frequency: Day, Schedule: &Schedule{Hours: []int{24}}}, "2026-01-01T10:42:00Z", longAgo,
		"2026-01-02T00:42:00Z", "2026-01-03T00:42:00Z")
	expect(t, Spec{Frequency: Minute, Interval: 30, Schedule: &Schedule{Hours: []int{24}}}, "2026-01-01T10:42:00Z", longAgo,
		"2026-01-02T00:12:00Z", "2026-01-02T00:42:00Z", "2026-01-03T00:12:00Z")
}

// "Empty arrays are 400".
func TestEmptyElementsAreInvalid(t *testing.T) {
	for field, spec := range map[string]Spec{
		"recurrence.schedule.months":             {Frequency: Day, Schedule: &Schedule{Months: []int{}}},
		"recurrence.schedule.hours":              {Frequency: Day, Schedule: &Schedule{Hours: []int{}}},
		"recurrence.schedule.minutes":            {Frequency: Day, Schedule: &Schedule{Minutes: []int{}}},
		"recurrence.schedule.weekDays":           {Frequency: Week, Schedule: &Schedule{WeekDays: []time.Weekday{}}},
		"recurrence.schedule.monthDays":          {Frequency: Month, Schedule: &Schedule{MonthDays: []int{}}},
		"recurrence.schedule.monthlyOccurrences": {Frequency: Month, Schedule: &Schedule{MonthlyOccurrences: []MonthlyOccurrence{}}},
	} {
		var fault *InvalidError
		if err := spec.Validate(); !errors.As(err, &fault) || fault.Field != field || fault.Reason != "must not be empty" {
			t.Errorf("Validate with an empty slice: %v, want %s must not be empty", err, field)
		}
	}
}

// "Weeks start on Monday when interval > 1".
func TestWeeksStartOnMonday(t *testing.T) {
	s := &Schedule{WeekDays: []time.Weekday{time.Sunday, time.Monday}}
	// A Sunday is the last day of its week, so the Monday after it is not in it.
	expect(t, Spec{Frequency: Week, Interval: 2, Schedule: s}, "2026-01-04T00:00:00Z", longAgo,
		"2026-01-04T00:00:00Z", "2026-01-12T00:00:00Z", "2026-01-18T00:00:00Z", "2026-01-26T00:00:00Z")
	// A Monday is the first, and the Sunday six days later is in it.
	expect(t, Spec{Frequency: Week, Interval: 2, Schedule: s}, "2026-01-05T00:00:00Z", longAgo,
		"2026-01-05T00:00:00Z", "2026-01-11T00:00:00Z", "2026-01-19T00:00:00Z", "2026-01-25T00:00:00Z")
}

// "count ≥ 1 counts executions (occurrences), not calendar dates": so a Series,
// which knows of dates only, does not count.
func TestCountIsNotLookedAt(t *testing.T) {
	expect(t, Spec{Frequency: Day, Count: 1}, "2026-01-01T00:00:00Z", longAgo, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
}

// "With endTime too, whichever ends first … Without either it never ends." An
// occurrence at the end is the last one.
func TestEndIsInclusive(t *testing.T) {
	spec := Spec{Frequency: Day, EndAt: at("2026-01-03T00:00:00Z")}
	expect(t, spec, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z", "")
	spec.EndAt = at("2026-01-02T23:59:59.999999Z")
	expect(t, spec, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "")
	spec.EndAt = at("2026-01-01T01:00:00+01:00")
	expect(t, spec, "2026-01-01T00:00:00Z", longAgo, "2026-01-01T00:00:00Z", "")
	spec = Spec{Frequency: Day, EndAt: at("2026-01-03T17:00:00Z"), Schedule: &Schedule{Hours: []int{5, 17}}}
	expect(t, spec, "2026-01-03T00:00:00Z", longAgo, "2026-01-03T05:00:00Z", "2026-01-03T17:00:00Z", "")
	expect(t, Spec{Frequency: Day}, "2026-01-01T00:00:00Z", "9000-01-01T00:00:00Z", "9000-01-02T00:00:00Z")
}
