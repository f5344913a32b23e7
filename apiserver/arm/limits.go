package arm

import (
	"context"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// fitsPage is how many jobs are checked at a time.
const fitsPage = 200

// tighter reports whether a change of a collection could shut out jobs that are
// in it.
func (a *API) tighter(was, c *job.Collection) bool {
	from, to := was.Limits(a.cfg.Ceilings), c.Limits(a.cfg.Ceilings)
	return to.Jobs < from.Jobs || to.Fastest > from.Fastest || c.SKU == job.Free && was.SKU != job.Free
}

// fits checks that the jobs that are in a collection are allowed in what it is
// to become, and names the first that is not. Jobs that never run again only
// count.
func (a *API) fits(ctx context.Context, was, c *job.Collection) error {
	limits := c.Limits(a.cfg.Ceilings)
	checked := 0
	for more := true; more; {
		var jobs []*job.Job
		var err error
		jobs, more, err = a.cfg.Store.Jobs(ctx, was, job.Query{Skip: checked, Top: fitsPage})
		if err != nil {
			return err
		}
		for i, j := range jobs {
			if checked+i >= limits.Jobs {
				return job.Conflict("Job collection '%s' has jobs beyond the %d that it would be allowed, the first of them '%s'. Delete some first.", c.Collection, limits.Jobs, j.Job)
			}
			if j.Status.State.Final() {
				continue
			}
			if err := j.Allowed(c, limits); err != nil {
				return job.Conflict("Job '%s' does not fit what job collection '%s' is to become: %v", j.Job, c.Collection, err)
			}
		}
		checked += len(jobs)
	}
	return nil
}
