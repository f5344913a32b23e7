package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Journal adds entries to the journal, in the order given. It blocks until the
// broker has them all, at most about 10 s. If it fails, any of them may have
// been added: to add an entry twice is harmless.
//
// An entry has exactly one of Collection, Job, Run and Checkpoint; a deletion
// has the Collection or Job that is no more.
func (q *Queue) Journal(ctx context.Context, entries ...job.Entry) error {
	list := make([]outgoing, len(entries))
	for i := range entries {
		m, e := &list[i], &entries[i]
		if m.subject, m.err = q.entrySubject(e); m.err == nil {
			m.data, m.err = encodeEntry(e)
		}
		if m.err != nil {
			return fmt.Errorf("journal: %w", m.err)
		}
	}
	_, errs := q.publish(ctx, definitions, list)
	return summary("journal", errs)
}

// Entries calls visit for every entry of a shard whose sequence is larger than
// after, in order, and returns the sequence of the last, or after if there is
// none. Entries that are added meanwhile may be left out. It returns visit's
// error, wrapped. It blocks for a few round trips, and then reads some ten
// thousand entries a second.
func (q *Queue) Entries(ctx context.Context, shard int, after uint64, visit func(job.Entry) error) (last uint64, err error) {
	if err := q.shard(shard); err != nil {
		return after, fmt.Errorf("read journal: %w", err)
	}
	last, err = q.entries(ctx, entriesOf(shard), after, visit)
	return last, wrap("read journal", err)
}

// entriesAtOnce is how many entries are read ahead.
const entriesAtOnce = 1024

func (q *Queue) entries(ctx context.Context, filter string, after uint64, visit func(job.Entry) error) (last uint64, err error) {
	last = after
	end, err := q.last(ctx, definitions, filter)
	if err != nil || end <= after {
		return last, err
	}
	ctx, cancel := q.online(ctx)
	defer cancel()
	r, err := q.newReader(ctx, definitions, filter, after)
	if err != nil {
		return last, err
	}
	defer r.close(ctx)
	for last < end {
		list, err := q.readSoon(ctx, r)
		if err != nil {
			return last, err
		}
		for _, m := range list {
			e, err := decodeEntry(m.data)
			if err != nil {
				err = q.undecodable(ctx, definitions, m, err)
			} else {
				e.Sequence = m.sequence
				err = visit(*e)
			}
			if err != nil {
				return last, err
			}
			last = m.sequence
		}
		if len(list) > 0 {
			continue
		}
		// Nothing more comes. Either the copy that is read lags behind, or what
		// was last is gone.
		switch m, err := q.get(ctx, definitions, selection{Sequence: last + 1, Next: filter}); {
		case err != nil:
			return last, err
		case m == nil:
			return last, nil
		}
	}
	return last, nil
}

// readSoon is [reader.read], but returns nothing if nothing has come for a while.
func (q *Queue) readSoon(ctx context.Context, r *reader) ([]*message, error) {
	soon, cancel := context.WithTimeoutCause(ctx, time.Second, errSlow)
	defer cancel()
	list, err := r.read(soon, entriesAtOnce)
	if errors.Is(err, errSlow) {
		return nil, nil
	}
	return list, err
}

// JournalEnd returns the sequence of the newest entry of a shard, 0 if there is
// none. It blocks for a round trip.
func (q *Queue) JournalEnd(ctx context.Context, shard int) (uint64, error) {
	if err := q.shard(shard); err != nil {
		return 0, fmt.Errorf("look for end of journal: %w", err)
	}
	last, err := q.last(ctx, definitions, entriesOf(shard))
	return last, wrap("look for end of journal", err)
}

// Deleted reports for each of some jobs or collections whether the journal says
// that it was deleted. It blocks for a round trip or two for every 16 of them.
func (q *Queue) Deleted(ctx context.Context, shard int, uids []string) ([]bool, error) {
	gone := make([]bool, len(uids))
	err := parallel(len(uids), func(i int) error {
		if err := errors.Join(q.shard(shard), token("uid", uids[i])); err != nil {
			return err
		}
		return q.scan(ctx, definitions, entriesAbout(shard, uids[i]), selection{}, func(m *message) error {
			e, err := decodeEntry(m.data)
			if err != nil {
				return q.undecodable(ctx, definitions, m, err)
			}
			gone[i] = gone[i] || e.Deleted
			return nil
		})
	})
	return gone, wrap("look for deletions", err)
}

// Forget removes all entries of a job or collection from the journal. What was
// deleted, and whose deletion nobody needs to know of any more, is forgotten. It
// blocks for a round trip.
func (q *Queue) Forget(ctx context.Context, shard int, uid string) error {
	err := errors.Join(q.shard(shard), token("uid", uid))
	if err != nil {
		return fmt.Errorf("forget journal entries: %w", err)
	}
	err = q.ask(ctx, func(ctx context.Context) error {
		s, err := q.js.Stream(ctx, definitions)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return s.Purge(ctx, jetstream.WithPurgeSubject(entriesAbout(shard, uid)))
	})
	return wrap("forget journal entries", err)
}
