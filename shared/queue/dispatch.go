package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Dispatch hands attempts to the workers. It blocks until the broker has
// answered for every one, but no longer than 10 s for each MaxPending of them,
// or until ctx is done, and returns their sequences: 0 for one that was not
// acknowledged, in which case err says why. Such a one may have been stored all the same; to dispatch it again is
// always right.
//
// An attempt whose id was dispatched within the last 30 s is not stored again,
// even if a worker has seen to it meanwhile. Its sequence is that of the first.
func (q *Queue) Dispatch(ctx context.Context, ds []*job.Dispatch) (sequences []uint64, err error) {
	list := make([]outgoing, len(ds))
	for i, d := range ds {
		m := &list[i]
		m.id = d.ID()
		if m.subject, m.err = q.dispatchSubject(d.Shard, d.Tag); m.err == nil {
			m.data, m.err = encodeDispatch(d)
		}
	}
	sequences, errs := q.publish(ctx, dispatches, list)
	return sequences, summary("dispatch", errs)
}

// summary returns an error that says how many of errs are errors, and each
// reason once.
func summary(what string, errs []error) error {
	var reasons []error
	failed := 0
	said := make(map[string]bool)
	for _, err := range errs {
		if err == nil {
			continue
		}
		failed++
		if !said[err.Error()] {
			said[err.Error()] = true
			reasons = append(reasons, err)
		}
	}
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%s: %d of %d failed: %w", what, failed, len(errs), errors.Join(reasons...))
}

// Find returns the attempt that waits for a worker, or is with one, under an
// execution tag, and its sequence; or nil and 0 if there is none. It blocks for
// a round trip.
func (q *Queue) Find(ctx context.Context, shard int, tag string) (d *job.Dispatch, sequence uint64, err error) {
	subject, err := q.dispatchSubject(shard, tag)
	if err != nil {
		return nil, 0, fmt.Errorf("find dispatch: %w", err)
	}
	m, err := q.get(ctx, dispatches, selection{Last: subject})
	if m == nil || err != nil {
		return nil, 0, wrap("find dispatch", err)
	}
	if d, err = decodeDispatch(m.data); err != nil {
		return nil, 0, fmt.Errorf("find dispatch: %w", err)
	}
	return d, m.sequence, nil
}

// Waiting calls visit for every attempt of a shard that waits for a worker or is
// with one, in the order in which they were dispatched. What is dispatched
// meanwhile may be left out. It blocks for a round trip for every few hundred,
// and returns visit's error, wrapped.
func (q *Queue) Waiting(ctx context.Context, shard int, visit func(d *job.Dispatch, sequence uint64) error) error {
	if err := q.shard(shard); err != nil {
		return fmt.Errorf("read dispatches: %w", err)
	}
	err := q.scan(ctx, dispatches, dispatchesOf(shard), selection{}, func(m *message) error {
		d, err := decodeDispatch(m.data)
		if err != nil {
			return q.undecodable(ctx, dispatches, m, err)
		}
		return visit(d, m.sequence)
	})
	return wrap("read dispatches", err)
}

// undecodable returns an error that means that the reader has to be a newer
// carillon, or logs that a message makes no sense, and returns nil: nobody can
// read it, and what comes after it must not wait.
func (q *Queue) undecodable(ctx context.Context, stream string, m *message, err error) error {
	if errors.Is(err, errNewer) {
		return err
	}
	q.log.ErrorContext(ctx, "message left out that cannot be read", "stream", stream, "sequence", m.sequence, "subject", m.subject, "err", err)
	return nil
}

// wrap says what was being done, if err is an error.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
