package recur

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestValidate has each limit of AZURE.md §6: the last valid value and the first
// invalid one.
func TestValidate(t *testing.T) {
	valid := func(s Spec) (Spec, string) { return s, "" }
	invalid := func(s Spec, field string) (Spec, string) { return s, field }
	check := func(s Spec, field string) {
		t.Helper()
		err := s.Validate()
		var fault *InvalidError
		switch {
		case field == "" && err != nil:
			t.Errorf("Validate(%s) = %v", show(s), err)
		case field != "" && !errors.As(err, &fault):
			t.Errorf("Validate(%s) = %v, want an InvalidError of %s", show(s), err, field)
		case field != "" && (fault.Field != field || !strings.HasPrefix(err.Error(), field+" must ") && !strings.HasPrefix(err.Error(), field+" goes only with ")):
			t.Errorf("Validate(%s) = %q, want one of %s that says what it may be", show(s), err, field)
		}
	}

	for f, limit := range map[Frequency]int{Second: 1000, Minute: 1000, Hour: 1000, Day: 548, Week: 78, Month: 18, Year: 1} {
		check(valid(Spec{Frequency: f}))
		check(valid(Spec{Frequency: f, Interval: 1}))
		check(valid(Spec{Frequency: f, Interval: limit, Count: 1}))
		check(invalid(Spec{Frequency: f, Interval: limit + 1}, "recurrence.interval"))
		check(invalid(Spec{Frequency: f, Interval: -1}, "recurrence.interval"))
		check(invalid(Spec{Frequency: f, Count: -1}, "recurrence.count"))

		scheduled := func(s Schedule) Spec { return Spec{Frequency: f, Schedule: &s} }
		check(valid(scheduled(Schedule{})))
		check(valid(scheduled(Schedule{Months: []int{1, 12, 12}, Hours: []int{0, 23, 24}, Minutes: []int{0, 59}})))
		check(invalid(scheduled(Schedule{Months: []int{1, 0}}), "recurrence.schedule.months[1]"))
		check(invalid(scheduled(Schedule{Months: []int{13}}), "recurrence.schedule.months[0]"))
		check(invalid(scheduled(Schedule{Hours: []int{1, 2, 25}}), "recurrence.schedule.hours[2]"))
		check(invalid(scheduled(Schedule{Hours: []int{-1}}), "recurrence.schedule.hours[0]"))
		check(invalid(scheduled(Schedule{Minutes: []int{60}}), "recurrence.schedule.minutes[0]"))
		check(invalid(scheduled(Schedule{Minutes: []int{-1}}), "recurrence.schedule.minutes[0]"))

		weekDays := scheduled(Schedule{WeekDays: []time.Weekday{time.Sunday, time.Saturday}})
		monthDays := scheduled(Schedule{MonthDays: []int{1, 31, -1, -31}})
		occurrences := scheduled(Schedule{MonthlyOccurrences: []MonthlyOccurrence{{time.Sunday, 5}, {time.Saturday, -5}, {time.Monday, 0}}})
		if f == Week {
			check(valid(weekDays))
			check(invalid(scheduled(Schedule{WeekDays: []time.Weekday{1, 7}}), "recurrence.schedule.weekDays[1]"))
			check(invalid(scheduled(Schedule{WeekDays: []time.Weekday{-1}}), "recurrence.schedule.weekDays[0]"))
		} else {
			check(invalid(weekDays, "recurrence.schedule.weekDays"))
		}
		if f != Month {
			check(invalid(monthDays, "recurrence.schedule.monthDays"))
			check(invalid(occurrences, "recurrence.schedule.monthlyOccurrences"))
			continue
		}
		check(valid(monthDays))
		check(valid(occurrences))
		for _, d := range []int{0, 32, -32} {
			check(invalid(scheduled(Schedule{MonthDays: []int{1, d}}), "recurrence.schedule.monthDays[1]"))
		}
		for _, n := range []int{6, -6} {
			o := MonthlyOccurrence{time.Monday, n}
			check(invalid(scheduled(Schedule{MonthlyOccurrences: []MonthlyOccurrence{o}}), "recurrence.schedule.monthlyOccurrences[0].occurrence"))
		}
		o := MonthlyOccurrence{Day: 7}
		check(invalid(scheduled(Schedule{MonthlyOccurrences: []MonthlyOccurrence{o}}), "recurrence.schedule.monthlyOccurrences[0].day"))
	}
	for _, f := range []Frequency{0, Year + 1, 255} {
		check(invalid(Spec{Frequency: f}, "recurrence.frequency"))
	}
}

func TestInvalidErrorIsASentence(t *testing.T) {
	err := Spec{Frequency: Day, Interval: 549}.Validate()
	if got, want := err.Error(), "recurrence.interval must be between 1 and 548 with frequency day"; got != want {
		t.Errorf("error is %q, want %q", got, want)
	}
}

// TestNames: frequencies and weekdays are spelled as on the wire, and read in any
// case.
func TestNames(t *testing.T) {
	for f, name := range map[Frequency]string{
		Second: "second", Minute: "minute", Hour: "hour", Day: "day", Week: "week", Month: "month", Year: "year",
		0: "", Year + 1: "",
	} {
		if f.String() != name {
			t.Errorf("Frequency(%d) is %q, want %q", f, f, name)
		}
		for _, spelling := range []string{name, strings.ToUpper(name)} {
			if got, ok := ParseFrequency(spelling); ok != (name != "") || ok && got != f {
				t.Errorf("ParseFrequency(%q) = %v, %t", spelling, got, ok)
			}
		}
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		name := WeekdayName(d)
		for _, spelling := range []string{name, strings.ToUpper(name), d.String()} {
			if got, ok := ParseWeekday(spelling); !ok || got != d {
				t.Errorf("ParseWeekday(%q) = %v, %t, want %v", spelling, got, ok, d)
			}
		}
	}
	if WeekdayName(time.Monday) != "monday" {
		t.Errorf("WeekdayName(Monday) = %q", WeekdayName(time.Monday))
	}
	for _, other := range []string{"", "mon", " monday", "days"} {
		if d, ok := ParseWeekday(other); ok {
			t.Errorf("ParseWeekday(%q) = %v, want none", other, d)
		}
		if f, ok := ParseFrequency(other); ok {
			t.Errorf("ParseFrequency(%q) = %v, want none", other, f)
		}
	}
}

// TestSpecIsStoredAsJSON fixes the stored form: existing data has it.
func TestSpecIsStoredAsJSON(t *testing.T) {
	for _, tt := range []struct {
		spec Spec
		text string
	}{
		{Spec{Frequency: Day}, `{"frequency":"day"}`},
		{
			Spec{
				Frequency: Month, Interval: 2, Count: 3, EndAt: at("2026-01-01T00:00:00.5Z"),
				Schedule: &Schedule{
					Months: []int{1}, MonthDays: []int{-1}, Hours: []int{24}, Minutes: []int{0},
					MonthlyOccurrences: []MonthlyOccurrence{{time.Friday, -1}, {Day: time.Sunday}},
				},
			},
			`{"frequency":"month","interval":2,"count":3,"endAt":"2026-01-01T00:00:00.5Z","schedule":{"months":[1],` +
				`"monthDays":[-1],"monthlyOccurrences":[{"day":5,"occurrence":-1},{"day":0}],"hours":[24],"minutes":[0]}}`,
		},
		{Spec{Frequency: Week, Schedule: &Schedule{WeekDays: []time.Weekday{time.Monday}}}, `{"frequency":"week","schedule":{"weekDays":[1]}}`},
	} {
		text, err := json.Marshal(tt.spec)
		if err != nil || string(text) != tt.text {
			t.Errorf("Marshal = %s, %v, want %s", text, err, tt.text)
		}
		var got Spec
		if err := json.Unmarshal([]byte(tt.text), &got); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(tt.spec, got); diff != "" {
			t.Errorf("Unmarshal (-want +got):\n%s", diff)
		}
	}

	var fault *InvalidError
	if _, err := json.Marshal(Spec{}); !errors.As(err, &fault) || fault.Field != "recurrence.frequency" {
		t.Errorf("Marshal without a frequency: %v, want an InvalidError", err)
	}
	if err := json.Unmarshal([]byte(`{"frequency":"fortnight"}`), &Spec{}); !errors.As(err, &fault) {
		t.Errorf("Unmarshal of an unknown frequency: %v, want an InvalidError", err)
	}
}
