package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// errReplaced means that the history that is being followed is gone, and that
// another is in its place.
var errReplaced = errors.New("the history was replaced by another")

// Follow calls emit with the records of a shard after a place in the history,
// all of them and in order: with what there is, up to limit records, and then
// with what is added. It blocks until ctx is done, when it returns nil, and
// however long the broker is away; or until emit fails, and returns that error,
// wrapped. A place in a history that is not the present one, as [Queue.HistoryEnd]
// tells, means the beginning. If the history is replaced by another while it is
// being followed, Follow returns an error: a place in it means nothing any more.
func (q *Queue) Follow(ctx context.Context, shard int, after job.Position, limit int, emit func([]job.Record) error) error {
	if err := errors.Join(q.shard(shard), checkLimit(limit)); err != nil {
		return fmt.Errorf("follow history: %w", err)
	}
	f := &follower{q: q, shard: shard, limit: limit, emit: emit, at: after}
	err := q.keep(ctx, "follow history", f.round)
	return wrap("follow history", err)
}

func checkLimit(n int) error {
	if n < 1 {
		return fmt.Errorf("limit %d is below 1", n)
	}
	return nil
}

// follower reads a shard's history through one consumer after another.
type follower struct {
	q     *Queue
	shard int
	limit int
	emit  func([]job.Record) error
	at    job.Position // everything up to it was emitted
	begun bool
}

// round makes a reader that begins where the one before ended, and reads until
// something goes wrong or ctx is done.
func (f *follower) round(ctx context.Context, works func()) error {
	if err := f.place(ctx); err != nil {
		return err
	}
	r, err := f.q.newReader(ctx, history, historyOf(f.shard), f.at.Sequence)
	if err != nil {
		return err
	}
	defer r.close(ctx)
	works()
	for {
		list, err := r.read(ctx, f.limit)
		if err != nil {
			return err
		}
		if err := f.hand(ctx, list); err != nil {
			return err
		}
	}
}

// place makes sure that f.at is a place in the present history.
func (f *follower) place(ctx context.Context) error {
	identity, last, err := f.q.historyState(ctx)
	switch {
	case err != nil:
		return err
	case identity == f.at.History:
		if f.at.Sequence > last {
			// The broker came back older. What it forgot is in the store already,
			// and what is new takes the place of it.
			f.q.log.WarnContext(ctx, "history lost its end", "shard", f.shard, "end", last, "was", f.at.Sequence)
			f.at.Sequence = last
		}
	case f.begun:
		return fatal{errReplaced}
	default:
		f.at = job.Position{History: identity}
	}
	f.begun = true
	return nil
}

// hand emits what was read.
func (f *follower) hand(ctx context.Context, list []*message) error {
	records := make([]job.Record, 0, len(list))
	for _, m := range list {
		r, err := decodeResult(m.data)
		if err == nil {
			records = append(records, job.Record{Result: *r, Sequence: m.sequence, StoredAt: m.storedAt})
		} else if err = f.q.undecodable(ctx, history, m, err); err != nil {
			return fatal{err}
		}
	}
	if len(records) > 0 {
		if err := f.emit(records); err != nil {
			return fatal{err}
		}
	}
	f.at.Sequence = list[len(list)-1].sequence
	return nil
}
