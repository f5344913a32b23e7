package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/recur"
)

// A world is a store at work: every shard is leased to one planner and ready,
// and there is one collection, whose shard's lease and place in the history are
// lease and place.
type world struct {
	*testing.T
	Store
	col    *job.Collection
	shard  int
	lease  job.Lease
	leases []job.Lease
	place  job.Position
}

func newWorld(t *testing.T, s Store) *world {
	t.Helper()
	w := &world{T: t, Store: s, place: job.Position{History: "h1"}}
	for n := range s.Shards() {
		l, err := s.Lease(t.Context(), n, "planner", time.Hour)
		w.must(err)
		w.leases = append(w.leases, l)
		w.must(s.SetProgress(t.Context(), l, job.Progress{Ready: true, History: w.place}))
	}
	w.col = w.collection("main", job.Standard)
	w.shard = w.col.Shard(s.Shards())
	w.lease = w.leases[w.shard]
	return w
}

// on returns w for a subtest.
func (w *world) on(t *testing.T) *world {
	v := *w
	v.T = t
	return &v
}

// at returns the instant d after the beginning of these tests' time: a round
// number of milliseconds, which Lua would print as 1.8e+12 if it were let.
func at(d time.Duration) time.Time { return time.UnixMilli(1_800_000_000_000).UTC().Add(d) }

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// fails checks that err is what it should be.
func (w *world) fails(err, want error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Fatalf("error = %v, want %v", err, want)
	}
}

// conflicts checks that err is a conflict, which says so to the user.
func (w *world) conflicts(err error) {
	w.Helper()
	var c *job.ConflictError
	if !errors.As(err, &c) || c.Reason == "" {
		w.Fatalf("error = %v, want a conflict with a reason", err)
	}
}

// equal checks that got is want.
func equal[V any](t testing.TB, what string, got, want V) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	end := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// newCollection returns a collection that is not stored yet.
func newCollection(name string, sku job.SKU) *job.Collection {
	return &job.Collection{
		UID: "c-" + name, Revision: 1,
		CollectionRef: job.CollectionRef{Subscription: "Sub", ResourceGroup: "Group", Collection: name},
		Location:      "West US", SKU: sku, State: job.CollectionEnabled,
		CreatedAt: at(-time.Hour), ActiveFrom: at(-time.Hour),
	}
}

// collection creates a collection.
func (w *world) collection(name string, sku job.SKU) *job.Collection {
	w.Helper()
	c := newCollection(name, sku)
	w.must(w.PutCollection(w.Context(), c, nil, false))
	return c
}

// rewrite returns a copy of c, one revision on, as change leaves it.
func rewrite(c *job.Collection, change func(*job.Collection)) *job.Collection {
	d := *c
	d.Revision++
	change(&d)
	return &d
}

// newJob returns an hourly job of the collection that is not stored yet.
func (w *world) newJob(name string) *job.Job {
	return &job.Job{
		UID: "j-" + name, Revision: 1, CollectionUID: w.col.UID,
		Ref: job.Ref{CollectionRef: w.col.CollectionRef, Job: name},
		Definition: job.Definition{
			Action:     job.Action{Type: job.HTTPS, Request: &job.Request{URI: "https://example.test/" + name, Method: "POST"}},
			Recurrence: &recur.Spec{Frequency: recur.Hour},
			State:      job.Enabled,
		},
		CreatedAt: at(0), UpdatedAt: at(0), Series: 1, SeriesAt: at(0), Anchor: at(0), ActiveFrom: at(0),
	}
}

// put creates a job, due at next, and returns it as stored.
func (w *world) put(j *job.Job, next time.Time) *job.Job {
	w.Helper()
	w.must(w.PutJob(w.Context(), job.Write{Collection: w.col, Job: j, MaxJobs: 1000, Reschedule: true, NextAt: next}))
	return w.read(j)
}

// create makes an hourly job, due at next, and returns it as stored.
func (w *world) create(name string, next time.Time) *job.Job {
	w.Helper()
	return w.put(w.newJob(name), next)
}

// edit returns a copy of j, one revision on, as change leaves it.
func edit(j *job.Job, change func(*job.Job)) *job.Job {
	d := *j
	d.Action = *j.Action.Clone()
	d.Revision++
	change(&d)
	return &d
}

// read returns a job as stored.
func (w *world) read(j *job.Job) *job.Job {
	w.Helper()
	_, got, err := w.Job(w.Context(), j.Ref)
	w.must(err)
	return got
}

// agenda returns all that the shard has to do at now.
func (w *world) agenda(now time.Time) job.Agenda {
	w.Helper()
	a, err := w.Agenda(w.Context(), w.shard, now, 1000)
	w.must(err)
	return a
}

// whole is a time by which everything of these tests is due.
func whole() time.Time { return at(100 * 365 * 24 * time.Hour) }

// dueAt returns when a job or a run is on the agenda; zero: it is not.
func dueAt(list []job.Due, id string) time.Time {
	for _, d := range list {
		if d.ID == id {
			return d.At
		}
	}
	return time.Time{}
}

// run returns a run that waits, or nil.
func (w *world) run(tag string) *job.Waiting {
	w.Helper()
	due := dueAt(w.agenda(whole()).Runs, tag)
	rs, err := w.Runs(w.Context(), w.shard, []job.Due{{ID: tag, At: due}})
	w.must(err)
	if len(rs) == 0 {
		equal(w, "time of a run that is no more", due, time.Time{})
		return nil
	}
	return rs[0]
}

// step returns the step that plans a job's occurrence.
func (w *world) step(j *job.Job, occurs, next time.Time) job.Step {
	return job.Step{Job: j, Collection: w.col, At: occurs, NextAt: next}
}

// plan carries out one step, which must be possible, from where the job is.
func (w *world) plan(j *job.Job, occurs, next time.Time) job.Taken {
	w.Helper()
	present := *j
	present.Status = w.read(j).Status
	taken, err := w.Plan(w.Context(), w.lease, []job.Step{w.step(&present, occurs, next)})
	w.must(err)
	if len(taken) != 1 || !taken[0].OK {
		w.Fatalf("plan %s at %v: %+v", j.UID, occurs, taken)
	}
	return taken[0]
}

// result returns what came of the first attempt of a job's occurrence.
func result(j *job.Job, occurs time.Time, o job.Outcome, f job.Follow) job.Effect {
	var e job.Effect
	e.Run = job.Run{Tag: job.Tag(j.UID, occurs), UID: j.UID, Revision: j.Revision, At: occurs, Phase: job.MainAction}
	e.Ref, e.Planned.Series = j.Ref, j.Series
	e.StartedAt, e.EndedAt = occurs.Add(time.Second), occurs.Add(2*time.Second)
	e.Outcome, e.Follow = o, f
	if f == job.FollowRetry || f == job.FollowError {
		e.DueAt = occurs.Add(time.Minute)
	}
	return e
}

// attempt returns e of a later attempt.
func attempt(e job.Effect, p job.Phase, retry int) job.Effect {
	e.Phase, e.RetryCount = p, retry
	return e
}

// record applies results, which must be possible.
func (w *world) record(effects ...job.Effect) {
	w.Helper()
	after := w.place
	after.Sequence += uint64(len(effects))
	w.must(w.Record(w.Context(), w.lease, w.place, after, effects))
	w.place = after
}

// stolen returns a lease that another planner has won meanwhile.
func (w *world) stolen() job.Lease {
	w.Helper()
	old := w.lease
	w.must(w.Release(w.Context(), w.shard, "planner"))
	l, err := w.Lease(w.Context(), w.shard, "thief", time.Hour)
	w.must(err)
	if l.Epoch <= old.Epoch {
		w.Fatalf("epoch went from %d to %d", old.Epoch, l.Epoch)
	}
	w.lease = l
	return old
}

func name(i int) string { return fmt.Sprintf("job%04d", i) }

func sameCollection(*job.Collection) {}
