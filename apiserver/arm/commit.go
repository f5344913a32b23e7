package arm

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

const (
	// maxTries bounds how often a write that others got ahead of is decided
	// anew.
	maxTries = 20
	// maxJitter is the longest wait before the next try.
	maxJitter = 5 * time.Millisecond
)

// commit carries out a write on the resource of that key: it has decide read,
// decide and write to the store, again and again while others get in between
// ([job.ErrChanged]), and then journals the entry that decide returned. Only
// when store and journal both hold it does it return nil. The store comes first,
// so that the journal holds nothing that the store refused.
//
// Writes of one resource through this process stand in line, so that they do
// not make each other start again and their entries are journaled in the order
// of their revisions.
func (a *API) commit(ctx context.Context, key string, decide func() (job.Entry, error)) error {
	unlock, err := a.locks.lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	if err := a.room(ctx); err != nil {
		return err
	}
	entry, err := retry(ctx, decide)
	if err != nil {
		return err
	}
	return a.journal(ctx, key, entry)
}

// retry calls decide until it returns something other than [job.ErrChanged].
func retry(ctx context.Context, decide func() (job.Entry, error)) (job.Entry, error) {
	for try := 1; ; try++ {
		entry, err := decide()
		if !errors.Is(err, job.ErrChanged) || try == maxTries {
			return entry, err
		}
		select {
		case <-ctx.Done():
			return job.Entry{}, fmt.Errorf("decide anew: %w", context.Cause(ctx))
		case <-time.After(rand.N(maxJitter)): //nolint:gosec // no secret hangs on it
		}
	}
}

// journal journals an entry of the resource of that key, and what is owed. A
// tombstone that the journal does not take becomes a debt, and so does any entry
// for which it has no room.
func (a *API) journal(ctx context.Context, key string, entry job.Entry) error {
	owed := a.debts.some("")
	if err := a.cfg.Journal.Journal(ctx, append(owed, entry)...); err != nil {
		noRoom := errors.Is(err, job.ErrFull)
		if entry.Deleted || noRoom {
			a.debts.owe(key, entry, noRoom)
		}
		return unjournaled(fmt.Errorf("journal: %w", err))
	}
	a.debts.paid(owed)
	return nil
}

// room fails if the journal has none, before anything is written to the store.
// It finds out by what is owed since the journal refused it last.
func (a *API) room(ctx context.Context) error {
	owed := a.debts.blocked()
	if len(owed) == 0 {
		return nil
	}
	err := a.cfg.Journal.Journal(ctx, owed...)
	switch {
	case err == nil:
		a.debts.paid(owed)
	case errors.Is(err, job.ErrFull):
		return full("The journal of definitions has no room. Nothing was changed. Give the nats-server or its stream DEFINITIONS more, and repeat the request.",
			fmt.Errorf("journal: %w", err))
	}
	return nil // or the journal cannot be asked, which the write will find out
}

// settle is for a DELETE that found nothing: if this process deleted the
// resource before and still owes its tombstone, journaling that is the rest of
// the same deletion. It reports whether there was anything to settle.
func (a *API) settle(ctx context.Context, key string) (bool, error) {
	owed := a.debts.some(key)
	if len(owed) == 0 {
		return false, nil
	}
	if err := a.cfg.Journal.Journal(ctx, owed...); err != nil {
		return false, unjournaled(fmt.Errorf("journal: %w", err))
	}
	a.debts.paid(owed)
	return true, nil
}

// stripes is the number of locks. Two resources that share one wait for each
// other needlessly, which does no harm.
const stripes = 1024

// locks lets the writes of a resource stand in line.
type locks struct {
	seed    maphash.Seed
	stripes [stripes]chan struct{}
}

func (l *locks) init() {
	l.seed = maphash.MakeSeed()
	for i := range l.stripes {
		l.stripes[i] = make(chan struct{}, 1)
	}
}

// lock waits for its turn. The caller calls unlock.
func (l *locks) lock(ctx context.Context, key string) (unlock func(), err error) {
	c := l.stripes[maphash.String(l.seed, key)%stripes]
	select {
	case c <- struct{}{}:
		return func() { <-c }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other writes of the resource: %w", context.Cause(ctx))
	}
}
