package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"time"
)

// report is what the suite reads of the checker's report.
type report struct {
	Occurrences   int         `json:"occurrences"`
	Expected      int         `json:"expected"`
	Requests      int         `json:"requests"`
	Duplicates    int         `json:"duplicates"`
	MostPerformed int         `json:"mostPerformed"`
	Unanswered    int         `json:"unanswered"`
	Missed        int         `json:"missed"`
	APIFailures   int         `json:"apiFailures"`
	Slow          []slow      `json:"slow"`
	Violations    []violation `json:"violations"`
}

// slow is an occurrence that was executed late.
type slow struct {
	Job       string    `json:"job"`
	At        time.Time `json:"at"`
	ArrivedAt time.Time `json:"arrivedAt"`
}

type violation struct {
	Kind   string    `json:"kind"`
	Job    string    `json:"job"`
	Form   string    `json:"form"`
	At     time.Time `json:"at,omitzero"`
	Detail string    `json:"detail"`
}

// result is what came of a run.
type result struct {
	Seed      uint64     `json:"seed"`
	NATSNodes int        `json:"natsNodes"`
	BeganAt   time.Time  `json:"beganAt"`
	EndedAt   time.Time  `json:"endedAt"`
	Crashes   int        `json:"crashes"` // faults that may have something performed once more
	Faults    []happened `json:"faults"`
	Report    report     `json:"report"`
	Error     string     `json:"error,omitempty"` // why there is no judgement
	Logs      string     `json:"logs,omitempty"`  // of a bad run
}

// happened is a fault as it was carried out.
type happened struct {
	Fault   string    `json:"fault"`
	Who     string    `json:"who"`
	BeganAt time.Time `json:"beganAt"`
	EndedAt time.Time `json:"endedAt"`
	// Recovery is how long after its end, and that of all that was broken at that
	// time, the last occurrence was executed late that had come due since it began.
	// For a killed planner it is counted from its beginning: another takes over.
	Recovery seconds `json:"recoverySeconds"`
}

// seconds is a time that is written in seconds.
type seconds time.Duration

// MarshalJSON writes seconds, to the millisecond.
func (s seconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(math.Round(time.Duration(s).Seconds()*1000) / 1000)
}

const (
	// late is from when an occurrence counts as disturbed.
	late = 500 * time.Millisecond
	// mostRecovery is how long after a planner was killed others may need to have
	// taken over everything.
	mostRecovery = 5 * time.Second
)

// judge adds what the checker cannot know: how faults and what happened hang
// together.
func (r *result) judge(p *plan) {
	for _, e := range p.events {
		if e.endedAt.IsZero() {
			continue
		}
		from, until := p.calmAfter(e), time.Now()
		if e.fault.name == killPlanner {
			from, until = e.beganAt, e.beganAt.Add(calm) // others begin then
		}
		for _, next := range p.events {
			if next.beganAt.After(from) && next.beganAt.Before(until) {
				until = next.beganAt.Add(-late) // what is under way then is that one's
			}
		}
		h := happened{Fault: e.fault.name, Who: e.who, BeganAt: e.beganAt.UTC(), EndedAt: e.endedAt.UTC(), Recovery: r.recovery(e.beganAt, until, from)}
		r.Faults = append(r.Faults, h)
		if e.fault.name == killPlanner && time.Duration(h.Recovery) > mostRecovery {
			r.violate("recovery", "%v after %s was killed, the last occurrence was late; %v is allowed", time.Duration(h.Recovery), e.who, mostRecovery)
		}
	}
	if n := r.Report.MostPerformed; n > 1+r.Crashes {
		r.violate("performed too often", "an attempt was performed %d times, there were %d crashes", n, r.Crashes)
	}
}

// calmAfter is when nothing was broken any more after an event.
func (p *plan) calmAfter(e *event) time.Time {
	end := e.endedAt
	for more := true; more; {
		more = false
		for _, x := range p.events {
			if x.beganAt.Before(end) && x.endedAt.After(end) {
				end, more = x.endedAt, true
			}
		}
	}
	return end
}

func (r *result) violate(kind, format string, args ...any) {
	r.Report.Violations = append(r.Report.Violations, violation{Kind: kind, Detail: fmt.Sprintf(format, args...)})
}

// recovery is how long after a time the last of the occurrences arrived that were
// due between two others, and late. What is late when nothing was for a second is
// another matter: a machine that is busy with other things.
func (r *result) recovery(since, until, after time.Time) seconds {
	end := after
	list := slices.Clone(r.Report.Slow)
	slices.SortFunc(list, func(a, b slow) int { return a.At.Compare(b.At) })
	for _, s := range list {
		if s.ArrivedAt.Sub(s.At) < late || s.At.Before(since.Add(-late)) || !s.At.Before(until) || s.ArrivedAt.Before(since) {
			continue
		}
		if s.At.After(end.Add(time.Second)) {
			break
		}
		if s.ArrivedAt.After(end) {
			end = s.ArrivedAt
		}
	}
	return seconds(end.Sub(after))
}

func (r *result) ok() bool { return r.Error == "" && len(r.Report.Violations) == 0 }

// save writes the result beside the logs.
func (r *result) save(path string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

// count returns how many violations are of a kind.
func (r *result) count(kinds ...string) int {
	n := 0
	for _, v := range r.Report.Violations {
		for _, k := range kinds {
			if v.Kind == k {
				n++
			}
		}
	}
	return n
}
