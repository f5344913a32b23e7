package verify

import (
	"strings"
	"time"
)

// compareJob holds a job as it was read at the end against what was asked and
// what happened.
func (c *jobCase) compareJob() {
	c.checked[Definition]++
	changes := c.line.changes
	if len(changes) == 0 {
		return
	}
	last := changes[len(changes)-1]
	exists, gone := c.life.found != nil, last.kind == deleted
	switch {
	case last.outcome == unclear:
		return
	case gone && exists:
		c.add(Definition, time.Time{}, "it was deleted, and is there")
		return
	case gone:
		return
	case !exists:
		c.add(Definition, time.Time{}, "it was acknowledged, and is not there")
		return
	}
	st := c.line.states[len(c.line.states)-1]
	if !strings.Contains(c.life.found.uri, "/"+st.def.marker+"/") {
		c.add(Definition, time.Time{}, "the newest definition acknowledged is %s, the job calls %s", st.def.marker, c.life.found.uri)
	}
	c.counters()
	c.state(&st)
}

// counters holds the counters against history's rows (AZURE, schedules: state).
func (c *jobCase) counters() {
	if len(c.life.rows) >= fullHistory {
		return
	}
	executions, failures, faults := 0, 0, 0
	var newest time.Time
	for _, o := range c.occurrences {
		if a := o.attempts[place{mainAction, 1}]; a != nil && len(a.rows) > 0 {
			executions++
		}
		if o.faulted() {
			faults++
		}
	}
	for _, r := range c.life.rows {
		if r.Status == rowFailed {
			failures++
		}
		if r.ActionName == mainAction && r.StartTime.After(newest) {
			newest = r.StartTime
		}
	}
	got := c.life.found.status
	for _, x := range []struct {
		name      string
		got, want int
	}{{"executionCount", got.ExecutionCount, executions}, {"failureCount", got.FailureCount, failures}, {"faultedCount", got.FaultedCount, faults}} {
		c.checked[Counters]++
		if x.got != x.want {
			c.wait(Counters, time.Time{}, "%s is %d, history's rows make %d", x.name, x.got, x.want)
		}
	}
	if d := got.LastExecutionTime.Sub(newest).Abs(); executions > 0 && d > time.Millisecond {
		c.wait(Counters, time.Time{}, "lastExecutionTime is %s, the newest row's %s", clock(got.LastExecutionTime), clock(newest))
	}
}

// faulted reports whether history says that the main action failed for good.
func (o *occurrence) faulted() bool {
	if o.def == nil {
		return false
	}
	last := o.attempts[place{mainAction, o.def.policyOf(mainAction).count + 1}]
	failed := false
	for p, a := range o.attempts {
		if p.phase != mainAction || a != last && !a.gaveUp() {
			continue
		}
		for _, r := range a.rows {
			failed = failed || r.Status == rowFailed
		}
	}
	return failed
}

// state holds the job's state against what follows from what happened: a series
// that is over ends completed, or faulted if its last occurrence failed for good.
func (c *jobCase) state(st *state) {
	c.checked[State]++
	want := stateDisabled
	var last *occurrence
	happened := c.scheduled[st.series]
	for _, o := range happened {
		if last == nil || o.nominal.After(last.nominal) {
			last = o
		}
	}
	planned, stopped := len(happened), false
	for at := range c.skipped {
		if t := time.UnixMilli(at); happened[at] == nil && st.series.on(t) { // planned, and stopped before its first attempt
			planned++
			stopped = stopped || last == nil || t.After(last.nominal)
		}
	}
	limit := st.series.limit()
	ended := limit > 0 && planned >= limit || st.series.over(c.until)
	if st.enabled {
		want = stateEnabled
	}
	switch {
	case ended && (stopped || last != nil && c.skipped[last.nominal.UnixMilli()]):
		return // it ended as whatever it was when it was stopped
	case ended && last != nil && last.faulted():
		want = stateFaulted
	case ended:
		want = stateCompleted
	}
	if ended && !st.enabled && c.life.found.state == stateDisabled {
		return // a job that is disabled has no state that says how it ended
	}
	if c.life.found.state != want {
		c.wait(State, time.Time{}, "it is %s, what happened makes it %s", c.life.found.state, want)
	}
}
