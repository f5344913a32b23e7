package job_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/recur"
)

// at parses an instant; the empty string is the zero time.
func at(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t
}

// now is when the jobs of these tests are created, unless they say otherwise.
const now = "2026-05-06T07:08:09.5Z"

// created returns an enabled job as created at an instant.
func created(when, start string, r *recur.Spec) *job.Job {
	j := &job.Job{
		UID: "u", Revision: 1, Series: 1, CreatedAt: at(when), SeriesAt: at(when), ActiveFrom: at(when),
		Anchor:     at(start),
		Definition: job.Definition{StartAt: at(start), Recurrence: r, State: job.Enabled},
	}
	if start == "" {
		j.Anchor = at(when)
	}
	return j
}

// occurrences returns the first n occurrences after last.
func occurrences(t *testing.T, j *job.Job, last, activeFrom string, n int) []string {
	t.Helper()
	var list []string
	newest := at(last)
	for range n {
		next, err := j.NextAfter(newest, at(activeFrom))
		if err != nil {
			t.Fatal(err)
		}
		if next.IsZero() {
			return append(list, "never")
		}
		list = append(list, next.Format(time.RFC3339Nano))
		newest = next
	}
	return list
}

// AZURE.md §6, the table of start times, cell by cell.
func TestStartTimes(t *testing.T) {
	hourly := &recur.Spec{Frequency: recur.Hour, Interval: 5}
	daily := &recur.Spec{Frequency: recur.Day, Interval: 3, Schedule: &recur.Schedule{Hours: []int{6, 18}, Minutes: []int{0}}}
	const past, future = "2026-05-01T00:10:00Z", "2026-06-01T09:00:00Z"
	for _, tt := range []struct {
		name  string
		start string
		recur *recur.Spec
		want  []string
	}{
		{"none, no recurrence: once, now", "", nil, []string{now, "never"}},
		{"none, recurrence: now, then every interval", "", hourly, []string{now, "2026-05-06T12:08:09.5Z", "2026-05-06T17:08:09.5Z"}},
		{
			"none, recurrence with schedule: now, then by the schedule", "", daily,
			[]string{now, "2026-05-06T18:00:00Z", "2026-05-09T06:00:00Z", "2026-05-09T18:00:00Z"},
		},
		{"past, no recurrence: once, now", past, nil, []string{now, "never"}},
		{"past, recurrence: first of startTime + n·interval ≥ now", past, hourly, []string{"2026-05-06T10:10:00Z", "2026-05-06T15:10:00Z"}},
		{
			"past, recurrence with schedule: first of the schedule ≥ now, counted from startTime", past, daily,
			[]string{"2026-05-07T06:00:00Z", "2026-05-07T18:00:00Z", "2026-05-10T06:00:00Z"},
		},
		{"future, no recurrence: once, then", future, nil, []string{future, "never"}},
		{"future, recurrence: startTime, then every interval", future, hourly, []string{future, "2026-06-01T14:00:00Z"}},
		{
			"future, recurrence with schedule: first of the schedule ≥ startTime", future, daily,
			[]string{"2026-06-01T18:00:00Z", "2026-06-04T06:00:00Z"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := occurrences(t, created(now, tt.start, tt.recur), "", "", len(tt.want))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("occurrences (-want +got):\n%s", diff)
			}
		})
	}
}

// AZURE.md §6: "first of startTime + n·interval that is ≥ now": now itself is one.
func TestNowIsAnOccurrenceOfAPastStart(t *testing.T) {
	j := created("2026-05-06T10:00:00Z", "2026-05-06T06:00:00Z", &recur.Spec{Frequency: recur.Hour, Interval: 2})
	if diff := cmp.Diff([]string{"2026-05-06T10:00:00Z", "2026-05-06T12:00:00Z"}, occurrences(t, j, "", "", 2)); diff != "" {
		t.Errorf("occurrences (-want +got):\n%s", diff)
	}
}

// AZURE.md §6: "the grid is anchored at the first planned time. Month and year
// steps count from the anchor and clamp to the month's last day (31 Jan → 28 Feb
// → 31 Mar)".
func TestMonthsClampFromTheAnchor(t *testing.T) {
	j := created("2026-01-31T12:00:00Z", "", &recur.Spec{Frequency: recur.Month})
	want := []string{"2026-01-31T12:00:00Z", "2026-02-28T12:00:00Z", "2026-03-31T12:00:00Z", "2026-04-30T12:00:00Z"}
	if diff := cmp.Diff(want, occurrences(t, j, "", "", 4)); diff != "" {
		t.Errorf("occurrences (-want +got):\n%s", diff)
	}
}

func TestEndTime(t *testing.T) {
	j := created(now, "2026-05-07T00:00:00Z", &recur.Spec{Frequency: recur.Day, EndAt: at("2026-05-08T00:00:00Z")})
	if diff := cmp.Diff([]string{"2026-05-07T00:00:00Z", "2026-05-08T00:00:00Z", "never"}, occurrences(t, j, "", "", 4)); diff != "" {
		t.Errorf("occurrences (-want +got):\n%s", diff)
	}
}

// A millisecond is the grain of occurrences, and none is early.
func TestRoundsUpToMilliseconds(t *testing.T) {
	j := created("2026-05-06T07:08:09.5000001Z", "", &recur.Spec{Frequency: recur.Minute})
	if diff := cmp.Diff([]string{"2026-05-06T07:08:09.501Z", "2026-05-06T07:09:09.501Z"}, occurrences(t, j, "", "", 2)); diff != "" {
		t.Errorf("occurrences (-want +got):\n%s", diff)
	}
	once := created("2026-05-06T07:08:09.5000001Z", "2026-05-01T00:00:00Z", nil)
	if diff := cmp.Diff([]string{"2026-05-06T07:08:09.501Z", "never"}, occurrences(t, once, "", "", 2)); diff != "" {
		t.Errorf("occurrences (-want +got):\n%s", diff)
	}
}

func TestCeil(t *testing.T) {
	for in, want := range map[string]string{
		now:                                   now,
		"2026-05-06T07:08:09.500000001Z":      "2026-05-06T07:08:09.501Z",
		"2026-05-06T07:08:09.9999Z":           "2026-05-06T07:08:10Z",
		"2026-05-06T09:08:09.25+02:00":        "2026-05-06T07:08:09.25Z",
		"1969-12-31T23:59:59.999900000+00:00": "1970-01-01T00:00:00Z",
	} {
		if got := job.Ceil(at(in)); got.Format(time.RFC3339Nano) != want || got.Location() != time.UTC {
			t.Errorf("Ceil(%s) = %v, want %s in UTC", in, got, want)
		}
	}
}

// AZURE.md §6: "Disable, then enable a job: occurrences in between are not made
// up", and what that means for a job that runs once.
func TestActiveFrom(t *testing.T) {
	const later = "2026-05-06T10:00:00.001Z"
	hourly := &recur.Spec{Frequency: recur.Hour}
	for _, tt := range []struct {
		name        string
		start, last string
		recur       *recur.Spec
		want        []string
	}{
		{"recurring", "", "2026-05-06T08:08:09.5Z", hourly, []string{"2026-05-06T10:08:09.5Z", "2026-05-06T11:08:09.5Z"}},
		{"recurring, before its first occurrence", "", "", hourly, []string{"2026-05-06T10:08:09.5Z"}},
		{"recurring, start passed meanwhile", "2026-05-06T09:30:00Z", "", hourly, []string{"2026-05-06T10:30:00Z"}},
		{"recurring, start still ahead", "2026-05-06T11:45:00Z", "", hourly, []string{"2026-05-06T11:45:00Z"}},
		{"once, done before", "", now, nil, []string{"never"}},
		{"once, without a start: at the moment of enabling", "", "", nil, []string{later}},
		{"once, start had passed at creation: at the moment of enabling", "2026-05-06T00:00:00Z", "", nil, []string{later}},
		{"once, start passed while it was disabled: never", "2026-05-06T09:30:00Z", "", nil, []string{"never"}},
		{"once, start at the moment of enabling", later, "", nil, []string{later}},
		{"once, start still ahead", "2026-05-06T11:45:00Z", "", nil, []string{"2026-05-06T11:45:00Z"}},
	} {
		t.Run("job/"+tt.name, func(t *testing.T) {
			j := created(now, tt.start, tt.recur)
			j.ActiveFrom = at(later)
			if diff := cmp.Diff(tt.want, occurrences(t, j, tt.last, "", len(tt.want))); diff != "" {
				t.Errorf("occurrences (-want +got):\n%s", diff)
			}
		})
		// AZURE.md §6: "Disabling a collection stops all its jobs; enabling
		// restores those that were enabled": as if each had been disabled.
		t.Run("collection/"+tt.name, func(t *testing.T) {
			j := created(now, tt.start, tt.recur)
			if diff := cmp.Diff(tt.want, occurrences(t, j, tt.last, later, len(tt.want))); diff != "" {
				t.Errorf("occurrences (-want +got):\n%s", diff)
			}
		})
	}
}

// A job created disabled begins when it is first enabled.
func TestEnabledLaterWithoutStart(t *testing.T) {
	j := created("2026-05-06T10:00:00Z", "", &recur.Spec{Frequency: recur.Hour})
	j.CreatedAt, j.SeriesAt = at(now), at(now)
	if diff := cmp.Diff([]string{"2026-05-06T10:00:00Z", "2026-05-06T11:00:00Z"}, occurrences(t, j, "", now, 2)); diff != "" {
		t.Errorf("occurrences (-want +got):\n%s", diff)
	}
}

// A new series does not continue the one before: what that planned last counts
// for nothing.
func TestNewSeriesAfterAnOldOne(t *testing.T) {
	const old = "2026-05-06T07:08:09.499Z" // a moment before the change
	for _, tt := range []struct {
		name  string
		start string
		recur *recur.Spec
		want  []string
	}{
		{"once, now", "", nil, []string{now, "never"}},
		{"once, later", "2026-05-07T00:00:00Z", nil, []string{"2026-05-07T00:00:00Z", "never"}},
		{"recurring, now", "", &recur.Spec{Frequency: recur.Day}, []string{now, "2026-05-07T07:08:09.5Z"}},
		{"recurring, past start", "2026-05-01T00:00:00Z", &recur.Spec{Frequency: recur.Day}, []string{"2026-05-07T00:00:00Z"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := created(now, tt.start, tt.recur)
			j.CreatedAt, j.Revision, j.Series = at("2026-01-01T00:00:00Z"), 2, 2
			if diff := cmp.Diff(tt.want, occurrences(t, j, old, "", len(tt.want))); diff != "" {
				t.Errorf("occurrences (-want +got):\n%s", diff)
			}
		})
	}
}

// The timetable alone, as planners walk through it.
func TestTimetableNext(t *testing.T) {
	j := created(now, "", nil)
	once, err := job.NewTimetable(&j.Definition, j.Anchor)
	if err != nil {
		t.Fatal(err)
	}
	if next := once.Next(at(now)); !next.IsZero() {
		t.Errorf("a job that runs once runs again at %v", next)
	}
	j.Recurrence = &recur.Spec{Frequency: recur.Minute, Count: 1} // it does not count
	often, err := job.NewTimetable(&j.Definition, j.Anchor)
	if err != nil {
		t.Fatal(err)
	}
	if next := often.Next(at(now)); !next.Equal(at("2026-05-06T07:09:09.5Z")) {
		t.Errorf("next is %v", next)
	}
}

func TestInvalidTimetable(t *testing.T) {
	j := created(now, "", &recur.Spec{Frequency: recur.Minute, Interval: 5000})
	_, err := j.NextAfter(time.Time{}, time.Time{})
	var invalid *job.InvalidError
	if !errors.As(err, &invalid) || invalid.Field != "recurrence.interval" {
		t.Errorf("error is %v, want one that names recurrence.interval", err)
	}
}
