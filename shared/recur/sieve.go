package recur

// sieve is a grid of seconds whose schedule strikes out the steps that fall
// into other months or other minutes of the day.
type sieve struct {
	steps
	months  monthSet
	minutes ring // of the day
}

// newSieve leaves out of the minutes those that no step ever falls into, so
// that the ring is empty if the schedule never comes true.
func newSieve(g steps, s *Schedule) *sieve {
	p := &sieve{steps: g, months: monthsOf(s.Months), minutes: ring{size: minutesPerDay}}
	chosen := minutesOfDay(s)
	// All steps are the anchor's time of day plus a multiple of common.
	common := gcd(g.step, msPerDay)
	_, anchor := split(g.anchor)
	for m := range minutesPerDay {
		wait := (anchor - int64(m)*msPerMinute + msPerDay) % common // from the minute's start to a step
		if wait < msPerMinute && chosen.has(m) {
			p.minutes.add(m)
		}
	}
	return p
}

// atOrAfter leaps from step to step where the schedule allows, and otherwise
// straight to the next month or minute that it names. A step of up to a minute
// cannot miss that minute. A longer one can, and then each leap costs one turn
// of the loop: at most one for each run of chosen minutes in step/common days,
// after which the times of day repeat.
func (p *sieve) atOrAfter(from int64) int64 {
	for {
		at := p.steps.atOrAfter(from)
		if at > horizon {
			return never
		}
		day, ms := split(at)
		if next := p.months.admit(day); next != day {
			from = startOf(next)
			continue
		}
		minute := int(ms / msPerMinute)
		distance, ok := p.minutes.from(minute)
		switch {
		case !ok:
			return never
		case distance == 0:
			return at
		}
		from = startOf(day) + int64(minute+distance)*msPerMinute
	}
}

// minutesOfDay is the set of minutes of the day that a schedule's hours and
// minutes let pass, an element that is not given letting everything pass.
func minutesOfDay(s *Schedule) ring {
	hours, minutes := setOrAll(s.Hours, 24), setOrAll(s.Minutes, 60)
	r := ring{size: minutesPerDay}
	for m := range minutesPerDay {
		if hours.has(m/60) && minutes.has(m%60) {
			r.add(m)
		}
	}
	return r
}

func gcd[V int | int64](a, b V) V {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
