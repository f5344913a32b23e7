package recur

// rounds is a grid of minutes or hours with a schedule. Its steps come round to
// the same times of day after a while (after 24/gcd(interval, 24) steps for
// hours), so which of the steps in one such round are chosen is all that there
// is to know about them, but for the months.
type rounds struct {
	steps        // the beginnings of the hours or minutes that are visited
	chosen  ring // of the steps in a round
	months  monthSet
	minutes bitSet // that an hour which is visited expands to; a minute has its minute 0
	offset  int64  // milliseconds into that minute
}

// newMinuteRounds makes the pattern of frequency minute, where every element of
// the schedule filters.
func newMinuteRounds(anchor, interval int64, s *Schedule) *rounds {
	return newRounds(anchor, interval, msPerMinute, minutesOfDay(s), &rounds{
		months:  monthsOf(s.Months),
		minutes: 1,
		offset:  anchor % msPerMinute,
	})
}

// newHourRounds makes the pattern of frequency hour, where Hours filters and
// Minutes expands.
func newHourRounds(anchor, interval int64, s *Schedule) *rounds {
	hours := minutesOfDay(&Schedule{Hours: s.Hours})
	minutes, offset := minutesOrAnchor(s, anchor)
	return newRounds(anchor, interval, msPerHour, hours, &rounds{
		months:  monthsOf(s.Months),
		minutes: minutes,
		offset:  offset,
	})
}

// newRounds completes p with its grid, and with those of its steps whose minute
// of the day is chosen.
func newRounds(anchor, interval, unit int64, chosen ring, p *rounds) *rounds {
	p.steps = steps{anchor: anchor - anchor%unit, step: interval * unit}
	p.chosen.size = int(msPerDay / gcd(p.step, msPerDay))
	_, ms := split(p.anchor)
	for k := range p.chosen.size {
		if chosen.has(int((ms + int64(k)*p.step) / msPerMinute)) {
			p.chosen.add(k)
		}
	}
	return p
}

// atOrAfter turns its loop at most twice for each run of months that are not
// chosen: the ring knows the next step whose time of day is right, however far.
func (p *rounds) atOrAfter(from int64) int64 {
	// The step that from lies in may still have a chosen minute.
	rest := max(from-p.anchor-p.offset, 0)
	k, minute := rest/p.step, (rest%p.step+msPerMinute-1)/msPerMinute
	for {
		distance, ok := p.chosen.from(int(k % int64(p.chosen.size)))
		if !ok {
			return never
		}
		k += int64(distance)
		if distance > 0 {
			minute = 0
		}
		at := p.anchor + k*p.step
		if at > horizon {
			return never
		}
		day, _ := split(at)
		if next := p.months.admit(day); next != day {
			k, minute = p.stepAtOrAfter(startOf(next)), 0
			continue
		}
		if left := p.minutes >> minute; left != 0 {
			return at + (minute+int64(left.first()))*msPerMinute + p.offset
		}
		k, minute = k+1, 0
	}
}
