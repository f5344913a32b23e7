package verify

import (
	"fmt"
	"time"
)

// chain judges the attempts of an occurrence: when they came, how many, and
// whether the error action came when it had to and only then.
func (c *jobCase) chain(o *occurrence) {
	if first := o.attempts[place{mainAction, 1}]; first != nil && len(first.performances) > 0 {
		at := first.performances[0].at
		c.late = append(c.late, at.Sub(o.nominal))
		if at.Sub(o.nominal) > slow {
			c.slow = append(c.slow, Slow{Job: c.life.collection + "/" + c.life.job, At: o.nominal, ArrivedAt: at.UTC()})
		}
	}
	if len(o.places(errorAction)) > 0 {
		c.checked[ErrorAction]++
	}
	end, at := c.phase(o, mainAction, window{o.nominal, o.nominal}, unknown)
	came := len(o.places(errorAction)) > 0
	switch {
	case !o.def.fallback && came:
		c.add(ErrorAction, o.nominal, "the definition has no error action")
	case !o.def.fallback:
	case end == exhausted || end == unknown:
		c.phase(o, errorAction, at, end)
	case came:
		c.add(ErrorAction, o.nominal, "the action had not failed for good")
	}
}

// ending is how a phase ended.
type ending int

const (
	underWay  ending = iota // more had to come, or may
	succeeded               // the last attempt did
	exhausted               // all attempts failed
	cut                     // the job was stopped
	unknown                 // the last attempt may have done either
)

// window is when something was over: first and last, if it was done twice.
type window struct{ first, last time.Time }

// phase judges the attempts of a phase, whose first is due after something that
// ended in some way: not before its first time, and measured from its last. It
// returns how the phase ended, and when.
func (c *jobCase) phase(o *occurrence, phase string, due window, end ending) (ending, window) {
	p := o.def.policyOf(phase)
	for n := 1; n <= 1+p.count; n++ {
		first := n == 1 && phase == mainAction
		a := o.attempts[place{phase, n}]
		if !first {
			c.checked[RetryExcess]++
			c.checked[Unfinished]++
		}
		switch {
		case a == nil && first:
			return c.gap(o, phase, n), due
		case a == nil:
			return c.absent(o, phase, n, due, end), due
		case !first:
			c.spacing(o, phase, n, a, due)
		}
		ok, failed := a.fate()
		due.first, due.last = a.done()
		switch {
		case ok && failed:
			end = unknown
		case ok:
			c.excess(o, phase, n, "though attempt %d succeeded", n)
			return succeeded, due
		default:
			end = exhausted
		}
		if a.gaveUp() {
			p.count = n - 1
		} else if n <= p.count {
			least, most := a.retryAfter()
			due.first, due.last = due.first.Add(max(p.interval, least)), due.last.Add(max(p.interval, most))
		}
	}
	c.excess(o, phase, 1+p.count, "of at most %d", 1+p.count)
	return end, due
}

// excess judges that there is no attempt after the n-th.
func (c *jobCase) excess(o *occurrence, phase string, n int, why string, args ...any) {
	for _, x := range o.places(phase) {
		if x > n {
			c.add(RetryExcess, o.nominal, "%s attempt %d, %s", phase, x, fmt.Sprintf(why, args...))
			return
		}
	}
}

// gap judges that there is no attempt n, and notes it if there is a later one.
func (c *jobCase) gap(o *occurrence, phase string, n int) ending {
	for _, x := range o.places(phase) {
		if x > n {
			c.wait(Unfinished, o.nominal, "%s attempt %d never came, though attempt %d did", phase, n, x)
			break
		}
	}
	return underWay
}

// absent judges that there is no further attempt, after one that ended in some way.
func (c *jobCase) absent(o *occurrence, phase string, n int, due window, end ending) ending {
	numbers := o.places(phase)
	switch {
	case len(numbers) > 0 && numbers[len(numbers)-1] > n:
		return c.gap(o, phase, n)
	case end != exhausted:
		return end // the attempt before may have succeeded
	case c.mayBeStopped(o, due.last):
		return cut
	case o.nominal.After(c.until):
		return underWay // the run ended first
	}
	c.wait(Unfinished, o.nominal, "%s attempt %d, due at %s, never came", phase, n, clock(due.last))
	return underWay
}

// mayBeStopped reports whether an attempt that is due need not be made.
func (c *jobCase) mayBeStopped(o *occurrence, due time.Time) bool {
	if c.skipped[o.nominal.UnixMilli()] {
		return true
	}
	_, on := c.whole.on(due)
	may, _ := c.line.stopped(due, due)
	if o.manual {
		_, _, late := c.line.span(due)
		may = c.line.states[late].by == deleted
	}
	return may || !on
}

// spacing judges when an attempt came that another one, or another phase, comes
// before.
func (c *jobCase) spacing(o *occurrence, phase string, n int, a *attempt, due window) {
	if len(a.performances) == 0 {
		return
	}
	at := a.performances[0].at
	c.checked[RetrySoon]++
	if soon := due.first.Sub(at) - c.skew; soon > 0 {
		c.add(RetrySoon, o.nominal, "%s attempt %d came %v too soon", phase, n, soon+c.skew)
		return
	}
	c.retryLate = append(c.retryLate, max(0, at.Sub(due.last)))
	c.checked[Stopped]++
	_, alone := c.line.stopped(due.last, at)
	if _, all := c.whole.stopped(due.last, at); all || alone && !o.manual {
		c.add(Stopped, o.nominal, "%s attempt %d was due at %s, when the job or its collection was disabled or deleted", phase, n, clock(due.last))
	}
}
