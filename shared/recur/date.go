package recur

import (
	"math"
	"time"
)

// Inside this package time is whole numbers, none of them negative:
//
//   - an instant is the number of milliseconds since the start of the year 1
//     (UTC, in the Gregorian calendar extended backwards, as in time.Time);
//   - a day is the number of days since then, so day 0 was a Monday;
//   - a month is the number of months since then, so month%12 is 0 in January.
const (
	msPerSecond = 1000
	msPerMinute = 60 * msPerSecond
	msPerHour   = 60 * msPerMinute
	msPerDay    = 24 * msPerHour

	// unixEpoch is 1970-01-01T00:00:00Z in seconds since the start of year 1.
	unixEpoch = 62_135_596_800

	// The calendar ends with the year 9999, because neither RFC 3339 nor .NET
	// can write a later time (our decision). So every search is bounded: a
	// recurrence occurs up to the horizon or never. Nothing is missed for it
	// that people would wait for: whatever an interval of n units does to the
	// calendar, it does again after 400·n years at most.
	lastDay   = 3_652_058    // 9999-12-31
	lastMonth = 9998*12 + 11 // December 9999
	horizon   = (lastDay+1)*msPerDay - 1
	never     = int64(math.MaxInt64) // an instant beyond the horizon
	noDay     = math.MaxInt32        // a day beyond it
)

// firstDay is the first day of a month.
func firstDay(month int) int {
	// Years are made to begin in March, so that the leap day comes last: the
	// lengths of the first n months then lie on a straight line.
	march := month + 10 // months since March of the year 0
	year, n := march/12, march%12
	return 365*year + year/4 - year/100 + year/400 + (153*n+2)/5 - daysBeforeYear1
}

// daysBeforeYear1 is the length of March to December of the year 0.
const daysBeforeYear1 = 306

// monthOf returns the month that a day lies in, and the day of the month, from
// 1. It undoes firstDay.
func monthOf(day int) (month, dayOfMonth int) {
	day += daysBeforeYear1
	era, day := day/daysPer400Years, day%daysPer400Years
	year := (day - day/1460 + day/36524 - day/146096) / 365
	day -= 365*year + year/4 - year/100
	n := (5*day + 2) / 153
	return (400*era+year)*12 + n - 10, day - (153*n+2)/5 + 1
}

// The Gregorian calendar repeats after 400 years, its weekdays included.
const (
	daysPer400Years   = 146_097
	monthsPer400Years = 4800
)

// monthLength is the number of days in a month.
func monthLength(month int) int { return firstDay(month+1) - firstDay(month) }

// weekdayOf returns the weekday of a day.
func weekdayOf(day int) time.Weekday { return time.Weekday((day + 1) % 7) }

// split returns the day of an instant and the milliseconds into that day.
func split(instant int64) (day int, ms int64) {
	return int(instant / msPerDay), instant % msPerDay
}

// startOf is the instant at which a day begins.
func startOf(day int) int64 { return int64(day) * msPerDay }

// floor returns the last instant that is not after t: −1 if t lies before the
// year 1, never if it lies beyond the horizon.
func floor(t time.Time) int64 {
	sec := t.Unix()
	switch {
	case sec < -unixEpoch:
		return -1
	case sec > horizon/msPerSecond-unixEpoch:
		return never
	}
	return (sec+unixEpoch)*msPerSecond + int64(t.Nanosecond())/int64(time.Millisecond)
}

// timeOf is the time.Time of an instant, in UTC.
func timeOf(instant int64) time.Time {
	return time.UnixMilli(instant - unixEpoch*msPerSecond).UTC()
}
