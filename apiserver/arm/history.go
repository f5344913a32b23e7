package arm

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/carillon-scheduler/carillon/apiserver/wire"
	"github.com/carillon-scheduler/carillon/shared/job"
)

// listHistory lists a job's attempts, the newest first. Occurrences that were
// skipped, which Azure did not record, are listed only for whoever asks for them
// by $filter (our decision).
//
// A page goes on behind a record and not at a number ($skiptoken), so that what
// is recorded meanwhile shifts nothing.
func (a *API) listHistory(ctx context.Context, r *request) (*answer, error) {
	skip, top, err := r.query.page(a.cfg.MaxPage)
	if err != nil {
		return nil, err
	}
	outcome, err := filter(r.query, "status", job.Succeeded, job.Failed, job.Postponed, job.Skipped)
	if err != nil {
		return nil, err
	}
	before := uint64(math.MaxUint64)
	if token := r.query[paramSkipToken]; token != "" {
		if before, err = strconv.ParseUint(token, 36, 64); err != nil {
			return nil, job.Invalid(paramSkipToken, "must be one that a nextLink gave")
		}
	}
	c, j, err := a.existing(ctx, r.ref)
	if err != nil {
		return nil, err
	}
	records, err := a.cfg.History.History(ctx, c.Shard(a.cfg.Shards), j.UID)
	if err != nil { // whatever it is, it is the broker's
		return nil, fmt.Errorf("%w: %w", job.ErrUnavailable, err)
	}
	var items [][]byte
	next := ""
	last := uint64(0)
	for i := range records {
		rec := &records[i]
		if rec.Sequence >= before || !listed(rec, outcome) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if len(items) == top {
			next = a.nextLink(r.http, paramSkipToken, strconv.FormatUint(last, 36))
			break
		}
		items = append(items, wire.WriteRecord(rec))
		last = rec.Sequence
	}
	return &answer{status: http.StatusOK, body: wire.WriteList(items, next)}, nil
}

// listed reports whether a record belongs into a list of that outcome; empty
// means any.
func listed(r *job.Record, outcome job.Outcome) bool {
	if outcome == "" {
		return r.Outcome != job.Skipped
	}
	return r.Outcome == outcome
}
