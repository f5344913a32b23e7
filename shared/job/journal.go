package job

import "time"

// An Entry is a line of the journal, the log of what was asked for. Exactly one
// of Collection, Job, Run and Checkpoint is set; Deleted says that the Job or
// Collection named is no more.
type Entry struct {
	Shard    int    `json:"shard"`
	UID      string `json:"uid"` // of the job or collection
	Revision int64  `json:"rev"`

	Collection *Collection `json:"collection,omitempty"`
	Job        *Job        `json:"job,omitempty"`
	Run        *Pending    `json:"run,omitempty"`        // a run request
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"` // progress that history would let age out
	Deleted    bool        `json:"deleted,omitempty"`    // the job or collection is no more

	Sequence uint64 `json:"-"` // in the journal, growing; set on reading
}

// A Checkpoint is a job's progress.
type Checkpoint struct {
	State           State     `json:"state"`
	LastExecutionAt time.Time `json:"lastExec,omitzero"`
	LastAt          time.Time `json:"lastAt,omitzero"` // newest nominal time
	Repeat          int64     `json:"repeat"`
	Passed          int64     `json:"passed,omitempty"`
	Planned         Planned   `json:"planned"`
	Runs            []Pending `json:"runs,omitempty"`
}

// Pending is a run that waits, with its time.
type Pending struct {
	Run
	DueAt time.Time `json:"dueAt"`
}

// A Snapshot is a job at one moment with all that is known of it but its history:
// one revision with its own progress and its own runs. A backup holds it as JSON.
type Snapshot struct {
	Job      *Job       `json:"job"`
	Progress Checkpoint `json:"progress"` // with the runs that were planned and had not ended
	// Outcome is how the newest occurrence that ended did, empty if none did: what
	// the job becomes when it is over.
	Outcome State     `json:"outcome,omitempty"`
	EndedAt time.Time `json:"endedAt,omitzero"` // nominal time of that occurrence
	FinalAt time.Time `json:"finalAt,omitzero"` // when it was completed or faulted
	// Waiting are the occurrences that wait for their turn; see [Status].
	Waiting []time.Time `json:"waiting,omitempty"`
	// Older are the revisions that runs were planned from, other than the present
	// one.
	Older []*Job `json:"older,omitempty"`
}
