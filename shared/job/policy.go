package job

import "time"

// Policy says what becomes of occurrences that cannot run when they are due. It
// is ours: a definition of Azure's has none, which is the zero value.
type Policy struct {
	Missed  MissedPolicy  `json:"missed,omitempty"`
	Overlap OverlapPolicy `json:"overlap,omitempty"`
}

// MissedPolicy says which occurrences are made up that came due while no
// planner was at work, spelled as the wire spells it.
type MissedPolicy string

// The ways to treat what was missed. None given means MissedLatest.
const (
	MissedLatest MissedPolicy = "latest" // the newest one
	MissedAll    MissedPolicy = "all"    // the newest hundred, the oldest of them first
	MissedSkip   MissedPolicy = "skip"   // none
)

// OverlapPolicy says what becomes of an occurrence that comes due while a run of
// its job is not finished, retries and error action included. It is spelled as
// the wire spells it.
type OverlapPolicy string

// The ways to treat an overlap. None given means OverlapAllow.
const (
	OverlapAllow OverlapPolicy = "allow" // it runs
	OverlapSkip  OverlapPolicy = "skip"  // it does not
	OverlapQueue OverlapPolicy = "queue" // it waits, as one of ten at most
)

// Serial reports whether no run of the job may begin while another is not
// finished.
func (p Policy) Serial() bool { return p.Overlap == OverlapSkip || p.Overlap == OverlapQueue }

// A Pass passes over occurrences of a job, which will not run.
type Pass struct {
	Count    int64     // how many; 0: none, and only Waiting changes
	From, To time.Time // nominal times of the first and the last
	Why      string    // for people
	Waiting  []time.Time
}

// Passes reports whether the result is a [Pass] and not of a run.
func (r *Result) Passes() bool { return !r.From.IsZero() }
