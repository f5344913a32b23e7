package gosdk

import (
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler"
)

// Every form of recurrence is answered as it was put, in lower case, and occurs
// first when it should.
func TestRecurrences(t *testing.T) {
	t.Parallel()
	c := connected(t)
	midnight := later.Truncate(24 * time.Hour)
	monday := midnight.AddDate(0, 0, (8-int(midnight.Weekday()))%7).Add(6*time.Hour + 30*time.Minute)
	first := time.Date(midnight.Year(), midnight.Month()+2, 1, 6, 30, 0, 0, time.UTC)
	friday := first.AddDate(0, 0, (12-int(first.Weekday()))%7)
	end := at(monday.AddDate(0, 6, 0))
	halfAnHourAgo := time.Now().UTC().Truncate(time.Second).Add(-30 * time.Minute)

	every := func(n int32, f scheduler.RecurrenceFrequency) scheduler.JobRecurrence {
		return scheduler.JobRecurrence{Frequency: f, Interval: &n}
	}
	by := func(f scheduler.RecurrenceFrequency, s scheduler.JobRecurrenceSchedule) scheduler.JobRecurrence {
		return scheduler.JobRecurrence{Frequency: f, Interval: new(int32(1)), Schedule: &s}
	}
	fridays := func(occurrences ...*int32) *[]scheduler.JobRecurrenceScheduleMonthlyOccurrence {
		var list []scheduler.JobRecurrenceScheduleMonthlyOccurrence
		for _, n := range occurrences {
			list = append(list, scheduler.JobRecurrenceScheduleMonthlyOccurrence{Day: scheduler.JobScheduleDayFriday, Occurrence: n})
		}
		return &list
	}
	for _, row := range []struct {
		name  string
		start time.Time
		put   scheduler.JobRecurrence
		next  time.Time
	}{
		{"5 minutes", monday, every(5, scheduler.Minute), monday},
		{"12 hours", monday, every(12, scheduler.Hour), monday},
		{"548 days", monday, every(548, scheduler.Day), monday},
		{"78 weeks", monday, every(78, scheduler.Week), monday},
		{"18 months", monday, every(18, scheduler.Month), monday},
		{"year, which the SDK has no name for", monday, every(1, "Year"), monday},
		{"started in the past", halfAnHourAgo, every(1, scheduler.Hour), halfAnHourAgo.Add(time.Hour)},
		{"count", monday, scheduler.JobRecurrence{Frequency: scheduler.Day, Interval: new(int32(2)), Count: new(int32(10))}, monday},
		{"endTime", monday, scheduler.JobRecurrence{Frequency: scheduler.Day, Interval: new(int32(2)), EndTime: end}, monday},
		{"count and endTime", monday, scheduler.JobRecurrence{Frequency: scheduler.Day, Interval: new(int32(2)), Count: new(int32(10)), EndTime: end}, monday},
		{"no interval", monday, scheduler.JobRecurrence{Frequency: scheduler.Day}, monday},

		{"minutes of hours", monday, by(scheduler.Day, scheduler.JobRecurrenceSchedule{
			Hours: &[]int32{5, 9}, Minutes: &[]int32{15, 45},
		}), clock(monday, 9, 15)},
		{"minutes of every hour", monday, by(scheduler.Day, scheduler.JobRecurrenceSchedule{Minutes: &[]int32{0}}), clock(monday, 7, 0)},
		{"hours at the start's minute", monday, by(scheduler.Day, scheduler.JobRecurrenceSchedule{Hours: &[]int32{5}}), clock(monday.AddDate(0, 0, 1), 5, 30)},
		{"minutes with an hourly job", monday, by(scheduler.Hour, scheduler.JobRecurrenceSchedule{Minutes: &[]int32{15}}), clock(monday, 7, 15)},
		{"weekDays", monday, by(scheduler.Week, scheduler.JobRecurrenceSchedule{
			WeekDays: &[]scheduler.DayOfWeek{scheduler.Sunday, scheduler.Wednesday},
		}), monday.AddDate(0, 0, 2)},
		{"weekDays, hours and minutes", monday, by(scheduler.Week, scheduler.JobRecurrenceSchedule{
			WeekDays: &[]scheduler.DayOfWeek{scheduler.Saturday}, Hours: &[]int32{17}, Minutes: &[]int32{15},
		}), clock(monday.AddDate(0, 0, 5), 17, 15)},
		{"every day of the week", monday, by(scheduler.Week, scheduler.JobRecurrenceSchedule{WeekDays: new(scheduler.PossibleDayOfWeekValues())}), monday},
		{"monthDays", first, by(scheduler.Month, scheduler.JobRecurrenceSchedule{MonthDays: &[]int32{15, 28}}), first.AddDate(0, 0, 14)},
		{"last of monthDays", first, by(scheduler.Month, scheduler.JobRecurrenceSchedule{
			MonthDays: &[]int32{-1}, Hours: &[]int32{6}, Minutes: &[]int32{0},
		}), clock(first.AddDate(0, 1, -1), 6, 0)},
		{"first of monthlyOccurrences", first, by(scheduler.Month, scheduler.JobRecurrenceSchedule{
			MonthlyOccurrences: fridays(new(int32(1))), Hours: &[]int32{17}, Minutes: &[]int32{0},
		}), clock(friday, 17, 0)},
		{"third of monthlyOccurrences", first, by(scheduler.Month, scheduler.JobRecurrenceSchedule{
			MonthlyOccurrences: fridays(new(int32(3)), new(int32(-1))),
		}), friday.AddDate(0, 0, 14)},
		{"all of monthlyOccurrences", first, by(scheduler.Month, scheduler.JobRecurrenceSchedule{MonthlyOccurrences: fridays(nil)}), friday},
	} {
		got := c.put("j", scheduler.JobProperties{
			StartTime: at(row.start), Recurrence: &row.put,
			Action: &scheduler.JobAction{Type: scheduler.HTTPS, Request: request(nil)},
		})
		t.Run(row.name, func(t *testing.T) {
			same(t, got.Properties.Recurrence, spelled(row.put))
			same(t, got.Properties.StartTime, at(row.start))
			same(t, got.Properties.Status.NextExecutionTime, at(row.next))
		})
	}
}

// clock is a time of t's day.
func clock(t time.Time, hour, minute int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), hour, minute, 0, 0, time.UTC)
}

// spelled is a recurrence as it is answered: its words in lower case, and its
// interval, which is 1 unless it was given.
func spelled(r scheduler.JobRecurrence) *scheduler.JobRecurrence {
	r.Frequency = lower(r.Frequency)
	if r.Interval == nil {
		r.Interval = new(int32(1))
	}
	if r.Schedule == nil {
		return &r
	}
	s := *r.Schedule
	if s.WeekDays != nil {
		days := make([]scheduler.DayOfWeek, len(*s.WeekDays))
		for i, day := range *s.WeekDays {
			days[i] = lower(day)
		}
		s.WeekDays = &days
	}
	if s.MonthlyOccurrences != nil {
		occurrences := append([]scheduler.JobRecurrenceScheduleMonthlyOccurrence(nil), *s.MonthlyOccurrences...)
		for i := range occurrences {
			occurrences[i].Day = lower(occurrences[i].Day)
		}
		s.MonthlyOccurrences = &occurrences
	}
	r.Schedule = &s
	return &r
}

func lower[T ~string](s T) T { return T(strings.ToLower(string(s))) }
