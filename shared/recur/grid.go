package recur

// A pattern is the times of a recurrence without its end. An implementation is
// never changed once it is made, and allocates nothing when it is asked.
type pattern interface {
	// atOrAfter returns the pattern's first instant that is not before from,
	// and some instant beyond the horizon if there is none up to it. from is
	// neither before the recurrence's anchor nor beyond the horizon.
	atOrAfter(from int64) int64
}

// steps is a grid of equal steps: seconds to weeks, without a schedule.
type steps struct {
	anchor int64
	step   int64 // milliseconds
}

func (g steps) atOrAfter(from int64) int64 { return g.anchor + g.stepAtOrAfter(from)*g.step }

// stepAtOrAfter returns the number of the first step that is not before from.
// Nothing lies before step 0, the anchor.
func (g steps) stepAtOrAfter(from int64) int64 {
	return (max(from-g.anchor, 0) + g.step - 1) / g.step
}

// monthSteps is a grid of months or years, without a schedule. Each step is
// counted from the anchor and clamped by itself, so that one short month does
// not pull the later steps forward: 31 January, 28 February, 31 March (our
// decision).
type monthSteps struct {
	month      int // the anchor's
	dayOfMonth int
	ms         int64 // the anchor's time of day
	step       int   // months
}

func (g monthSteps) atOrAfter(from int64) int64 {
	day, _ := split(from)
	month, _ := monthOf(day)
	month -= (month - g.month) % g.step
	if at := g.in(month); at >= from {
		return at
	}
	return g.in(month + g.step)
}

// in returns the grid's instant in a month that it visits.
func (g monthSteps) in(month int) int64 {
	day := firstDay(month) + min(g.dayOfMonth, monthLength(month)) - 1
	return startOf(day) + g.ms
}
