package arm

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Store keeps collections and jobs. Every write holds what it replaces against
// what was read, and fails with [job.ErrChanged] if that is no more; every
// method fails with [job.ErrNotReady] while the shard has no state. What it
// returns belongs to the caller.
type Store interface {
	// Now returns the time by the clock that all parts of a cluster follow.
	Now() time.Time

	// Collection returns a collection, with its Jobs and Writes. It fails with
	// [job.ErrNotFound].
	Collection(ctx context.Context, ref job.CollectionRef) (*job.Collection, error)
	// Collections returns up to limit collections of a subscription, or of one
	// of its resource groups, whose Key is greater than after, in order of their
	// keys.
	Collections(ctx context.Context, subscription, resourceGroup, after string, limit int) ([]*job.Collection, error)
	// PutCollection creates c, if was is nil, or replaces was. If exact, no job
	// of it may have been written or deleted since was was read. It fails with
	// [*job.ConflictError] if c would be the second Free collection of its
	// subscription.
	PutCollection(ctx context.Context, c, was *job.Collection, exact bool) error
	// DeleteCollection removes a collection with all its jobs.
	DeleteCollection(ctx context.Context, c *job.Collection) error

	// Job returns a job and its collection. It fails with [job.ErrNotFound]; the
	// collection is nil when that is what is missing.
	Job(ctx context.Context, ref job.Ref) (*job.Collection, *job.Job, error)
	// Jobs returns the jobs that q selects, in order of their names, and whether
	// there are more.
	Jobs(ctx context.Context, c *job.Collection, q job.Query) (jobs []*job.Job, more bool, err error)
	// PutJob creates or replaces a job; see [job.Write] for what must hold.
	PutJob(ctx context.Context, w job.Write) error
	// DeleteJob removes a job.
	DeleteJob(ctx context.Context, c *job.Collection, j *job.Job) error
	// RunJob adds a run that is due at once, and numbers it. c and j must be as
	// read. A run under way with the same tag is left alone. It fails with
	// [*job.ConflictError] if the job is final meanwhile, or has a run that is
	// not finished and a policy that lets none begin beside it.
	RunJob(ctx context.Context, c *job.Collection, j *job.Job, r *job.Pending) error
}

// Journal keeps what was asked for.
type Journal interface {
	// Journal returns when all entries are kept. If it fails, none, some or all
	// of them may be.
	Journal(ctx context.Context, entries ...job.Entry) error
}

// History keeps what was done.
type History interface {
	// History returns a job's records, the newest first: by StartedAt, then by
	// Sequence.
	History(ctx context.Context, shard int, uid string) ([]job.Record, error)
}

// Sealer hides secrets before anybody keeps them. It leaves those that are
// sealed as they are. uid is the job's.
type Sealer interface {
	// Seal replaces each secret of an action, and of its error action.
	Seal(a *job.Action, uid string) error
	// SealLike does so too, in such a way that what is the same secret in the
	// same place of was reads the same.
	SealLike(a *job.Action, uid string, was *job.Action) error
}
