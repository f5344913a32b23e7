package verify

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/apiserver/client"
	"github.com/carillon-scheduler/carillon/shared/recur"
)

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t
}

// TestCalendar: each rule of a recurrence, by hand.
func TestCalendar(t *testing.T) {
	for _, tt := range []struct {
		name     string
		rec      client.Recurrence
		anchor   string
		from, to string
		want     []string
	}{
		{"every interval", client.Recurrence{Frequency: "second", Interval: 2}, "2026-01-01T00:00:00.25Z", "2026-01-01T00:00:03Z", "2026-01-01T00:00:07Z", []string{"2026-01-01T00:00:04.25Z", "2026-01-01T00:00:06.25Z"}},
		{"not before the anchor", client.Recurrence{Frequency: "minute"}, "2026-01-01T00:01:00Z", "2026-01-01T00:00:00Z", "2026-01-01T00:01:59Z", []string{"2026-01-01T00:01:00Z"}},
		{"up to endTime, included", client.Recurrence{Frequency: "second", EndTime: at("2026-01-01T00:00:02Z")}, "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-01-01T00:00:09Z", []string{"2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"}},
		{"minutes without hours: every hour, on the second", client.Recurrence{Frequency: "day", Schedule: &client.Schedule{Minutes: []int{30}}}, "2026-01-01T00:00:07Z", "2026-01-01T05:00:00Z", "2026-01-01T06:59:00Z", []string{"2026-01-01T05:30:00Z", "2026-01-01T06:30:00Z"}},
		{"hours without minutes: the anchor's minute and second", client.Recurrence{Frequency: "day", Schedule: &client.Schedule{Hours: []int{5, 24}}}, "2026-01-01T00:10:07Z", "2026-01-01T00:00:00Z", "2026-01-01T23:00:00Z", []string{"2026-01-01T00:10:07Z", "2026-01-01T05:10:07Z"}},
		{"schedule filters a grid of seconds", client.Recurrence{Frequency: "second", Interval: 30, Schedule: &client.Schedule{Minutes: []int{2}}}, "2026-01-01T00:00:05Z", "2026-01-01T00:00:00Z", "2026-01-01T00:10:00Z", []string{"2026-01-01T00:02:05Z", "2026-01-01T00:02:35Z"}},
		{"the last day, where there is no 31st", client.Recurrence{Frequency: "month"}, "2026-01-31T12:00:00Z", "2026-02-28T11:59:00Z", "2026-02-28T12:01:00Z", []string{"2026-02-28T12:00:00Z"}},
		{"monthDays 31 only where there is one", client.Recurrence{Frequency: "month", Schedule: &client.Schedule{MonthDays: []int{31}}}, "2026-01-31T12:00:00Z", "2026-02-28T11:59:00Z", "2026-02-28T12:01:00Z", nil},
		{"monthDays from the end", client.Recurrence{Frequency: "month", Schedule: &client.Schedule{MonthDays: []int{-1}}}, "2026-01-30T12:00:00Z", "2026-02-28T11:59:00Z", "2026-02-28T12:01:00Z", []string{"2026-02-28T12:00:00Z"}},
		{"the last friday", client.Recurrence{Frequency: "month", Schedule: &client.Schedule{MonthlyOccurrences: []client.MonthlyOccurrence{{Day: "Friday", Occurrence: -1}}}}, "2026-01-01T12:00:00Z", "2026-02-27T11:59:00Z", "2026-02-27T12:01:00Z", []string{"2026-02-27T12:00:00Z"}},
		{"not the third", client.Recurrence{Frequency: "month", Schedule: &client.Schedule{MonthlyOccurrences: []client.MonthlyOccurrence{{Day: "friday", Occurrence: 3}}}}, "2026-01-01T12:00:00Z", "2026-02-27T11:59:00Z", "2026-02-27T12:01:00Z", nil},
		{"every second week begins on monday", client.Recurrence{Frequency: "week", Interval: 2, Schedule: &client.Schedule{WeekDays: []string{"monday"}}}, "2026-01-04T12:00:00Z", "2026-01-05T12:00:00Z", "2026-01-05T12:00:00Z", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := calendar{&tt.rec, at(tt.anchor)}.between(at(tt.from), at(tt.to))
			var want []time.Time
			for _, s := range tt.want {
				want = append(want, at(s))
			}
			if !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// TestCalendarAgrees: the oracle and the search that planners use, which share
// nothing, find the same.
func TestCalendarAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 300 {
		anchor := time.UnixMilli(1_790_000_000_000 + rng.Int64N(400*86_400_000)).UTC()
		g := generator{rng: rng, began: anchor.Add(time.Hour), length: time.Minute, beat: time.Second, minRetry: time.Second}
		rec := g.anyRecurrence(anchor.AddDate(0, rng.IntN(14), rng.IntN(40)))
		spec := specOf(t, rec)
		series, err := recur.Compile(spec, anchor)
		if err != nil {
			continue // never occurs
		}
		from := anchor.AddDate(0, rng.IntN(14), rng.IntN(31)).Add(-time.Minute)
		to := from.Add(26 * time.Hour)
		if rec.Frequency == "second" {
			to = from.Add(10 * time.Minute)
		}
		var want []time.Time
		for next := series.Next(from.Add(-time.Millisecond)); !next.IsZero() && !next.After(to); next = series.Next(next) {
			want = append(want, next)
		}
		found += len(want)
		if got := (calendar{rec, anchor}).between(from, to); !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%+v, schedule %+v, anchor %v, from %v:\n got %v\nwant %v", rec, rec.Schedule, anchor, from, got, want)
		}
	}
	if found < 100 {
		t.Errorf("only %d occurrences were compared", found)
	}
}

func specOf(t *testing.T, rec *client.Recurrence) recur.Spec {
	t.Helper()
	f, ok := recur.ParseFrequency(rec.Frequency)
	if !ok {
		t.Fatal(rec.Frequency)
	}
	s := recur.Spec{Frequency: f, Interval: max(rec.Interval, 1), Count: rec.Count, EndAt: rec.EndTime}
	if rec.Schedule == nil {
		return s
	}
	s.Schedule = &recur.Schedule{Minutes: rec.Schedule.Minutes, Hours: rec.Schedule.Hours, MonthDays: rec.Schedule.MonthDays, Months: rec.Schedule.Months}
	for _, name := range rec.Schedule.WeekDays {
		d, _ := recur.ParseWeekday(name)
		s.Schedule.WeekDays = append(s.Schedule.WeekDays, d)
	}
	for _, o := range rec.Schedule.MonthlyOccurrences {
		d, _ := recur.ParseWeekday(o.Day)
		s.Schedule.MonthlyOccurrences = append(s.Schedule.MonthlyOccurrences, recur.MonthlyOccurrence{Day: d, Occurrence: o.Occurrence})
	}
	return s
}
