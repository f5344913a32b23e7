package verify

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Report is what a run found.
type Report struct {
	Seed        uint64    `json:"seed"`
	BeganAt     time.Time `json:"beganAt"`
	EndedAt     time.Time `json:"endedAt"`
	Jobs        int       `json:"jobs"`
	Collections int       `json:"collections"`
	Changes     int       `json:"changes"`     // definitions and other changes that the API acknowledged
	Expected    int       `json:"expected"`    // occurrences that had to happen
	Occurrences int       `json:"occurrences"` // occurrences that did
	Requests    int       `json:"requests"`    // that the target received

	Late      Lateness `json:"late"`      // first attempts, after their nominal time
	RetryLate Lateness `json:"retryLate"` // retries and error actions, after they were due

	Slow []Slow `json:"slow,omitempty"`

	// What may happen when something breaks.
	Duplicates    int `json:"duplicates"`    // attempts that arrived again under their tag
	MostPerformed int `json:"mostPerformed"` // times that one attempt arrived
	Unanswered    int `json:"unanswered"`    // attempts that failed without an answer
	Missed        int `json:"missed"`        // occurrences that history says were missed
	Dropped       int `json:"dropped"`       // runs that history says ended because their job was stopped
	Strays        int `json:"strays"`        // requests that are not of this run
	APIFailures   int `json:"apiFailures"`   // requests that the API did not answer, or refused

	Checked    map[Kind]int `json:"checked"` // how much was looked at
	Violations []Violation  `json:"violations"`
}

// OK reports whether there was no violation.
func (r *Report) OK() bool { return len(r.Violations) == 0 }

func (c *Checker) report(s *session, p *plan, v *verdict) *Report {
	r := &Report{
		Seed: c.cfg.Seed, BeganAt: p.began, EndedAt: time.Now().UTC(), Jobs: len(p.canaries), Collections: len(p.refs),
		Expected: v.expected, Occurrences: v.happened, Requests: len(s.target.received()),
		Late: measure(v.late), RetryLate: measure(v.retryLate),
		Slow: v.slow, MostPerformed: v.mostPerformed,
		Duplicates: len(v.duplicates), Unanswered: len(v.noAnswer), Missed: v.missed, Dropped: v.dropped,
		Checked: v.checked, Violations: append([]Violation{}, v.violations...), // a list in JSON if there are none, too
	}
	r.APIFailures, _ = s.failedSoFar()
	s.target.mu.Lock()
	r.Strays = s.target.strays
	s.target.mu.Unlock()
	lives, switches := s.ledger.copy()
	for _, l := range lives {
		r.Changes += count(l.changes)
	}
	for _, list := range switches {
		r.Changes += count(list)
	}
	slices.SortStableFunc(r.Violations, func(a, b Violation) int {
		return cmp.Or(slices.Index(kinds(), a.Kind)-slices.Index(kinds(), b.Kind), cmp.Compare(a.Job, b.Job), a.At.Compare(b.At))
	})
	return r
}

func count(list []change) int {
	n := 0
	for _, c := range list {
		if c.outcome == acknowledged {
			n++
		}
	}
	return n
}

// mostShown is how many violations a table shows in full.
const mostShown = 20

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }
	line("seed %d: %d jobs in %d collections, %d changes, %d occurrences, %d requests, %v", r.Seed, r.Jobs, r.Collections, r.Changes, r.Occurrences, r.Requests, r.EndedAt.Sub(r.BeganAt).Round(time.Second))
	line("")
	line("CHECK\tLOOKED AT\tVIOLATIONS")
	found := make(map[Kind]int)
	for _, v := range r.Violations {
		found[v.Kind]++
	}
	for _, k := range kinds() {
		line("%s\t%d\t%d", k, r.Checked[k], found[k])
	}
	line("")
	line("LATE\tN\tP50\tP99\tMAX")
	for _, x := range []struct {
		name string
		l    Lateness
	}{{"first attempts", r.Late}, {"retries, error actions", r.RetryLate}} {
		line("%s\t%d\t%v\t%v\t%v", x.name, x.l.N, short(x.l.P50), short(x.l.P99), short(x.l.Max))
	}
	line("")
	line("counted: %d performed again under the same tag, %d unanswered, %d missed with a row, %d dropped when stopped, %d API failures",
		r.Duplicates, r.Unanswered, r.Missed, r.Dropped, r.APIFailures)
	if !r.OK() {
		line("")
	}
	for i, v := range r.Violations {
		if i == mostShown {
			line("… and %d more", len(r.Violations)-i)
			break
		}
		line("VIOLATION %s: %s (%s)%s: %s", v.Kind, v.Job, v.Form, when(v.At), v.Detail)
	}
	return t.Flush()
}

func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " at " + t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func short(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
