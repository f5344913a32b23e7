package job

import (
	"time"

	"github.com/carillon-scheduler/carillon/shared/recur"
)

// Timetable says when a job is due: its recurrence with the meaning that a
// start time, or its absence, gives to it (AZURE, schedules; Azure
// documentation: Scheduler concepts, recurrence). It does not count. It is
// immutable.
type Timetable struct {
	anchor time.Time
	start  bool          // the anchor is the user's startTime
	series *recur.Series // nil: once
}

// NewTimetable compiles d's recurrence, counted from anchor: the user's start
// time, or when the series began if there is none. Its errors are
// [InvalidError].
func NewTimetable(d *Definition, anchor time.Time) (Timetable, error) {
	t := Timetable{anchor: Ceil(anchor), start: !d.StartAt.IsZero()}
	if d.Recurrence == nil {
		return t, nil
	}
	s, err := recur.Compile(*d.Recurrence, t.anchor)
	if err != nil {
		return Timetable{}, err
	}
	t.series = s
	return t, nil
}

// First is [Job.NextAfter] of the job whose timetable this is.
func (t Timetable) First(j *Job, last, activeFrom time.Time) time.Time {
	from := Ceil(later(j.ActiveFrom, activeFrom))
	if last.Before(j.SeriesAt) {
		last = time.Time{} // of an earlier series
	}
	switch {
	case t.series == nil && !last.IsZero():
		return time.Time{}
	case last.IsZero() && !t.start && !from.After(t.anchor):
		return t.anchor // without a start time: now, whatever the schedule says
	case t.series == nil && t.start && t.anchor.After(j.SeriesAt) && from.After(t.anchor):
		return time.Time{} // its time passed while it was disabled
	case t.series == nil:
		return later(t.anchor, from)
	}
	return t.series.Next(later(last, from.Add(-time.Millisecond)))
}

// Next returns the first occurrence after t, itself an occurrence. It returns
// the zero time if there is none.
func (t Timetable) Next(after time.Time) time.Time {
	if t.series == nil {
		return time.Time{}
	}
	return t.series.Next(after)
}

// Ceil rounds t up to whole milliseconds, in UTC: a millisecond is the grain in
// which occurrences are planned, and rounding down would be early.
func Ceil(t time.Time) time.Time {
	f := t.UTC().Truncate(time.Millisecond)
	if f.Before(t) {
		f = f.Add(time.Millisecond)
	}
	return f
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
