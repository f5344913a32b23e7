package verify

import (
	"fmt"
	"time"
)

// Kind is a kind of violation.
type Kind string

// The kinds of violations.
const (
	// Lost: an occurrence that was due did not happen, and nothing says why.
	Lost Kind = "lost"
	// DoubledTag: two occurrences under different tags at one nominal time.
	DoubledTag Kind = "doubled, different tag"
	// Doubled: an attempt was performed again under its tag, more often than
	// tolerated.
	Doubled Kind = "doubled, same tag"
	// Early: a request arrived before its nominal time.
	Early Kind = "early"
	// Late: a request arrived later than tolerated.
	Late Kind = "late"
	// Unscheduled: something happened at a time that no definition names.
	Unscheduled Kind = "unscheduled"
	// Count: more occurrences than count allows.
	Count Kind = "count"
	// End: an occurrence after endTime.
	End Kind = "end time"
	// Stopped: something happened though the job or its collection was disabled,
	// or the job deleted.
	Stopped Kind = "stopped"
	// Mixed: an occurrence has the time of one definition and the action of
	// another.
	Mixed Kind = "mixed revisions"
	// RetrySoon: a retry came sooner than its interval, or Retry-After.
	RetrySoon Kind = "retry too soon"
	// RetryExcess: a retry that was not asked for.
	RetryExcess Kind = "retry too many"
	// Unfinished: a retry or an error action that was due did not come.
	Unfinished Kind = "retry or error action missing"
	// ErrorAction: an error action came though the action had not failed for good.
	ErrorAction Kind = "error action undue"
	// Request: a request does not say what it is for.
	Request Kind = "request"
	// History: history and the target's log contradict each other.
	History Kind = "history"
	// Unanswered: attempts failed without an answer, more than tolerated.
	Unanswered Kind = "unanswered"
	// Counters: a job's counters are not what its history has.
	Counters Kind = "counters"
	// State: a job is not in the state that follows from what happened.
	State Kind = "state"
	// Definition: a definition that was acknowledged is not there.
	Definition Kind = "definition"
	// Refused: the API refused what it has to accept.
	Refused Kind = "refused"
)

// kinds lists the kinds in the order of the report.
func kinds() []Kind {
	return []Kind{
		Lost, DoubledTag, Doubled, Early, Late, Unscheduled, Count, End, Stopped, Mixed,
		RetrySoon, RetryExcess, Unfinished, ErrorAction, Request, History, Unanswered, Counters, State, Definition, Refused,
	}
}

// Violation is something that must not be.
type Violation struct {
	Kind   Kind      `json:"kind"`
	Job    string    `json:"job"` // collection/job
	Form   string    `json:"form"`
	At     time.Time `json:"at,omitzero"` // nominal time
	Detail string    `json:"detail"`

	waits bool // it may yet turn out well
}

// bounds say what is tolerated.
type bounds struct {
	margins
	maxLate, maxP99              time.Duration // 0: any
	maxDuplicates, maxUnanswered int
	stateLost                    bool
}

// verdict is what the judge found.
type verdict struct {
	violations []Violation
	checked    map[Kind]int // how much was looked at

	expected   int // occurrences that had to happen
	happened   int // occurrences that did
	duplicates []Violation
	noAnswer   []Violation
	missed     int // occurrences that history says were missed
	dropped    int // runs that history says ended when their job was stopped
	late       []time.Duration
	retryLate  []time.Duration
	slow       []Slow

	mostPerformed int // performances of one attempt
}

// waiting returns the jobs of which the verdict may yet become better.
func (v *verdict) waiting() map[string]bool {
	jobs := make(map[string]bool)
	for _, x := range v.violations {
		if x.waits {
			jobs[x.Job] = true
		}
	}
	return jobs
}

// finish judges what can only be judged of all jobs together.
func (v *verdict) finish(b bounds) {
	if len(v.duplicates) > b.maxDuplicates {
		v.violations = append(v.violations, v.duplicates...)
	}
	if len(v.noAnswer) > b.maxUnanswered {
		v.violations = append(v.violations, v.noAnswer...)
	}
	v.checked[Late] = len(v.late)
	l := measure(v.late)
	if b.maxLate > 0 && l.Max > b.maxLate {
		v.violations = append(v.violations, Violation{Kind: Late, Detail: fmt.Sprintf("max %v, tolerated %v", l.Max, b.maxLate)})
	}
	if b.maxP99 > 0 && l.P99 > b.maxP99 {
		v.violations = append(v.violations, Violation{Kind: Late, Detail: fmt.Sprintf("p99 %v, tolerated %v", l.P99, b.maxP99)})
	}
}
