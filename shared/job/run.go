package job

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// Tag returns the execution tag of a job's occurrence at its nominal time: 32
// lower hex digits, the same for every attempt.
func Tag(uid string, at time.Time) string {
	return tag(uid, strconv.FormatInt(at.UnixMilli(), 10))
}

// RunTag returns the execution tag of an occurrence that a run request, known
// by its id, asked for.
func RunTag(uid, requestID string) string { return tag(uid, "run/"+requestID) }

func tag(uid, occurrence string) string {
	sum := sha256.Sum256([]byte(uid + "/" + occurrence))
	return hex.EncodeToString(sum[:16])
}

// Run is an occurrence that has been planned and is not finished.
type Run struct {
	Tag      string    `json:"tag"`
	UID      string    `json:"uid"` // of the job
	Revision int64     `json:"rev"` // of the definition it was planned from
	At       time.Time `json:"at"`  // nominal time, in whole milliseconds
	// Repeat is the number of the occurrence since the job was created or last
	// updated, from 1.
	Repeat int64 `json:"repeat"`
	// Manual marks a run that a request asked for: it stands outside the
	// schedule and goes on when the job is disabled.
	Manual bool `json:"manual,omitempty"`

	Phase      Phase `json:"phase"`
	RetryCount int   `json:"retry"` // attempts of the phase before this one, from 0
}

// Attempt is one performance of an action, as planned. A dispatch carries it
// to a worker and its result repeats it, so that history alone says what
// happened and what has to happen next.
type Attempt struct {
	Run
	Shard    int    `json:"shard"`
	Ref             // names, for history and messages
	Location string `json:"location"` // display name of the collection's region

	DueAt time.Time `json:"dueAt"` // not to be performed before; At for a first attempt

	Retries  int           `json:"retries,omitempty"`  // how often this phase is tried again
	Interval time.Duration `json:"interval,omitempty"` // how long after a failure
	Fallback bool          `json:"fallback,omitempty"` // an error action follows the last failure

	Planned Planned `json:"planned"`
}

// Planned is where a job stood when an attempt was dispatched. With it a store
// that lost its state is rebuilt from history.
type Planned struct {
	Series   int64     `json:"series"`          // see [Job]
	Count    int64     `json:"count"`           // occurrences of the series planned, with this one
	NextAt   time.Time `json:"nextAt,omitzero"` // next occurrence; zero: this was the last
	Counters           // before this attempt
}

// Dispatch is an attempt with all that a worker needs to perform it.
type Dispatch struct {
	Attempt
	// Resend counts how often the attempt was dispatched anew because its
	// dispatch had vanished without a result.
	Resend int `json:"resend,omitempty"`
	// Skipped, if positive, is the number of occurrences before this one that
	// were missed and will not be made up. Planners act on it; workers do not
	// see it.
	Skipped int64 `json:"-"`

	Action Action `json:"action"` // of the phase, without its error action
}

// ID identifies the attempt's dispatch to the queue, which folds duplicates.
func (d *Dispatch) ID() string {
	return d.Tag + "/" + string(d.Phase) + "/" + strconv.Itoa(d.RetryCount) + "/" + strconv.Itoa(d.Resend)
}

// Outcome is what came of an attempt.
type Outcome string

// The outcomes, spelled as history's status.
const (
	Succeeded Outcome = "completed"
	Failed    Outcome = "failed"
	// Postponed means that the target asked to come back later.
	Postponed Outcome = "postponed"
	// Skipped means that no attempt was made, and that the run ends.
	Skipped Outcome = "skipped"
)

// Result is what came of an attempt.
type Result struct {
	Attempt
	// Performance identifies this performance: an attempt that was performed
	// twice, because its worker died, has two results.
	Performance string    `json:"perf"`
	StartedAt   time.Time `json:"startedAt"`
	EndedAt     time.Time `json:"endedAt"`
	Outcome     Outcome   `json:"outcome"`
	Message     string    `json:"message"`
	// RetryAfter is how long a target that postponed asked to wait.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
	// Missed, on a skipped result, is the number of occurrences it speaks of
	// that never became runs. The run that it names, if any, goes on.
	Missed int64 `json:"missed,omitempty"`
	// From, if set, makes the result a [Pass] over Missed occurrences from there
	// to At, after which those of Waiting wait.
	From    time.Time   `json:"from,omitzero"`
	Waiting []time.Time `json:"waiting,omitempty"`
}

// A Record is a result as history keeps it.
type Record struct {
	Result
	Sequence uint64    // in the history, growing
	StoredAt time.Time // by the history's clock
}

// A Position is a place in the history.
type Position struct {
	// Sequence is that of the last record read; 0 is the beginning.
	Sequence uint64
	// History identifies the history: a position in another one means nothing.
	History string
}

// A Verdict says what to do with a dispatch that a worker was given. The zero
// Verdict is: done.
type Verdict struct {
	// Again, if positive, has it delivered again after this long.
	Again time.Duration
	// Drop, if not empty, is why it must never be delivered again.
	Drop string
}
