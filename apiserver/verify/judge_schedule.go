package verify

import (
	"slices"
	"time"
)

// assign finds for each occurrence the schedule, or the request to run, that it
// comes from.
func (c *jobCase) assign() {
	c.scheduled = make(map[*series]map[int64]*occurrence)
	runs := c.manual()
	for _, o := range c.occurrences {
		c.happened++
		c.checked[Unscheduled]++
		c.checked[DoubledTag]++
		def, s := c.line.find(o.marker)
		if o.marker == "" { // known from history only
			def, s = c.whichever(o.nominal)
		}
		if def == nil {
			c.add(Unscheduled, o.nominal, "of a definition that never was in force")
			continue
		}
		if c.scheduled[s] == nil {
			c.scheduled[s] = make(map[int64]*occurrence)
		}
		at := o.nominal.UnixMilli()
		taken := c.scheduled[s][at] != nil
		mayRun, _ := c.whole.on(o.nominal)
		if !taken && mayRun && c.line.may(o.nominal, o.marker) {
			c.scheduled[s][at], o.def = o, def
			continue
		}
		if i := slices.IndexFunc(runs, func(r *run) bool { return r.fits(o.nominal) }); i >= 0 {
			runs[i].found, o.def, o.manual = true, def, true
			runs = slices.Delete(slices.Clone(runs), i, i+1)
			continue
		}
		c.wrong(o, s, taken)
	}
	for _, r := range runs {
		r.judge(c)
	}
}

// whichever returns a definition that may run at t.
func (c *jobCase) whichever(t time.Time) (*definition, *series) {
	for _, st := range c.line.states {
		if st.def != nil && c.line.may(t, st.def.marker) {
			return st.def, st.series
		}
	}
	for _, d := range c.line.definitions(t) {
		return c.line.find(d.marker)
	}
	return nil, nil
}

// wrong says what is wrong with an occurrence that should not be.
func (c *jobCase) wrong(o *occurrence, s *series, taken bool) {
	marker := o.marker
	switch {
	case taken:
		c.add(DoubledTag, o.nominal, "a second tag, %s", o.tag)
	case c.line.may(o.nominal, marker):
		c.add(Stopped, o.nominal, "its collection was disabled")
	case c.line.may(o.nominal, ""):
		c.add(Mixed, o.nominal, "an occurrence of one definition, but the action is that of %s", marker)
	case s.on(o.nominal):
		c.add(Stopped, o.nominal, "its definition, %s, was not in force: disabled, deleted, replaced, or not there yet", marker)
	case s.grid != nil && !s.def.rec.EndTime.IsZero() && o.nominal.After(s.def.rec.EndTime) && withoutEnd(*s.grid).occurs(o.nominal):
		c.add(End, o.nominal, "endTime is %s", clock(s.def.rec.EndTime))
	default:
		c.add(Unscheduled, o.nominal, "definition %s has no occurrence then", marker)
	}
}

func withoutEnd(g calendar) calendar {
	rec := *g.rec
	rec.EndTime = time.Time{}
	return calendar{&rec, g.anchor}
}

// gone reports whether the job was deleted, and its history with it.
func (c *jobCase) gone() bool {
	n := len(c.line.changes)
	return c.life.found == nil && n > 0 && c.line.changes[n-1].kind == deleted
}

// expect holds what happened of a series against what had to.
func (c *jobCase) expect(s *series) {
	happened, missed := c.scheduled[s], c.missedOf(s)
	if s.now && s.at.IsZero() && c.mustNow(s) {
		c.expected++
		c.checked[Lost]++
		c.wait(Lost, s.from, "asked for to run now, and never came")
	}
	if s.def.rec != nil && s.def.rec.Count > 0 {
		c.checked[Count]++
	}
	if s.def.rec != nil && !s.def.rec.EndTime.IsZero() {
		c.checked[End]++
	}
	n, limit := 0, s.limit() // planned so far, and at most
	for _, t := range c.times(s) {
		at := t.UnixMilli()
		must := c.must(s, t) && (limit == 0 || n < limit)
		if must {
			c.expected++
			c.checked[Lost]++
		}
		switch {
		case happened[at] != nil:
			if n++; limit > 0 && n > limit {
				c.add(Count, t, "the %d. occurrence, count is %d", n, limit)
			}
			if missed[at] {
				c.add(History, t, "history says that it was missed, but it ran")
			}
		case missed[at]:
			c.missed++
		case c.skipped[at]: // planned, and stopped before its first attempt
			n++
		case must && c.maxUnanswered > 0 && c.gone():
			// Its attempt may not have reached the target, which only the history told
			// that went with the job.
			c.noAnswer = append(c.noAnswer, c.violation(Unanswered, t, "never came, and its job is deleted"))
		case must:
			c.wait(Lost, t, "never came")
		}
	}
}

// times lists the occurrences of a series in the run, and those after it that
// happened.
func (c *jobCase) times(s *series) []time.Time {
	list := s.between(s.from, c.until)
	for _, o := range c.scheduled[s] {
		if o.nominal.After(c.until) {
			list = append(list, o.nominal)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// must reports whether a series must occur at t, unless count forbids it.
func (c *jobCase) must(s *series, t time.Time) bool {
	_, on := c.whole.on(t)
	return on && !t.After(c.until) && (c.line.must(t, s) || s.now && t.Equal(s.at) && c.mustNow(s))
}

// mustNow reports whether the first occurrence of a series that is due "now" must
// have happened.
func (c *jobCase) mustNow(s *series) bool {
	if s.begun.outcome != acknowledged {
		return false
	}
	after := s.to.Add(time.Millisecond)
	_, on := c.whole.on(after)
	return on && c.line.must(after, s) && !after.After(c.until)
}

// run is a request to run a job now.
type run struct {
	change
	from, to time.Time
	found    bool
}

func (r *run) fits(t time.Time) bool { return !t.Before(r.from) && !t.After(r.to) }

func (c *jobCase) manual() []*run {
	var list []*run
	for _, x := range c.life.changes {
		if x.kind != ran || x.outcome == refused {
			continue
		}
		r := &run{change: x, from: instant(x.sentAt.Add(-c.skew)), to: x.answeredAt.Add(c.skew + time.Millisecond)}
		if x.outcome == unclear {
			r.to = never()
		}
		list = append(list, r)
	}
	return list
}

// judge notes a run that was asked for and did not happen. Deleting the job, or
// disabling the collection, soon after may have prevented it.
func (r *run) judge(c *jobCase) {
	if r.outcome != acknowledged || r.answeredAt.After(c.until) {
		return
	}
	c.checked[Lost]++
	_, on := c.whole.on(r.to.Add(time.Millisecond))
	_, _, late := c.line.span(r.to)
	if on && c.line.states[late].by != deleted && !c.skippedWithin(r) {
		c.expected++
		c.wait(Lost, r.answeredAt, "a run was asked for and never came")
	}
}

func (c *jobCase) skippedWithin(r *run) bool {
	for at := range c.skipped {
		if r.fits(time.UnixMilli(at)) {
			return true
		}
	}
	return false
}
