package recur

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// row is one of testdata/schedules.json, the documentation's table of examples
// in the wire's spelling.
type row struct {
	Frequency string
	Schedule  struct {
		Minutes, Hours, MonthDays []int
		WeekDays                  []string
		MonthlyOccurrences        []struct {
			Day        string
			Occurrence int
		}
	}
	Means string
}

func (r row) spec(t *testing.T) Spec {
	weekday := func(name string) time.Weekday {
		d, ok := ParseWeekday(name)
		if !ok {
			t.Fatalf("ParseWeekday(%q) knows no such day", name)
		}
		return d
	}
	f, ok := ParseFrequency(r.Frequency)
	if !ok {
		t.Fatalf("ParseFrequency(%q) knows no such unit", r.Frequency)
	}
	s := &Schedule{Minutes: r.Schedule.Minutes, Hours: r.Schedule.Hours, MonthDays: r.Schedule.MonthDays}
	for _, name := range r.Schedule.WeekDays {
		s.WeekDays = append(s.WeekDays, weekday(name))
	}
	for _, o := range r.Schedule.MonthlyOccurrences {
		s.MonthlyOccurrences = append(s.MonthlyOccurrences, MonthlyOccurrence{weekday(o.Day), o.Occurrence})
	}
	return Spec{Frequency: f, Schedule: s}
}

// TestDocumentedExamples checks each row over half a year against days and times
// written out from what the row means. The anchor is 1 January 2026, 10:42:13.
func TestDocumentedExamples(t *testing.T) {
	data, err := os.ReadFile("testdata/schedules.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}

	anchor, end := at("2026-01-01T10:42:13Z"), at("2026-07-01T00:00:00Z")
	daily := func(time.Time) bool { return true }
	on := func(days ...time.Weekday) func(time.Time) bool {
		return func(t time.Time) bool { return slices.Contains(days, t.Weekday()) }
	}
	dates := func(list string) func(time.Time) bool {
		return func(t time.Time) bool { return slices.Contains(strings.Fields(list), t.Format("1-2")) }
	}
	weekdays := on(time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday)
	monWedFri := on(time.Monday, time.Wednesday, time.Friday)
	const (
		atFive     = "05:15:00"
		fourTimes  = "05:15:00 05:45:00 17:15:00 17:45:00"
		quarters   = "hh:00:00 hh:15:00 hh:30:00 hh:45:00" // of every hour
		anchorTime = "10:42:13"

		firstFridays = "1-2 2-6 3-6 4-3 5-1 6-5"
		lastFridays  = "1-30 2-27 3-27 4-24 5-29 6-26"
	)
	expected := []struct {
		means string
		days  func(time.Time) bool
		times string
	}{
		{"05:mm every day; mm is the anchor's minute", daily, "05:42:13"},
		{"05:15 every day", daily, atFive},
		{"05:15 and 17:15 every day", daily, "05:15:00 17:15:00"},
		{"05:15, 05:45, 17:15, 17:45 every day", daily, fourTimes},
		{"every 15 minutes", daily, quarters},
		{"every hour at the anchor's minute", daily, "hh:42:13"},
		{"every hour on the hour (with week or month: only on the chosen day)", daily, "hh:00:00"},
		{"every hour at 15 past", daily, "hh:15:00"},
		{"Saturdays, 17:mm", on(time.Saturday), "17:42:13"},
		{"Mon, Wed, Fri, 17:mm", monWedFri, "17:42:13"},
		{"Mon, Wed, Fri, 17:15 and 17:45", monWedFri, "17:15:00 17:45:00"},
		{"Mon, Wed, Fri, 05:mm and 17:mm", monWedFri, "05:42:13 17:42:13"},
		{"Mon, Wed, Fri, 05:15 05:45 17:15 17:45", monWedFri, fourTimes},
		{"every 15 minutes on weekdays", weekdays, quarters},
		{"every 15 minutes on weekdays, 09:00 to 16:45", weekdays, func() string {
			var list []string
			for h := 9; h <= 16; h++ {
				list = append(list, strings.ReplaceAll(quarters, "hh", fmt.Sprintf("%02d", h)))
			}
			return strings.Join(list, " ")
		}()},
		{"Sundays at the anchor's time", on(time.Sunday), anchorTime},
		{"Tuesdays and Thursdays at the anchor's time", on(time.Tuesday, time.Thursday), anchorTime},
		{"the 28th, 06:00", dates("1-28 2-28 3-28 4-28 5-28 6-28"), "06:00:00"},
		{"the last day, 06:00", dates("1-31 2-28 3-31 4-30 5-31 6-30"), "06:00:00"},
		{"the first and the last day, 06:00", dates("1-1 1-31 2-1 2-28 3-1 3-31 4-1 4-30 5-1 5-31 6-1 6-30"), "06:00:00"},
		{"the first and the last day at the anchor's time", dates("1-1 1-31 2-1 2-28 3-1 3-31 4-1 4-30 5-1 5-31 6-1 6-30"), anchorTime},
		{"the 1st and the 14th at the anchor's time", dates("1-1 1-14 2-1 2-14 3-1 3-14 4-1 4-14 5-1 5-14 6-1 6-14"), anchorTime},
		{"the 2nd at the anchor's time", dates("1-2 2-2 3-2 4-2 5-2 6-2"), anchorTime},
		{"the first Friday, 05:00", dates(firstFridays), "05:00:00"},
		{"the first Friday at the anchor's time", dates(firstFridays), anchorTime},
		{"the third Friday from the end at the anchor's time", dates("1-16 2-13 3-13 4-10 5-15 6-12"), anchorTime},
		{"the first and the last Friday, 05:15", dates(firstFridays + " " + lastFridays), atFive},
		{"the first and the last Friday at the anchor's time", dates(firstFridays + " " + lastFridays), anchorTime},
		{"the fifth Friday, in months that have one, at the anchor's time", dates("1-30 5-29"), anchorTime},
		{"every 15 minutes of the last Friday", dates(lastFridays), quarters},
		{"the third Wednesday, 05:15 05:45 17:15 17:45", dates("1-21 2-18 3-18 4-15 5-20 6-17"), fourTimes},
	}
	if len(rows) != len(expected) {
		t.Fatalf("%d rows in the file, %d expectations", len(rows), len(expected))
	}
	for i, want := range expected {
		t.Run(want.means, func(t *testing.T) {
			if rows[i].Means != want.means {
				t.Fatalf("row %d means %q", i, rows[i].Means)
			}
			var times []time.Time
			for day := midnight(anchor); day.Before(end); day = day.AddDate(0, 0, 1) {
				if want.days(day) {
					times = append(times, timesOf(day, want.times, anchor)...)
				}
			}
			spec := rows[i].spec(t)
			got := collect(mustCompile(t, spec, anchor), anchor, end, len(times)+1)
			if diff := cmp.Diff(times, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			few := min(len(times), 20)
			if diff := cmp.Diff(times[:few], newOracle(spec, anchor).walk(anchor, end, few)); diff != "" {
				t.Errorf("the oracle is wrong (-want +got):\n%s", diff)
			}
		})
	}
}

// timesOf lists the times on a day that are not before the anchor. "hh" stands
// for every hour.
func timesOf(day time.Time, clocks string, anchor time.Time) []time.Time {
	hours := []string{""}
	if strings.Contains(clocks, "hh") {
		hours = nil
		for h := range 24 {
			hours = append(hours, fmt.Sprintf("%02d", h))
		}
	}
	var list []time.Time
	for _, hour := range hours {
		for clock := range strings.FieldsSeq(strings.ReplaceAll(clocks, "hh", hour)) {
			if t := at(day.Format(time.DateOnly) + "T" + clock + "Z"); !t.Before(anchor) {
				list = append(list, t)
			}
		}
	}
	return list
}
