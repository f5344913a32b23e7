package planner

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// retries is how a phase is retried, and whether another follows.
type retries struct {
	count    int
	interval time.Duration
	fallback bool
}

// prepared returns a phase's action as a worker is to perform it: without what
// comes after it.
func prepared(a *job.Action, p job.Phase) (job.Action, retries) {
	act, policy := a.In(p)
	if act == nil {
		return job.Action{}, retries{}
	}
	count, interval := policy.Retries()
	r := retries{count, interval, p == job.MainAction && a.Error != nil}
	bare := *act
	bare.Retry, bare.Error = nil, nil
	return bare, r
}

// first returns the first dispatch of an occurrence that was just planned.
func (o *owner) first(p *planned, s *job.Step, t *job.Taken) *job.Dispatch {
	return &job.Dispatch{
		Attempt: job.Attempt{
			Run: job.Run{
				Tag: job.Tag(p.UID, s.At), UID: p.UID, Revision: p.Revision, At: s.At,
				Repeat: t.Repeat, Phase: job.MainAction,
			},
			Shard: o.shard, Ref: p.Ref, Location: s.Collection.Location, DueAt: s.At,
			Retries: p.retries.count, Interval: p.retries.interval, Fallback: p.retries.fallback,
			Planned: t.Planned,
		},
		Skipped: s.Missed,
		Action:  p.action,
	}
}

// attempt returns the next attempt of a run.
func (o *owner) attempt(w *job.Waiting) *job.Dispatch {
	d := &job.Dispatch{
		Attempt: job.Attempt{Run: w.Run, Shard: o.shard, DueAt: w.DueAt, Planned: w.Planned},
		Resend:  w.Resend,
	}
	if w.Phase == job.MainAction && w.RetryCount == 0 && w.Resend == 0 {
		d.Skipped = w.Missed // nobody has said so yet
	}
	if w.Job != nil {
		var r retries
		d.Ref = w.Job.Ref
		d.Action, r = prepared(&w.Job.Action, w.Phase)
		d.Retries, d.Interval, d.Fallback = r.count, r.interval, r.fallback
	}
	if w.Collection != nil {
		d.Location = w.Collection.Location
	}
	return d
}

// runs returns what has to be dispatched of the runs that somebody must act on:
// attempts that are due or were never dispatched, and those whose dispatch
// vanished without a result. Runs that are not to go on are ended, once and for
// all: their job may be enabled again before that is recorded. If there is no room
// for that in the history, it fails with [job.ErrFull], and returns the others.
func (o *owner) runs(ctx context.Context, due []job.Due) ([]*job.Dispatch, error) {
	waiting, err := o.cfg.Store.Runs(ctx, o.shard, due)
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	var open, sent []*job.Waiting
	for _, w := range waiting {
		if o.endings[w.Tag].said {
			continue
		}
		if w.Sequence == 0 {
			open = append(open, w)
		} else {
			sent = append(sent, w)
		}
	}
	lost, err := o.watch(ctx, sent)
	if err != nil {
		return nil, err
	}
	var ds []*job.Dispatch
	var skipped []*job.Result
	for _, w := range append(open, lost...) {
		d := o.attempt(w)
		if why := cmp.Or(o.endings[w.Tag].why, ended(w)); why != "" {
			o.endings[w.Tag] = ending{why: why}
			skipped = append(skipped, o.skip(d, why))
		} else {
			ds = append(ds, d)
		}
	}
	if len(skipped) == 0 {
		return ds, nil
	}
	// Their results come back through the history and end the runs.
	if err := o.cfg.Queue.RecordAll(ctx, skipped); err != nil {
		return ds, err
	}
	for _, r := range skipped {
		o.endings[r.Tag] = ending{r.Message, true}
	}
	return ds, nil
}

// ending is why a run ends without an attempt, and whether history was told.
type ending struct {
	why  string
	said bool
}

// ended says why a run is not to go on, or nothing.
func ended(w *job.Waiting) string {
	switch {
	case w.Job == nil:
		return "the job was deleted"
	case w.Collection == nil:
		return "the job collection was deleted"
	case w.Collection.State != job.CollectionEnabled:
		return "the job collection was disabled"
	case w.Job.Status.State == job.Disabled && !w.Manual:
		return "the job was disabled"
	}
	if a, _ := w.Job.Action.In(w.Phase); a == nil { // the revision planned was lost
		return "the job has no such action any more"
	}
	return ""
}

func (o *owner) skip(d *job.Dispatch, why string) *job.Result {
	now := o.cfg.Store.Now()
	return &job.Result{
		Attempt: d.Attempt, Performance: "skipped", StartedAt: now, EndedAt: now,
		Outcome: job.Skipped, Message: "Not executed: " + why + ".",
	}
}

// watch looks after attempts that were dispatched long ago and have no result.
// Those that still wait for a worker, or are under way, are watched on; those
// that are gone are returned, to be sent again.
func (o *owner) watch(ctx context.Context, sent []*job.Waiting) (lost []*job.Waiting, err error) {
	if len(sent) == 0 {
		return nil, nil
	}
	sequences := make([]uint64, len(sent))
	for i, w := range sent {
		sequences[i] = w.Sequence
	}
	present, err := o.cfg.Queue.Present(ctx, sequences)
	if err != nil {
		return nil, err
	}
	// A worker acknowledges a dispatch when its result is stored. So where one
	// is gone, its result can only be among those not yet recorded here: once
	// all are that history held when it was missed first, it has none.
	end, err := o.cfg.Queue.HistoryEnd(ctx, o.shard)
	if err != nil {
		return nil, err
	}
	if end.History != o.at.History || o.at.Sequence > end.Sequence {
		return nil, fmt.Errorf("watch dispatches: the history is not the one it was: %w", job.ErrBehind)
	}
	var there []*job.Dispatch
	var theirs []uint64
	suspects := make(map[uint64]uint64)
	for i, w := range sent {
		switch {
		case present[i]:
			there, theirs = append(there, o.attempt(w)), append(theirs, w.Sequence)
		case o.at.Sequence >= cmp.Or(o.suspects[w.Sequence], end.Sequence):
			w.Resend++
			o.log.WarnContext(ctx, "dispatch vanished without a result", "tag", w.Tag, "phase", w.Phase, "retry", w.RetryCount, "resend", w.Resend)
			lost = append(lost, w)
		default:
			suspects[w.Sequence] = cmp.Or(o.suspects[w.Sequence], end.Sequence)
		}
	}
	o.suspects = suspects
	return lost, o.cfg.Store.Dispatched(ctx, *o.lease.Load(), there, theirs, o.watchAt())
}

func (o *owner) watchAt() time.Time { return o.cfg.Store.Now().Add(o.cfg.WatchAfter) }

// dispatch hands attempts to the workers and notes where they stand. What the
// queue did not take stays due and is sent again.
func (o *owner) dispatch(ctx context.Context, ds []*job.Dispatch) error {
	if len(ds) == 0 {
		return nil
	}
	var missed []*job.Result
	for _, d := range ds {
		if d.Skipped > 0 && !o.told[d.Tag] {
			missed = append(missed, o.missed(d))
		}
	}
	if len(missed) > 0 {
		if err := o.cfg.Queue.RecordAll(ctx, missed); err != nil {
			return err
		}
		for _, m := range missed {
			o.told[m.Tag] = true
		}
	}
	l := *o.lease.Load()
	if !time.Now().Before(l.Until) {
		return fmt.Errorf("dispatch: %w", job.ErrLeaseLost)
	}
	sequences, sendErr := o.cfg.Queue.Dispatch(ctx, ds)
	for i, d := range ds {
		if sequences[i] != 0 {
			delete(o.told, d.Tag)
		}
	}
	if err := o.cfg.Store.Dispatched(ctx, l, ds, sequences, o.watchAt()); err != nil {
		return err
	}
	return sendErr
}

// missed is the record of the occurrences before d's that are not made up.
func (o *owner) missed(d *job.Dispatch) *job.Result {
	what := "1 occurrence before this one was"
	if d.Skipped > 1 {
		what = strconv.FormatInt(d.Skipped, 10) + " occurrences before this one were"
	}
	r := o.skip(d, what+" missed while no planner was at work")
	r.Performance, r.Missed = "missed", d.Skipped
	return r
}
