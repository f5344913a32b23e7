// Package recur computes the occurrences of a recurrence as Azure Scheduler
// defined it: a grid (every n seconds … years from an anchor), and on top of it
// an optional schedule that picks months, days, hours and minutes.
//
// A Spec is what the user wrote. Compile checks it, fixes its anchor and turns
// it into a Series of bitmaps and steps, and Series.Next answers the only
// question there is: which occurrence comes after t?
//
// The package is pure. It reads no clock, imports the standard library only,
// and returns the same answer for the same arguments; it must not know of jobs,
// of counts of executions, of stores, or of how recurrences are spelled on the
// wire (but for the names of frequencies and weekdays, and the names of fields
// in its errors). Everything is UTC and in whole milliseconds.
//
// Where a behaviour has a source it is named: "Azure documentation" (the
// retired service's pages), "recorded" (seen in traffic of the live service),
// or "our decision" where these are silent or contradict each other.
package recur

import "time"

// Spec is a recurrence as the user wrote it. Its zero value is invalid: a
// Frequency is required.
type Spec struct {
	// Frequency is the unit that Interval counts.
	Frequency Frequency `json:"frequency"`
	// Interval is the number of units from one step of the grid to the next;
	// 0 means 1. At most 1000 seconds, minutes or hours (our decision), 548
	// days, 78 weeks, 18 months or 1 year: 18 months is the longest span
	// (Azure documentation).
	Interval int `json:"interval,omitempty"`
	// Count is the number of executions after which the job ends; 0 means no
	// limit. It counts executions, not calendar dates (recorded), so it is
	// carried here and counted by the caller: Next does not look at it.
	Count int `json:"count,omitempty"`
	// EndAt is the last instant at which an occurrence may lie: one at EndAt
	// itself still does. The zero time means never.
	EndAt time.Time `json:"endAt,omitzero"`
	// Schedule picks times from the grid, or adds times to it. Nil means the
	// plain grid: anchor, anchor + interval, anchor + 2·interval …
	Schedule *Schedule `json:"schedule,omitempty"`
}

// Schedule says which months, days, hours and minutes a recurrence occurs at.
// A nil slice means that the element was not given. An empty slice that is not
// nil is invalid, and duplicates and order do not matter (our decision).
//
// What an element does depends on the frequency (our decision, after RFC 5545):
//
//	           Months   days    Hours    Minutes
//	second     filter   –       filter   filter
//	minute     filter   –       filter   filter
//	hour       filter   –       filter   expand
//	day        filter   –       expand   expand
//	week       filter   expand  expand   expand
//	month      filter   expand  expand   expand
//	year       expand   –       expand   expand
//
// To filter is to strike steps of the grid out; to expand is to put several
// occurrences into one step, and to place them. What is not given defaults,
// from frequency hour upwards (Azure documentation, table of examples):
//
//   - Hours given, Minutes not: the anchor's minute.
//   - Minutes given, Hours not: every hour. (RFC 5545 would keep the anchor's.)
//   - Neither: the anchor's hour and minute, or with frequency hour its minute.
//   - Frequency week, no WeekDays: the anchor's weekday.
//   - Frequency month, neither MonthDays nor MonthlyOccurrences: the anchor's
//     day of the month, or the month's last day where that is earlier.
//   - Frequency year: the anchor's day of the month, likewise, in each of
//     Months, or else in the anchor's month.
//   - The seconds of an occurrence are 0 where Minutes is given, else the
//     anchor's, fraction included (our decision).
type Schedule struct {
	// Months are 1 (January) to 12. With any frequency.
	Months []int `json:"months,omitempty"`
	// WeekDays go only with frequency week. With an interval of several weeks,
	// a week begins on Monday (our decision, RFC 5545's default).
	WeekDays []time.Weekday `json:"weekDays,omitempty"`
	// MonthDays are 1 to 31, or −1 (the last day of the month) to −31. Months
	// without such a day are passed over (Azure documentation). They go only
	// with frequency month.
	MonthDays []int `json:"monthDays,omitempty"`
	// MonthlyOccurrences go only with frequency month. With MonthDays too, a
	// day must be in both (our decision).
	MonthlyOccurrences []MonthlyOccurrence `json:"monthlyOccurrences,omitempty"`
	// Hours are 0 to 23; 24 means 0.
	Hours []int `json:"hours,omitempty"`
	// Minutes are 0 to 59.
	Minutes []int `json:"minutes,omitempty"`
}

// MonthlyOccurrence is a weekday by its place in the month: the second Tuesday,
// the last Friday.
type MonthlyOccurrence struct {
	Day time.Weekday `json:"day"`
	// Occurrence is 1 (the first such day of the month) to 5, or −1 (the last)
	// to −5; months without it are passed over. 0 means every such day.
	Occurrence int `json:"occurrence,omitempty"`
}

// every is the interval with its default applied.
func (s Spec) every() int {
	if s.Interval == 0 {
		return 1
	}
	return s.Interval
}
