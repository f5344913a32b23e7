package arm

import (
	"sync"

	"github.com/carillon-scheduler/carillon/shared/job"
)

const (
	maxDebts    = 4096 // tombstones that are kept for the journal
	maxPayments = 32   // that go along with one entry
)

// debts are tombstones of what the store has deleted and the journal did not
// take. Without them the resource would come back if the store were rebuilt from
// the journal, and a client that repeats its DELETE finds nothing that it could
// delete. They go along with whatever is journaled next; a process that ends
// before that takes them with it. When the journal has no room, any entry
// becomes a debt, and until some are paid no more is written to the store.
type debts struct {
	mu     sync.Mutex
	owed   map[string]debt // by UID
	noRoom bool
}

type debt struct {
	key   string // of the resource
	entry job.Entry
}

// full reports whether no more can be owed.
func (d *debts) full() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.owed) >= maxDebts
}

func (d *debts) owe(key string, e job.Entry, noRoom bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noRoom = d.noRoom || noRoom
	if d.owed == nil {
		d.owed = make(map[string]debt)
	}
	d.owed[e.UID] = debt{key, e}
}

// blocked returns a few debts if the journal had no room for one, and none was
// paid since.
func (d *debts) blocked() []job.Entry {
	d.mu.Lock()
	blocked := d.noRoom
	d.mu.Unlock()
	if !blocked {
		return nil
	}
	return d.some("")
}

// some returns a few debts; those of one resource, if key is not empty.
func (d *debts) some(key string) []job.Entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []job.Entry
	for _, o := range d.owed {
		if len(list) == maxPayments {
			break
		}
		if key == "" || key == o.key {
			list = append(list, o.entry)
		}
	}
	return list
}

// paid strikes out what the journal took.
func (d *debts) paid(list []job.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range list {
		delete(d.owed, list[i].UID)
		d.noRoom = false
	}
}
