package arm

import (
	"context"
	"errors"
	"net/http"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// tombstone carries out one try of a DELETE on a resource as read, and notes
// that it was tried.
func (a *API) tombstone(tried *bool, r *request, uid string, revision int64, remove func() (job.Entry, error)) (job.Entry, error) {
	if err := r.precondition(uid, revision); err != nil {
		return job.Entry{}, err
	}
	if a.debts.full() {
		return job.Entry{}, unjournaled(errors.New("too many deletions wait for the journal"))
	}
	*tried = true
	return remove()
}

// deleted answers a DELETE that ended with err. What is not there is 404 (our
// decision: the SDKs accept only 200, so the 204 of Azure Resource Manager would
// be an error to them too), unless this request or one before it is the reason
// that it is not there.
func (a *API) deleted(ctx context.Context, key string, tried bool, err error) (*answer, error) {
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusNotFound {
		settled, settleErr := a.settle(ctx, key)
		if settleErr != nil {
			return nil, settleErr
		}
		if settled || tried {
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	return done(), nil
}
