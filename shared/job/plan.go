package job

import "time"

// What planner and store say to each other.

// Due is something whose time has come: a job by its uid, or a run by its tag.
type Due struct {
	ID string
	At time.Time
}

// Agenda is what a shard has to do now, and when it has to do more.
type Agenda struct {
	Jobs []Due // due jobs, by next execution time
	Runs []Due // runs that somebody must act on
	// NextAt is the earliest time of what is not due yet; zero: nothing waits.
	NextAt time.Time
}

// Lease is a shard, held for a while.
type Lease struct {
	Shard int
	// Epoch is larger than that of any holder before; 0: somebody else holds it.
	Epoch int64
	// Until is when it ends, by the local clock.
	Until time.Time
	// Beat grows by one with each renewal. If it does not, the store went back
	// in time.
	Beat int64
}

// Held reports whether the lease was won.
func (l Lease) Held() bool { return l.Epoch != 0 }

// A Step is what a planner has decided for a due job.
type Step struct {
	Job        *Job        // as planned from: its revision must not have changed
	Collection *Collection // likewise
	At         time.Time   // nominal time of the occurrence to run; zero: none is planned
	NextAt     time.Time   // next execution; zero: none
	Missed     int64       // occurrences before At that are not made up

	Alone   bool        // At is planned only if no run of the job is active
	Waiting []time.Time // what is to wait afterwards; see [Status]
	LookAt  time.Time   // when the job is looked at again, if that is before NextAt; zero: at NextAt
	// Pass, if there is one, is put in the history when the step was taken, and
	// comes back from there.
	Pass *Pass
}

// Taken is what came of a Step.
type Taken struct {
	OK      bool // false: the job changed meanwhile, or is not alone, and nothing was done
	Repeat  int64
	Planned Planned // its NextAt is the Step's
}

// Waiting is a run with what is known of it.
type Waiting struct {
	Pending
	Sequence uint64 // of its dispatch; 0: not dispatched
	Resend   int
	Missed   int64 // see [Step]

	// Job is its job, with the definition the run was planned from, or nil if
	// the job was deleted. Its Status is the present one.
	Job *Job
	// Collection is its collection, or nil if that was deleted.
	Collection *Collection
	Planned    Planned
}

// Follow says what follows from a result.
type Follow string

// What can follow from a result. The run goes on after FollowRetry and
// FollowError, and ends after the others.
const (
	FollowRetry Follow = "retry" // the same action again
	FollowError Follow = "error" // the error action, after the last failure
	FollowDone  Follow = "done"  // nothing: the main action succeeded
	FollowFault Follow = "fault" // nothing: the last failure, and no error action
	FollowEnd   Follow = "end"   // nothing: the error action succeeded or failed for good
	FollowDrop  Follow = "drop"  // nothing: the rest of the run is skipped
	FollowPass  Follow = "pass"  // occurrences are passed over; see [Pass]
	FollowNone  Follow = "none"  // the result speaks of no run
)

// Effect is a result with what follows from it.
type Effect struct {
	Record
	Follow Follow
	DueAt  time.Time // of the retry or the error action
}

// Progress is how far a shard's store has come.
type Progress struct {
	Ready   bool
	Journal uint64 // last entry of the journal applied
	History Position
	// From, on writing, is the place in the history at which the store has to be:
	// one that went back in time must not be moved past what it lost. Zero: any.
	From Position
}

// Adoption is an attempt that a store may have forgotten.
type Adoption struct {
	*Attempt
	Make     bool      // make the run if the store does not hold it
	ActAt    time.Time // when somebody must act on it
	Sequence uint64    // of its dispatch; 0: none stands in the dispatch stream
	Resend   int
}
