package job

import "time"

// A Write is a job to be created or changed, with all that has to hold at the
// moment of writing.
type Write struct {
	// Collection is the job's, as read. Its revision must not have changed, or
	// the write fails with [ErrChanged].
	Collection *Collection
	// Was is the job as read, nil to create one. Its revision must not have
	// changed, nor, if Reschedule, its progress, or the write fails with
	// [ErrChanged]. A job that is final meanwhile fails with [ConflictError].
	Was *Job
	// Job is the job to be, with its revision.
	Job *Job
	// MaxJobs is the most jobs the collection may hold with this one; creating
	// one more fails with [ConflictError].
	MaxJobs int
	// Reschedule sets the next execution to NextAt (zero: none) and, if the
	// series is new, starts counting anew. Otherwise the planner's progress is
	// left as it is.
	Reschedule bool
	NextAt     time.Time
}

// A Query selects jobs of a collection, in the order of their names.
type Query struct {
	State State // empty: any
	Skip  int
	Top   int // most jobs to return
}
