package recur

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/teambition/rrule-go"
)

// TestAgreesWithRFC5545 compares random series with rrule-go's, wherever a
// recurrence rule means the same. Where it does not, ruleOf says why.
func TestAgreesWithRFC5545(t *testing.T) {
	const limit = 60
	r := seeded(5545)
	compared := map[Frequency]int{}
	for range 1200 {
		spec := randomSpec(r)
		anchor := randomAnchor(r).Truncate(time.Second) // a DTSTART has no fractions
		option, ok := ruleOf(spec, anchor)
		if !ok {
			continue
		}
		series, err := Compile(spec, anchor)
		if err != nil {
			continue // rrule-go would search to the year 9999
		}
		option.Until = anchor.Add(window(spec.Frequency))
		rule, err := rrule.NewRRule(option)
		if err != nil {
			t.Fatalf("%s: %v", show(spec), err)
		}
		var want []time.Time
		next := rule.Iterator()
		for len(want) < limit {
			occurrence, ok := next()
			if !ok {
				break
			}
			want = append(want, occurrence)
		}
		got := collect(series, anchor, option.Until.Add(1), limit)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s, anchor %s (-%s +Next):\n%s", show(spec), anchor, rule, diff)
		}
		compared[spec.Frequency]++
	}
	for f := Second; f <= Year; f++ {
		if compared[f] < 10 {
			t.Errorf("only %d series compared for frequency %v", compared[f], f)
		}
	}
}

// ruleOf translates a Spec, and reports whether RFC 5545 can say the same.
func ruleOf(s Spec, anchor time.Time) (rrule.ROption, bool) {
	option := rrule.ROption{Dtstart: anchor, Interval: max(s.Interval, 1), Wkst: rrule.MO}
	switch s.Frequency {
	case Second:
		option.Freq = rrule.SECONDLY
	case Minute:
		option.Freq = rrule.MINUTELY
	case Hour:
		option.Freq = rrule.HOURLY
	case Day:
		option.Freq = rrule.DAILY
	case Week:
		option.Freq = rrule.WEEKLY
	case Month:
		option.Freq = rrule.MONTHLY
	case Year:
		option.Freq = rrule.YEARLY
	}
	schedule := s.Schedule
	if schedule == nil {
		schedule = &Schedule{}
	}
	// The anchor's day is clamped to a short month's last day; RFC 5545 skips the
	// month.
	days := schedule.MonthDays != nil || schedule.MonthlyOccurrences != nil
	if s.Frequency.months() != 0 && !days && anchor.Day() > 28 {
		return option, false
	}
	// Minutes without hours mean every hour; RFC 5545 keeps the anchor's.
	if s.Frequency >= Day && schedule.Minutes != nil && schedule.Hours == nil {
		return option, false
	}

	option.Bymonth, option.Byminute, option.Bymonthday = schedule.Months, unique(schedule.Minutes), schedule.MonthDays
	for _, h := range schedule.Hours {
		option.Byhour = append(option.Byhour, h%24)
	}
	option.Byhour = unique(option.Byhour)
	// Seconds are 0 where minutes are given; RFC 5545 keeps the anchor's, but can
	// say so.
	if s.Frequency >= Hour && schedule.Minutes != nil {
		option.Bysecond = []int{0}
	}
	weekdays := []rrule.Weekday{rrule.SU, rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR, rrule.SA}
	for _, d := range schedule.WeekDays {
		option.Byweekday = append(option.Byweekday, weekdays[d])
	}
	placed := 0
	for _, o := range schedule.MonthlyOccurrences {
		day := weekdays[o.Day]
		if o.Occurrence != 0 {
			day = day.Nth(o.Occurrence)
			placed++
		}
		option.Byweekday = append(option.Byweekday, day)
	}
	// BYDAY=FR,1MO means either, in the RFC and here; rrule-go wants both at once.
	if placed != 0 && placed != len(schedule.MonthlyOccurrences) {
		return option, false
	}
	return option, true
}

// unique spares rrule-go duplicates, which it would repeat occurrences for.
func unique(values []int) []int { return slices.Compact(slices.Sorted(slices.Values(values))) }
