package verify

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What history's messages say (package webhook, and the planner's own).
const (
	answerText   = "carillon-verify " // what the target answers, and history repeats, before a number
	missedText   = "Not executed: %d occurrence"
	answeredText = "Response from host"
	gaveUpText   = "Carillon gave up"
	rowFailed    = "failed"
	rowPostponed = "postponed"
)

// fullHistory is how many rows history keeps of a job.
const fullHistory = 1000

// receivedBy returns the number of the request that a row is about; 0: none.
func receivedBy(r *row) int64 {
	_, rest, _ := strings.Cut(r.Message, answerText)
	end := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
	if end < 0 {
		end = len(rest)
	}
	id, err := strconv.ParseInt(rest[:end], 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// missedBy returns how many occurrences a skipped row says were missed before its
// own; 0: it speaks of its own.
func missedBy(r *row) int {
	n := 0
	if _, err := fmt.Sscanf(r.Message, missedText, &n); err != nil {
		return 0
	}
	return n
}

// gaveUp reports whether history says that no worker lived to finish the attempt.
func (a *attempt) gaveUp() bool {
	return slices.ContainsFunc(a.rows, func(r row) bool { return strings.Contains(r.Message, gaveUpText) })
}

// readRows adds what history says to the occurrences, and those that only history
// knows.
func (c *jobCase) readRows() {
	tags := make(map[int64]*occurrence) // by request
	byTime := make(map[int64]*occurrence)
	for _, o := range c.occurrences {
		if byTime[o.nominal.UnixMilli()] == nil {
			byTime[o.nominal.UnixMilli()] = o
		}
		for _, t := range o.attempts {
			for _, a := range t.performances {
				tags[a.id] = o
			}
		}
	}
	for _, r := range c.life.rows {
		o := tags[receivedBy(&r)]
		at := r.ExpectedExecutionTime.UTC()
		if o == nil {
			o = byTime[at.UnixMilli()]
		}
		if o == nil {
			o = &occurrence{nominal: at, attempts: make(map[place]*attempt)}
			byTime[at.UnixMilli()] = o
			c.occurrences = append(c.occurrences, o)
		}
		t := o.attempt(place{r.ActionName, r.RetryCount + 1})
		t.rows = append(t.rows, r)
	}
	c.skipped = make(map[int64]bool)
	for _, r := range c.life.skips {
		if missedBy(&r) > 0 {
			continue
		}
		c.skipped[r.ExpectedExecutionTime.UnixMilli()] = true
		c.dropped++
		if !c.everStopped(r.EndTime) {
			c.add(Lost, r.ExpectedExecutionTime, "skipped for no reason: %s", r.Message)
		}
	}
}

// everStopped reports whether the job or its collection may have been stopped at
// some time up to t.
func (c *jobCase) everStopped(t time.Time) bool {
	for _, l := range []*timeline{c.line, c.whole} {
		for i, x := range l.changes {
			if !l.states[i+1].enabled && !x.sentAt.Add(-c.skew).After(t) {
				return true
			}
		}
	}
	return false
}

// missedOf returns the occurrences of a series that history says were missed: so
// many of its times before that of a row.
func (c *jobCase) missedOf(s *series) map[int64]bool {
	missed := make(map[int64]bool)
	for _, r := range c.life.skips {
		n := missedBy(&r)
		if n == 0 || !s.on(r.ExpectedExecutionTime) {
			continue
		}
		before := s.between(s.from, r.ExpectedExecutionTime.Add(-time.Millisecond))
		for _, t := range before[max(0, len(before)-n):] {
			missed[t.UnixMilli()] = true
		}
	}
	return missed
}

// compareHistory holds history's rows against the requests.
func (c *jobCase) compareHistory() {
	byID := make(map[int64]*arrival)
	for i := range c.received {
		byID[c.received[i].id] = &c.received[i]
	}
	told := make(map[int64]bool)
	for i := range c.life.rows {
		r := &c.life.rows[i]
		c.checked[History]++
		id, at := receivedBy(r), r.ExpectedExecutionTime
		switch a := byID[id]; {
		case id == 0 && strings.Contains(r.Message, answeredText):
			c.add(History, at, "a row has an answer that the target never gave: %.200s", r.Message)
		case id == 0:
			c.noAnswer = append(c.noAnswer, c.violation(Unanswered, at, "%s attempt %d: %.200s", r.ActionName, r.RetryCount+1, r.Message))
		case a == nil:
			c.add(History, at, "a row is about request %d, which is none of this job's", id)
		case told[id]:
			c.add(History, at, "two rows are about request %d", id)
		default:
			told[id] = true
			if why := contradiction(r, a, c.skew); why != "" {
				c.add(History, at, "request %d: %s", id, why)
			}
		}
	}
	if len(c.life.rows) >= fullHistory {
		return // older rows are gone
	}
	for _, o := range c.occurrences {
		for p, t := range o.attempts {
			if len(t.rows) == 0 {
				c.wait(History, o.nominal, "%s attempt %d arrived and has no row", p.phase, p.number)
			}
		}
	}
}

// unsteady is how far a machine's clock may go from itself in the course of an
// attempt: it is set now and then, and a row's end is measured from its start.
const unsteady = 5 * time.Millisecond

// contradiction says in what a row differs from the request that it is about.
func contradiction(r *row, a *arrival, skew time.Duration) string {
	ok := a.status < 300
	switch {
	case !r.ExpectedExecutionTime.Equal(a.nominal):
		return "its expectedExecutionTime is not that of the request, " + clock(a.nominal)
	case r.ActionName != a.phase:
		return "its actionName is " + r.ActionName + ", the request was of " + a.phase
	case r.RetryCount+1 != a.attempt:
		return "its retryCount is " + strconv.Itoa(r.RetryCount) + ", the request was attempt " + strconv.Itoa(a.attempt)
	case ok && r.Status != "" || !ok && r.Status != rowFailed && r.Status != rowPostponed:
		return "its status is " + strconv.Quote(r.Status) + ", the target answered " + strconv.Itoa(a.status)
	case r.Status == rowPostponed && a.retryAfter == 0:
		return "it says postponed, the target did not ask for that"
	case r.StartTime.After(a.at.Add(skew + unsteady)), r.EndTime.Add(skew + unsteady).Before(a.at):
		return "it arrived at " + clock(a.at) + ", the row says from " + clock(r.StartTime) + " to " + clock(r.EndTime)
	}
	return ""
}
