package arm

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// What a new definition means to a job that exists. Azure's documentation says
// little of it, so these rules are our decision:
//
//   - A PUT that changes anything but the state begins a new series: occurrences
//     are counted anew, from a grid that starts anew.
//   - A PATCH begins one only if it changes startTime or recurrence.
//   - A change of the state alone, by PUT or PATCH, never does. Disabling takes
//     away the next execution. Enabling finds the first occurrence from now on:
//     those in between are not made up. If none is left, or as many as count
//     allows were planned, the job is completed.
//   - Any other change leaves the schedule and its progress alone.
//   - What changes nothing is not written: same revision, same series. So a
//     client may repeat a request whose answer it lost.
//
// Times are judged when they are given: while startTime and recurrence stay, an
// endTime that has passed since does not make a change of something else invalid.
type change int

const (
	changesNothing change = iota
	changesState          // and nothing else
	changesContent        // but not the series
	changesSeries
)

// changeOf compares a definition to be, its secrets sealed, with the one that is
// stored. replace says that it is from a PUT.
func changeOf(was, d *job.Definition, replace bool) change {
	content := !same(&was.Action, &d.Action) || was.Policy != d.Policy
	switch {
	case !was.StartAt.Equal(d.StartAt) || !same(was.Recurrence, d.Recurrence):
		return changesSeries
	case content && replace:
		return changesSeries
	case content:
		return changesContent
	case was.State != d.State:
		return changesState
	}
	return changesNothing
}

// same reports whether two values are the same to whoever keeps them.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// create returns the write that makes a job of a definition.
func create(c *job.Collection, name, uid string, d *job.Definition, now time.Time) (job.Write, error) {
	j := &job.Job{
		UID: uid, Revision: 1, CollectionUID: c.UID,
		Ref:        job.Ref{CollectionRef: c.CollectionRef, Job: name},
		Definition: *d, CreatedAt: now, UpdatedAt: now,
	}
	w := job.Write{Collection: c, Job: j}
	return w, begin(&w, now)
}

// update returns the write that gives a job another definition, of which kind
// says what it changes.
func update(c *job.Collection, was *job.Job, d *job.Definition, kind change, now time.Time) (job.Write, error) {
	j := new(*was)
	j.Definition, j.Status.State = *d, d.State
	j.Revision++
	j.UpdatedAt = now
	w := job.Write{Collection: c, Was: was, Job: j}
	// No nominal time is given twice, whatever clocks did.
	from := was.Status.LastAt.Add(time.Millisecond)
	if from.Before(now) {
		from = now
	}
	switch {
	case kind == changesSeries:
		return w, begin(&w, from)
	case was.State == d.State:
		return w, nil
	case d.State == job.Disabled:
		reschedule(&w, time.Time{})
		return w, nil
	}
	return w, enable(&w, from)
}

// begin begins a series at now.
func begin(w *job.Write, now time.Time) error {
	j := w.Job
	j.Series, j.SeriesAt = j.Revision, now
	j.Status.State, j.Status.Planned = j.State, 0
	j.Anchor = j.StartAt
	if j.State != job.Enabled {
		reschedule(w, time.Time{})
		return nil
	}
	next, err := activate(w, now)
	if err == nil && next.IsZero() {
		return job.Invalid("recurrence", "must occur at least once: this schedule never comes about before it ends")
	}
	reschedule(w, next)
	return err
}

// enable lets a disabled job go on from now.
func enable(w *job.Write, now time.Time) error {
	next, err := activate(w, now)
	if r := w.Job.Recurrence; r != nil && r.Count > 0 && w.Was.Status.Planned >= int64(r.Count) {
		next = time.Time{}
	}
	reschedule(w, next)
	if next.IsZero() {
		w.Job.Status.State = job.Completed
	}
	return err
}

// activate lets a job run from now on, and returns when it does so first.
func activate(w *job.Write, now time.Time) (time.Time, error) {
	j := w.Job
	j.ActiveFrom = now
	if j.Anchor.IsZero() {
		j.Anchor = now
	}
	return j.NextAfter(j.Status.LastAt, w.Collection.ActiveFrom)
}

// reschedule has the write set the next execution; zero means none.
func reschedule(w *job.Write, next time.Time) {
	w.Reschedule, w.NextAt = true, next
	w.Job.Status.NextExecutionAt = next
}

// newUID returns 32 hex digits that were never used before.
func newUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
