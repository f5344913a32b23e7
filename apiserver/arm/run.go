package arm

import (
	"context"

	"github.com/google/uuid"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// runJob asks for one occurrence beside the schedule, which is untouched: before
// startTime too, and of a disabled job. Of a final job it is a conflict, and in
// a collection that is disabled or suspended, in which nothing runs (our
// decision); so it is while a run is not finished, if policy.overlap is skip or
// queue: whoever asks is there to be told, and can ask again. A client that repeats a request under the same
// x-ms-client-request-id, as SDKs do, asks for one run and not for two.
func (a *API) runJob(ctx context.Context, r *request) (*answer, error) {
	err := a.commit(ctx, jobKey(r.ref), func() (job.Entry, error) {
		c, j, err := a.existing(ctx, r.ref)
		if err != nil {
			return job.Entry{}, err
		}
		if err := r.precondition(j.UID, j.Revision); err != nil {
			return job.Entry{}, err
		}
		if j.Status.State.Final() {
			return job.Entry{}, final(j)
		}
		if c.State != job.CollectionEnabled {
			return job.Entry{}, job.Conflict("Job collection '%s' is %s, so its jobs do not run. Enable it first.", c.Collection, c.State)
		}
		now := a.now()
		p := &job.Pending{DueAt: now, Run: job.Run{
			Tag: job.RunTag(j.UID, r.runID()), UID: j.UID, Revision: j.Revision, At: now,
			Repeat: j.Status.Planned + 1, Manual: true, Phase: job.MainAction,
		}}
		return job.Entry{Shard: c.Shard(a.cfg.Shards), UID: j.UID, Revision: j.Revision, Run: p}, a.cfg.Store.RunJob(ctx, c, j, p)
	})
	if err != nil {
		return nil, err
	}
	return done(), nil
}

// runID identifies a run request: by the client's id if that is a GUID, which
// Azure's conventions want to be new with each request, else by ours.
func (r *request) runID() string {
	if id, err := uuid.Parse(r.http.Header.Get("X-Ms-Client-Request-Id")); err == nil && id != uuid.Nil {
		return id.String()
	}
	return r.id
}
