package arm

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/carillon-scheduler/carillon/apiserver/wire"
	"github.com/carillon-scheduler/carillon/shared/job"
)

// lookUp returns a job and its collection. The job is nil if there is none; a
// collection that is missing is an error.
func (a *API) lookUp(ctx context.Context, ref job.Ref) (*job.Collection, *job.Job, error) {
	c, j, err := a.cfg.Store.Job(ctx, ref)
	if errors.Is(err, job.ErrNotFound) {
		if c == nil {
			return nil, nil, collectionNotFound(ref.CollectionRef)
		}
		return c, nil, nil
	}
	return c, j, err
}

// existing is lookUp of a job that must exist.
func (a *API) existing(ctx context.Context, ref job.Ref) (*job.Collection, *job.Job, error) {
	c, j, err := a.lookUp(ctx, ref)
	if err == nil && j == nil {
		err = jobNotFound(ref.Job)
	}
	return c, j, err
}

// jobKey names a job whatever the spelling.
func jobKey(ref job.Ref) string { return ref.Key() + "\x00" + job.FoldName(ref.Job) }

// final is the answer to whoever wants something of a job that is over (Azure
// documentation: completed and faulted jobs can only be deleted).
func final(j *job.Job) error {
	return job.Conflict("Job '%s' is %s and can no longer be changed or run, only deleted.", j.Job, j.Status.State)
}

func (a *API) getJob(ctx context.Context, r *request) (*answer, error) {
	_, j, err := a.existing(ctx, r.ref)
	if err != nil {
		return nil, err
	}
	return document(r, http.StatusOK, j.UID, j.Revision, wire.WriteJob(j)), nil
}

// putJob answers 201 for a job that is new, 200 for one that exists (recorded).
func (a *API) putJob(ctx context.Context, r *request) (*answer, error) {
	if err := checkSize(len(r.body)); err != nil {
		return nil, err
	}
	d, err := wire.ReadJob(r.body)
	if err != nil {
		return nil, err
	}
	return a.writeJob(ctx, r, true, func(*job.Job) (job.Definition, error) { return d, nil })
}

func (a *API) patchJob(ctx context.Context, r *request) (*answer, error) {
	if err := checkSize(len(r.body)); err != nil {
		return nil, err
	}
	return a.writeJob(ctx, r, false, func(was *job.Job) (job.Definition, error) {
		if was == nil {
			return job.Definition{}, jobNotFound(r.ref.Job)
		}
		d, err := wire.PatchJob(was.Definition, r.body)
		if err != nil {
			return job.Definition{}, err
		}
		if n := size(d); n > size(was.Definition) { // a job must not grow too large patch by patch
			err = checkSize(n)
		}
		return d, err
	})
}

// checkSize checks how many bytes a job takes up (Azure documentation: Scheduler
// limits).
func checkSize(n int) error {
	if n > job.MaxDefinitionBytes {
		return job.Invalid("body", "must describe a job in at most %d bytes", job.MaxDefinitionBytes)
	}
	return nil
}

// size returns how many bytes a definition takes up, whatever its state and its
// secrets.
func size(d job.Definition) int {
	d.State = job.Enabled
	return len(wire.WriteJob(&job.Job{Definition: d}))
}

// writeJob gives a job the definition that want makes of the present one, nil if
// there is no job.
func (a *API) writeJob(ctx context.Context, r *request, replace bool, want func(was *job.Job) (job.Definition, error)) (*answer, error) {
	status := http.StatusOK
	var written *job.Job
	err := a.commit(ctx, jobKey(r.ref), func() (job.Entry, error) {
		c, was, err := a.lookUp(ctx, r.ref)
		if err != nil {
			return job.Entry{}, err
		}
		d, err := want(was)
		if err != nil {
			return job.Entry{}, err
		}
		status = http.StatusOK
		if was == nil {
			status = http.StatusCreated
		}
		if written, err = a.applyJob(ctx, r, c, was, d, replace); err != nil {
			return job.Entry{}, err
		}
		return job.Entry{Shard: c.Shard(a.cfg.Shards), UID: written.UID, Revision: written.Revision, Job: written}, nil
	})
	if err != nil {
		return nil, err
	}
	return document(r, status, written.UID, written.Revision, wire.WriteJob(written)), nil
}

// applyJob writes a definition to the store, unless it changes nothing, and
// returns the job as it stands then. was is nil if there is no job.
func (a *API) applyJob(ctx context.Context, r *request, c *job.Collection, was *job.Job, d job.Definition, replace bool) (*job.Job, error) {
	uid, revision := "", int64(0)
	if was != nil {
		uid, revision = was.UID, was.Revision
	}
	if err := r.precondition(uid, revision); err != nil {
		return nil, err
	}
	if was != nil && was.Status.State.Final() {
		return nil, final(was)
	}
	if was == nil {
		uid = newUID()
	}
	sealed, err := a.seal(&d, uid)
	if err != nil {
		return nil, err
	}
	now, limits, kind := a.now(), c.Limits(a.cfg.Ceilings), changesSeries
	if was != nil {
		if kind, err = a.compare(&d, sealed, was, replace); err != nil {
			return nil, err
		}
	}
	judgedAt := now
	if kind == changesContent {
		judgedAt = was.SeriesAt
	}
	switch kind {
	case changesNothing:
		return was, nil
	case changesSeries, changesContent:
		if err := d.Validate(judgedAt, a.cfg.Ceilings); err != nil {
			return nil, err
		}
	case changesState:
	}
	if kind != changesState || d.State == job.Enabled { // whatever was let in may be disabled
		if err := d.Allowed(c, limits); err != nil {
			return nil, err
		}
	}
	var w job.Write
	if was == nil {
		w, err = create(c, r.ref.Job, uid, sealed, now)
	} else {
		w, err = update(c, was, sealed, kind, now)
	}
	if err != nil {
		return nil, err
	}
	w.MaxJobs = limits.Jobs
	return w.Job, a.cfg.Store.PutJob(ctx, w)
}

// seal returns d with its secrets sealed.
func (a *API) seal(d *job.Definition, uid string) (*job.Definition, error) {
	if a.cfg.Sealer == nil {
		return d, nil
	}
	sealed := *d
	sealed.Action = *d.Action.Clone()
	return &sealed, a.cfg.Sealer.Seal(&sealed.Action, uid)
}

// compare says what d, which is sealed with its secrets hidden, changes of a job.
// A definition that differs only in the key that hides its secrets is written
// for that, so that sending it again brings it to the newest key.
func (a *API) compare(d, sealed *job.Definition, was *job.Job, replace bool) (change, error) {
	like := sealed
	if a.cfg.Sealer != nil {
		like = new(*d)
		like.Action = *d.Action.Clone()
		if err := a.cfg.Sealer.SealLike(&like.Action, was.UID, &was.Action); err != nil {
			return 0, err
		}
	}
	kind := changeOf(&was.Definition, like, replace)
	if kind == changesNothing && !same(&was.Action, &sealed.Action) {
		kind = changesContent
	}
	return kind, nil
}

func (a *API) deleteJob(ctx context.Context, r *request) (*answer, error) {
	tried := false
	key := jobKey(r.ref)
	err := a.commit(ctx, key, func() (job.Entry, error) {
		c, j, err := a.existing(ctx, r.ref)
		if err != nil {
			return job.Entry{}, err
		}
		return a.tombstone(&tried, r, j.UID, j.Revision, func() (job.Entry, error) {
			gone := new(*j)
			gone.Revision++
			return job.Entry{Shard: c.Shard(a.cfg.Shards), UID: j.UID, Revision: gone.Revision, Job: gone, Deleted: true}, a.cfg.Store.DeleteJob(ctx, c, j)
		})
	})
	return a.deleted(ctx, key, tried, err)
}

func (a *API) listJobs(ctx context.Context, r *request) (*answer, error) {
	skip, top, err := r.query.page(a.cfg.MaxPage)
	if err != nil {
		return nil, err
	}
	state, err := filter(r.query, "state", job.Enabled, job.Disabled, job.Completed, job.Faulted)
	if err != nil {
		return nil, err
	}
	c, err := a.collection(ctx, r.ref.CollectionRef)
	if err != nil {
		return nil, err
	}
	jobs, more, err := a.cfg.Store.Jobs(ctx, c, job.Query{State: state, Skip: skip, Top: top})
	if err != nil {
		return nil, err
	}
	items := make([][]byte, len(jobs))
	for i, j := range jobs {
		items[i] = wire.WriteJob(j)
	}
	next := ""
	if more {
		next = a.nextLink(r.http, paramSkip, strconv.Itoa(skip+len(jobs)))
	}
	return &answer{status: http.StatusOK, body: wire.WriteList(items, next)}, nil
}
