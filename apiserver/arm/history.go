package arm

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

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
	after, err := readPlace(r.query[paramSkipToken])
	if err != nil {
		return nil, err
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
	var last place
	for i := range records {
		rec := &records[i]
		if !placeOf(rec).follows(after) || !listed(rec, outcome) {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if len(items) == top {
			next = a.nextLink(r.http, paramSkipToken, last.token())
			break
		}
		items = append(items, wire.WriteRecord(rec))
		last = placeOf(rec)
	}
	return &answer{status: http.StatusOK, body: wire.WriteList(items, next)}, nil
}

// listed reports whether a record belongs into a list of that outcome; empty
// means any.
func listed(r *job.Record, outcome job.Outcome) bool {
	if outcome == "" {
		return r.Outcome != job.Skipped
	}
	return r.Outcome == outcome && (!r.Passes() || r.Missed > 0) // what passes over nothing is for planners
}

// place is where a record stands in a history, which is in the order of both: an
// attempt that began first may be recorded last.
type place struct {
	startedAt int64 // Unix time in nanoseconds
	sequence  uint64
}

func placeOf(r *job.Record) place { return place{r.StartedAt.UnixNano(), r.Sequence} }

// follows reports whether p comes after q, newest first.
func (p place) follows(q place) bool {
	return cmp.Or(cmp.Compare(p.startedAt, q.startedAt), cmp.Compare(p.sequence, q.sequence)) < 0
}

func (p place) token() string {
	return strconv.FormatInt(p.startedAt, 36) + "." + strconv.FormatUint(p.sequence, 36)
}

// readPlace reads a place's token; an empty one is the place before all records.
func readPlace(token string) (place, error) {
	if token == "" {
		return place{math.MaxInt64, math.MaxUint64}, nil
	}
	start, sequence, _ := strings.Cut(token, ".")
	at, err := strconv.ParseInt(start, 36, 64)
	n, err2 := strconv.ParseUint(sequence, 36, 64)
	if err != nil || err2 != nil {
		return place{}, job.Invalid(paramSkipToken, "must be one that a nextLink gave")
	}
	return place{at, n}, nil
}
