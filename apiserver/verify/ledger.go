package verify

import (
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/apiserver/client"
)

// changeKind says what was asked of the API.
type changeKind string

const (
	created     changeKind = "created"
	rescheduled changeKind = "rescheduled" // PATCH of the schedule: a new series begins
	replaced    changeKind = "replaced"    // PUT: a new series begins
	redirected  changeKind = "redirected"  // PATCH of the action: the same series goes on
	repeated    changeKind = "repeated"    // what is there already: nothing changes
	enabled     changeKind = "enabled"
	disabled    changeKind = "disabled"
	deleted     changeKind = "deleted"
	ran         changeKind = "run"
)

// outcome is what the API said.
type outcome string

const (
	// unclear: no answer that says anything. It may have happened, or may yet.
	unclear outcome = ""
	// acknowledged: it happened between the two times.
	acknowledged outcome = "acknowledged"
	// refused: the answer to the only request was no, so it did not happen.
	refused outcome = "refused"
)

// change is something that was asked of a job or a collection.
type change struct {
	kind changeKind
	def  *definition // created, rescheduled, replaced, redirected
	// sentAt is before the first request, answeredAt after the last answer. What
	// was asked happened in between.
	sentAt, answeredAt time.Time
	outcome            outcome
	tries              int
	reason             string // an answer that said no
	excused            bool   // for good reason: the job, or its time, is over
	// next is the next execution that the answer named, if it was that to the
	// first request.
	next time.Time
}

func (c *change) recurrence() *client.Recurrence {
	if c.def == nil {
		return nil
	}
	return c.def.rec
}

// life is a job from its creation to its deletion.
type life struct {
	collection, job, form string
	changes               []change // one at a time, in order

	// What was read at the end.
	read  bool // rows, skips and found are complete
	rows  []row
	skips []row
	found *found // nil: there is no such job
}

// row is a row of history.
type row = client.RowProperties

// found is a job as it was read.
type found struct {
	state  string
	uri    string // of the action, which has the marker of the definition
	status client.Status
}

// ledger is everything that was asked and answered.
type ledger struct {
	mu       sync.Mutex
	lives    []*life
	switches map[string][]change // of collections
}

// add begins a life.
func (l *ledger) add(v *life) *life {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lives = append(l.lives, v)
	return v
}

// begin notes that something is asked of a job, before it is. The answer goes to
// what it returns.
func (l *ledger) begin(v *life, c change) (finish func(change)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v.changes = append(v.changes, c)
	i := len(v.changes) - 1
	return func(done change) {
		l.mu.Lock()
		defer l.mu.Unlock()
		v.changes[i] = done
	}
}

// beginSwitch is begin for a collection.
func (l *ledger) beginSwitch(collection string, c change) (finish func(change)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.switches[collection] = append(l.switches[collection], c)
	i := len(l.switches[collection]) - 1
	return func(done change) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.switches[collection][i] = done
	}
}

// setHistory notes what was read of a job's history.
func (l *ledger) setHistory(v *life, rows, skips []row) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v.rows, v.skips = rows, skips
}

// setFound notes how a job was found, when nothing happens to it any more.
func (l *ledger) setFound(v *life, f *found) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v.found, v.read = f, true
}

// last returns the last life of each job. Histories of those before went with
// them.
func (l *ledger) last() []*life {
	l.mu.Lock()
	defer l.mu.Unlock()
	newest := make(map[string]int)
	var list []*life
	for _, v := range l.lives {
		key := v.collection + "/" + v.job
		if i, ok := newest[key]; ok {
			list[i] = v
			continue
		}
		newest[key] = len(list)
		list = append(list, v)
	}
	return list
}

// copy returns the ledger as it stands.
func (l *ledger) copy() (lives []*life, switches map[string][]change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range l.lives {
		same := *v
		same.changes = append([]change(nil), v.changes...)
		lives = append(lives, &same)
	}
	switches = make(map[string][]change, len(l.switches))
	for name, list := range l.switches {
		switches[name] = append([]change(nil), list...)
	}
	return lives, switches
}
