package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Record adds a result to the history. It blocks until the broker has it, and
// tries again until then or until ctx is done: nothing else is as good. It fails
// at once if r can never be stored. The same performance is stored once.
func (q *Queue) Record(ctx context.Context, r *job.Result) error {
	return q.RecordAll(ctx, []*job.Result{r})
}

// RecordAll is [Queue.Record] of several results, all on their way at once.
func (q *Queue) RecordAll(ctx context.Context, rs []*job.Result) error {
	list := make([]outgoing, len(rs))
	for i, r := range rs {
		m := &list[i]
		m.id = resultID(r)
		if m.subject, m.err = q.historySubject(r.Shard, r.UID); m.err == nil {
			m.data, m.err = encodeResult(r)
		}
		if m.err != nil {
			return fmt.Errorf("record result: %w", m.err)
		}
	}
	err := q.publishAll(ctx, "record results", history, list, func(i int) (bool, error) {
		return q.recorded(ctx, &rs[i].Attempt, rs[i].Performance)
	})
	return wrap("record result", err)
}

// resultID identifies a performance to the stream, which folds duplicates.
func resultID(r *job.Result) string {
	return r.Tag + "/" + string(r.Phase) + "/" + strconv.Itoa(r.RetryCount) + "/" + r.Performance
}

// Done reports whether the history holds a result of d's attempt, whoever
// performed it. It blocks for a round trip or a few, and is for attempts that
// somebody may have performed before.
func (q *Queue) Done(ctx context.Context, d *job.Dispatch) (bool, error) {
	done, err := q.recorded(ctx, &d.Attempt, "")
	return done, wrap("look for result", err)
}

// skew is how far the clocks of planner, worker and broker may be apart.
const skew = 5 * time.Minute

// errFound ends a scan.
var errFound = errors.New("found")

// recorded reports whether the history holds a result of an attempt, and of a
// performance if one is given. The newest row of the job is looked at first,
// then those since the attempt was due.
func (q *Queue) recorded(ctx context.Context, a *job.Attempt, performance string) (bool, error) {
	subject, err := q.historySubject(a.Shard, a.UID)
	if err != nil {
		return false, err
	}
	match := func(m *message) error {
		r, err := decodeResult(m.data)
		switch {
		case err != nil:
			return q.undecodable(ctx, history, m, err)
		case r.Tag == a.Tag && r.Phase == a.Phase && r.RetryCount == a.RetryCount &&
			(performance == "" && r.Missed == 0 || r.Performance == performance):
			return errFound
		}
		return nil
	}
	m, err := q.get(ctx, history, selection{Last: subject})
	if err != nil || m == nil {
		return false, err
	}
	if err = match(m); err == nil {
		var from selection
		if at := cmp.Or(a.DueAt, a.At); !at.IsZero() {
			at = at.Add(-skew)
			from.StartTime = &at
		}
		err = q.scan(ctx, history, subject, from, match)
	}
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}

// History returns the rows of a job's history, at most 1000, newest first: by
// start, then by sequence. It blocks for a few round trips. Rows that are added
// meanwhile may be left out.
func (q *Queue) History(ctx context.Context, shard int, uid string) ([]job.Record, error) {
	subject, err := q.historySubject(shard, uid)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	var rows []job.Record
	err = q.scan(ctx, history, subject, selection{}, func(m *message) error {
		r, err := decodeResult(m.data)
		if err != nil {
			return q.undecodable(ctx, history, m, err)
		}
		rows = append(rows, job.Record{Result: *r, Sequence: m.sequence, StoredAt: m.storedAt})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	slices.SortFunc(rows, func(a, b job.Record) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(b.Sequence, a.Sequence))
	})
	return rows[:min(len(rows), historyRows)], nil
}

// HistoryEnd returns the place of the newest record of a shard, or the
// beginning if there is none. It blocks for two round trips.
func (q *Queue) HistoryEnd(ctx context.Context, shard int) (job.Position, error) {
	if err := q.shard(shard); err != nil {
		return job.Position{}, fmt.Errorf("look for end of history: %w", err)
	}
	identity, _, err := q.historyState(ctx)
	if err != nil {
		return job.Position{}, fmt.Errorf("look for end of history: %w", err)
	}
	last, err := q.last(ctx, history, historyOf(shard))
	if err != nil {
		return job.Position{}, fmt.Errorf("look for end of history: %w", err)
	}
	return job.Position{Sequence: last, History: identity}, nil
}

// historyState returns the history's identity, and the sequence of its newest
// record of any shard.
func (q *Queue) historyState(ctx context.Context) (identity string, last uint64, err error) {
	info, err := q.info(ctx, history)
	if err != nil {
		return "", 0, err
	}
	return info.Created.UTC().Format(time.RFC3339Nano), info.State.LastSeq, nil
}
