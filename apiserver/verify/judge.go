package verify

import (
	"fmt"
	"slices"
	"time"
)

// evidence is all that is known of a run.
type evidence struct {
	lives    []*life
	switches map[string][]change // of collections
	arrivals []arrival
	// until is the end of what is judged whole: occurrences up to then must have
	// happened. Later ones may have.
	until time.Time
}

// judge holds what was asked against what happened. It is a pure function.
func judge(e *evidence, b bounds) *verdict {
	v := &verdict{checked: make(map[Kind]int)}
	type key struct{ collection, job, marker string }
	owners := make(map[key]*life)
	for _, l := range e.lives {
		for _, c := range l.changes {
			if c.def != nil {
				owners[key{l.collection, l.job, c.def.marker}] = l
			}
		}
	}
	received := make(map[*life][]arrival)
	for _, a := range e.arrivals {
		l := owners[key{a.collection, a.job, a.marker}]
		if l == nil {
			v.violations = append(v.violations, Violation{Kind: Unscheduled, Job: a.collection + "/" + a.job, At: a.nominal, Detail: "a request of a definition that was never sent: " + a.marker})
			continue
		}
		received[l] = append(received[l], a)
	}
	for _, l := range e.lives {
		c := &jobCase{
			verdict: v, bounds: b, life: l, until: e.until, received: received[l],
			line: newTimeline(l.changes, b.margins), whole: newSwitch(e.switches[l.collection], b.margins),
		}
		c.judge()
	}
	v.finish(b)
	return v
}

// jobCase is the judgement of one life of one job.
type jobCase struct {
	*verdict
	bounds
	life     *life
	until    time.Time
	received []arrival
	line     *timeline // of the job
	whole    *timeline // of its collection

	occurrences []*occurrence
	scheduled   map[*series]map[int64]*occurrence // by nominal time in ms
	skipped     map[int64]bool                    // runs that history says ended, by nominal time
}

func (c *jobCase) judge() {
	c.refusals()
	c.occurrences = gather(c.received)
	c.readRows()
	c.learn()
	c.requests()
	c.assign()
	for _, s := range c.line.series {
		if s.begun != nil {
			c.expect(s)
		}
	}
	for _, o := range c.occurrences {
		if o.def != nil {
			c.chain(o)
		}
	}
	if c.life.read && c.life.found != nil { // history goes with its job
		c.compareHistory()
	}
	if c.life.read {
		c.compareJob()
	}
}

// add notes a violation.
func (c *jobCase) add(k Kind, at time.Time, format string, args ...any) {
	c.violations = append(c.violations, c.violation(k, at, format, args...))
}

// wait notes a violation that may yet turn out well.
func (c *jobCase) wait(k Kind, at time.Time, format string, args ...any) {
	v := c.violation(k, at, format, args...)
	v.waits = true
	c.violations = append(c.violations, v)
}

func (c *jobCase) violation(k Kind, at time.Time, format string, args ...any) Violation {
	return Violation{Kind: k, Job: c.life.collection + "/" + c.life.job, Form: c.life.form, At: at, Detail: fmt.Sprintf(format, args...)}
}

func (c *jobCase) refusals() {
	for _, x := range c.life.changes {
		c.checked[Refused]++
		if x.reason != "" && !x.excused {
			c.add(Refused, time.Time{}, "%s: %s", x.kind, x.reason)
		}
	}
}

// learn finds out when the occurrences were that are due "now".
func (c *jobCase) learn() {
	for _, s := range c.line.series {
		if s.claimed && !s.plausible(s.at) {
			c.add(Unscheduled, s.at, "asked for between %s and %s to run now, the answer names %s", clock(s.from), clock(s.to), clock(s.at))
		}
		switch {
		case s.claimed:
			c.movedOn(s)
		case s.now:
			for _, o := range c.occurrences {
				if slices.Contains(s.markers, o.marker) && s.plausible(o.nominal) {
					s.learn(o.nominal)
					break
				}
			}
		}
	}
}

// movedOn allows for a series that began "now" just when an occurrence of the one
// before was planned, for a time after that: a job's nominal times only grow, so
// its first is a millisecond later than that one.
func (c *jobCase) movedOn(s *series) {
	before := func(t time.Time) bool {
		return slices.ContainsFunc(c.occurrences, func(o *occurrence) bool {
			return o.nominal.Equal(t.Add(-time.Millisecond)) && !slices.Contains(s.markers, o.marker)
		})
	}
	for _, o := range c.occurrences {
		if slices.Contains(s.markers, o.marker) && o.nominal.After(s.at) && s.plausible(o.nominal) && before(o.nominal) {
			s.at = o.nominal // but the grid is that of the answer
			return
		}
	}
}

// requests judges each request by itself.
func (c *jobCase) requests() {
	for _, a := range c.received {
		c.checked[Request]++
		c.checked[Early]++
		if a.wrong != "" {
			c.add(Request, a.nominal, "%s", a.wrong)
		}
		if early := a.nominal.Sub(a.at) - c.skew; early > 0 {
			c.add(Early, a.nominal, "arrived %v before its time", early+c.skew)
		}
	}
	for _, o := range c.occurrences {
		for p, t := range o.attempts {
			c.checked[Doubled]++
			c.mostPerformed = max(c.mostPerformed, len(t.performances))
			for i, a := range t.performances {
				if i > 0 {
					c.duplicates = append(c.duplicates, c.violation(Doubled, o.nominal, "%s attempt %d arrived %d times, %v apart", p.phase, p.number, i+1, a.at.Sub(t.performances[0].at)))
				}
				if !a.nominal.Equal(o.nominal) {
					c.add(Request, o.nominal, "one tag, two nominal times: %s too", clock(a.nominal))
				}
				c.checked[Mixed]++
				if a.marker != o.marker && !c.stateLost {
					c.add(Mixed, o.nominal, "began with the action of definition %s, %s attempt %d has that of %s", o.marker, p.phase, p.number, a.marker)
				}
			}
		}
	}
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }
