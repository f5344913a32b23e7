package verify

import (
	"cmp"
	"slices"
	"time"
)

// arrival is a request that the target received.
type arrival struct {
	id              int64 // from 1; the answer repeats it
	at, doneAt      time.Time
	status          int           // answered
	retryAfter      time.Duration // asked for with the answer
	aborted         bool          // the caller went away before the answer
	collection, job string        // from the URL, as the next two
	marker, phase   string
	tag             string // from headers, as the next two
	nominal         time.Time
	attempt         int
	wrong           string // what is wrong with the request, if anything
}

// occurrence is what came of one nominal time, or of one request to run.
type occurrence struct {
	tag      string // empty if nothing arrived
	nominal  time.Time
	marker   string
	def      *definition
	manual   bool
	attempts map[place]*attempt
}

// place is which attempt it is.
type place struct {
	phase  string
	number int // from 1
}

// attempt is one performance of an action, or several of the same.
type attempt struct {
	performances []arrival // by time
	rows         []row
}

// gather sorts arrivals into occurrences, by nominal time.
func gather(arrivals []arrival) []*occurrence {
	byTag := make(map[string]*occurrence)
	var list []*occurrence
	for _, a := range arrivals {
		o := byTag[a.tag]
		if o == nil {
			o = &occurrence{tag: a.tag, nominal: a.nominal, marker: a.marker, attempts: make(map[place]*attempt)}
			byTag[a.tag] = o
			list = append(list, o)
		}
		t := o.attempt(place{a.phase, a.attempt})
		t.performances = append(t.performances, a)
	}
	slices.SortStableFunc(list, func(a, b *occurrence) int { return a.nominal.Compare(b.nominal) })
	return list
}

func (o *occurrence) attempt(p place) *attempt {
	t := o.attempts[p]
	if t == nil {
		t = new(attempt)
		o.attempts[p] = t
	}
	return t
}

// places lists the attempts of a phase in order.
func (o *occurrence) places(phase string) []int {
	var list []int
	for p := range o.attempts {
		if p.phase == phase {
			list = append(list, p.number)
		}
	}
	slices.Sort(list)
	return list
}

// fate says whether an attempt may have succeeded, and whether it may have failed:
// both if nobody can know, since whoever called went away, or did not hear the
// answer.
func (a *attempt) fate() (succeeded, failed bool) {
	for _, p := range a.performances {
		unknown := p.aborted || p.doneAt.IsZero()
		succeeded = succeeded || unknown || p.status < 300
		failed = failed || unknown || p.status >= 300
	}
	for _, r := range a.rows {
		succeeded = succeeded || r.Status == ""
		failed = failed || r.Status != ""
	}
	return succeeded, failed
}

// done returns when the attempt was over first, and last. Where the answer did not
// reach Carillon, it was over for it as soon as it gave up, whatever the target
// did then.
func (a *attempt) done() (first, last time.Time) {
	for _, p := range a.performances {
		at := cmp.Or(p.doneAt, p.at)
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	for _, r := range a.rows {
		if receivedBy(&r) == 0 && (first.IsZero() || r.EndTime.Before(first)) {
			first = r.EndTime
		}
		if r.EndTime.After(last) {
			last = r.EndTime
		}
	}
	return first, last
}

// retryAfter returns how long the target asked to wait. Where its answer did not
// reach Carillon, it may have asked in vain.
func (a *attempt) retryAfter() (least, most time.Duration) {
	for _, p := range a.performances {
		most = max(most, p.retryAfter)
	}
	if slices.ContainsFunc(a.rows, func(r row) bool { return receivedBy(&r) == 0 }) {
		return 0, most
	}
	return most, most
}
