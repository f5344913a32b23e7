// Package job holds the domain: collections and jobs, what makes them valid,
// when a job is due, and what passes between the roles when it is: runs,
// dispatches and results. It is pure and knows nothing of Redis, NATS or HTTP;
// the JSON of its types is what store and queue keep, not what the API speaks.
package job

import (
	"time"

	"github.com/carillon-scheduler/carillon/shared/recur"
)

// State says whether a job runs, spelled as the wire spells it.
type State string

// The states of a job. Completed and Faulted are final.
const (
	Enabled   State = "enabled"
	Disabled  State = "disabled"
	Completed State = "completed"
	Faulted   State = "faulted"
)

// Final reports whether a job in this state never runs again.
func (s State) Final() bool { return s == Completed || s == Faulted }

// Definition is what the user asked for.
type Definition struct {
	StartAt    time.Time   `json:"startAt,omitzero"` // zero: when the job is created
	Action     Action      `json:"action"`
	Recurrence *recur.Spec `json:"recurrence,omitempty"` // nil: once
	State      State       `json:"state"`                // Enabled or Disabled
	Policy     Policy      `json:"policy,omitzero"`
}

// Job is a definition with its identity and its place in time. All of it but
// Status is fixed by a revision.
type Job struct {
	UID           string `json:"uid"` // 32 hex digits made at creation: a job deleted and made again is another
	Revision      int64  `json:"rev"` // +1 with each change, from 1
	CollectionUID string `json:"cuid"`
	Ref

	Definition

	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// Series is the revision with which the present series of occurrences began,
	// and SeriesAt the moment. Recurrence.Count is counted from there.
	Series   int64     `json:"series"`
	SeriesAt time.Time `json:"seriesAt"`
	// Anchor is the start of the schedule's grid: StartAt, or else when the job
	// was first enabled in this series. Zero while it never was.
	Anchor time.Time `json:"anchor,omitzero"`
	// ActiveFrom is when the series began, or the job was last enabled.
	// Occurrences before it are not made up. Zero while it was never enabled.
	ActiveFrom time.Time `json:"activeFrom,omitzero"`

	Status Status `json:"-"`
}

// Status is how far a job is. Its zero value is that of a job that never ran.
type Status struct {
	State           State     // as in Definition, until it is final
	LastExecutionAt time.Time // start of the newest attempt of the main action; zero: none
	NextExecutionAt time.Time // zero: none
	Counters

	LastAt  time.Time // newest nominal time planned or passed over, of any series; zero: none
	Planned int64     // occurrences of the present series planned
	Passed  int64     // occurrences of the present series that were passed over
	// Waiting are nominal times, oldest first, of occurrences that wait for their
	// turn and are not planned yet; see [Policy].
	Waiting []time.Time
	// Active is how many runs are not finished. It is known only where Policy is
	// [Policy.Serial].
	Active int64
}

// Counters count a job's life. They only grow.
type Counters struct {
	Executions int64 `json:"exec,omitempty"`  // occurrences of which an attempt was made
	Failures   int64 `json:"fail,omitempty"`  // failed attempts, of the main and the error action
	Faults     int64 `json:"fault,omitempty"` // occurrences whose main action failed through all retries
}

// NextAfter returns the first occurrence of the job's series that is later than
// last, the newest so far (zero: none), whatever the job's state and count.
// Occurrences before activeFrom, when the collection was last enabled, and
// before the job's own ActiveFrom are not made up. It returns the zero time if
// there is none left.
func (j *Job) NextAfter(last, activeFrom time.Time) (time.Time, error) {
	t, err := NewTimetable(&j.Definition, j.Anchor)
	if err != nil {
		return time.Time{}, err
	}
	return t.First(j, last, activeFrom), nil
}
