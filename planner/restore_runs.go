package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// errEnd ends a replay.
var errEnd = errors.New("end of history")

// replay applies the history up to its end as of now. Runs that the store lost
// are made known to it first.
func (r *restore) replay(ctx context.Context) error {
	end, err := r.cfg.Queue.HistoryEnd(ctx, r.shard)
	if err != nil {
		return err
	}
	if end.History != r.at.History {
		return fmt.Errorf("replay history: it is not the one it was: %w", job.ErrBehind)
	}
	if r.at.Sequence >= end.Sequence {
		return nil
	}
	err = r.cfg.Queue.Follow(ctx, r.shard, r.at, r.cfg.Batch, func(rs []job.Record) error {
		for len(rs) > 0 {
			n := r.together(rs)
			if err := r.know(ctx, rs[:n]); err != nil {
				return err
			}
			if err := r.record(ctx, rs[:n], time.Time{}); err != nil {
				return err
			}
			rs = rs[n:]
		}
		if r.at.Sequence >= end.Sequence {
			return errEnd
		}
		return nil
	})
	if errors.Is(err, errEnd) {
		return nil
	}
	if err == nil {
		err = cmp.Or(context.Cause(ctx), errors.New("replay history: ended early"))
	}
	return err
}

// together returns how many of the results can be applied in one go. A run that
// may have to be made known says what its job's counters were, so the job's
// results from before have to be counted by then.
func (r *restore) together(rs []job.Record) int {
	jobs, runs := make(map[string]bool), make(map[string]bool)
	for i := range rs {
		if tag := rs[i].Tag; !r.seen[tag] && !runs[tag] {
			if jobs[rs[i].UID] {
				return i
			}
			runs[tag] = true
		}
		jobs[rs[i].UID] = true
	}
	return len(rs)
}

// know has the store take up the runs of results that it lost.
func (r *restore) know(ctx context.Context, rs []job.Record) error {
	var first []*job.Attempt
	for i := range rs {
		a := &rs[i].Attempt
		if _, ok := r.faded[a.UID]; !ok {
			r.faded[a.UID] = time.Time{}
			if a.Planned.Counters != (job.Counters{}) {
				r.faded[a.UID] = rs[i].StoredAt
			}
		}
		if rs[i].Missed == 0 && !rs[i].Passes() && !r.seen[a.Tag] {
			r.seen[a.Tag] = true
			first = append(first, a)
		}
	}
	lost, err := r.lost(ctx, first)
	if err != nil {
		return err
	}
	var list []job.Adoption
	for _, a := range first {
		if lost[a.Tag] {
			// The counters come with the results, each in its turn.
			uncounted := *a
			uncounted.Planned.Counters = job.Counters{}
			list = append(list, job.Adoption{Attempt: &uncounted, Make: true, ActAt: r.watchAt()})
		}
	}
	return r.cfg.Store.Adopt(ctx, r.lease(), list)
}

// lost returns the tags of the runs of attempts that the store never knew of, or
// forgot: it does not hold them, and they did not end before it was where it is.
func (r *restore) lost(ctx context.Context, list []*job.Attempt) (map[string]bool, error) {
	lost := make(map[string]bool)
	var asked []*job.Attempt
	if !r.full {
		var err error
		if list, asked, err = r.unheld(ctx, list); err != nil {
			return nil, err
		}
	}
	for _, a := range asked {
		ended, err := r.ended(ctx, a)
		if err != nil {
			return nil, err
		}
		if !ended {
			list = append(list, a)
		}
	}
	for _, a := range list {
		lost[a.Tag], r.touched[a.UID] = true, true
	}
	return lost, nil
}

// unheld returns those of the attempts of whose runs the store never knew, and
// those whose runs it may only have forgotten.
func (r *restore) unheld(ctx context.Context, list []*job.Attempt) (unknown, forgotten []*job.Attempt, err error) {
	due, uids := make([]job.Due, len(list)), make([]string, len(list))
	for i, a := range list {
		due[i].ID, uids[i] = a.Tag, a.UID
	}
	waiting, err := r.cfg.Store.Runs(ctx, r.shard, due)
	if err != nil || len(waiting) == len(list) {
		return nil, nil, err
	}
	held := make(map[string]bool, len(waiting))
	for _, w := range waiting {
		held[w.Tag] = true
	}
	jobs, err := r.cfg.Store.ShardJobs(ctx, r.shard, uids)
	if err != nil {
		return nil, nil, err
	}
	for i, a := range list {
		switch j := jobs[i]; {
		case held[a.Tag] || j == nil:
		case !a.Manual && a.At.After(j.Status.LastAt):
			unknown = append(unknown, a)
		default:
			forgotten = append(forgotten, a)
		}
	}
	return unknown, forgotten, nil
}

// ended reports whether a run that the store does not hold has ended: history
// had something of it when the store was at its end.
func (r *restore) ended(ctx context.Context, a *job.Attempt) (bool, error) {
	if r.replaced {
		return true, nil
	}
	tags := r.recorded[a.UID]
	if tags == nil {
		rows, err := r.cfg.Queue.History(ctx, r.shard, a.UID)
		if err != nil {
			return false, err
		}
		tags = make(map[string]bool)
		for i := range rows {
			if rows[i].Sequence <= r.from.Sequence && rows[i].Missed == 0 {
				tags[rows[i].Tag] = true
			}
		}
		r.recorded[a.UID] = tags
	}
	return tags[a.Tag], nil
}

// dispatches makes known to the store what waits in the dispatch stream.
func (r *restore) dispatches(ctx context.Context) error {
	var list []job.Adoption
	flush := func() error {
		attempts := make([]*job.Attempt, len(list))
		for i := range list {
			attempts[i] = list[i].Attempt
		}
		lost, err := r.lost(ctx, attempts)
		if err != nil {
			return err
		}
		for i := range list {
			list[i].Make = !r.seen[list[i].Tag] && lost[list[i].Tag]
		}
		err = r.cfg.Store.Adopt(ctx, r.lease(), list)
		list = list[:0]
		return err
	}
	err := r.cfg.Queue.Waiting(ctx, r.shard, func(d *job.Dispatch, sequence uint64) error {
		list = append(list, job.Adoption{Attempt: &d.Attempt, ActAt: r.watchAt(), Sequence: sequence, Resend: d.Resend})
		if len(list) < r.cfg.Batch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// oldest is the age from which what the journal asked for is taken for done:
// history keeps no longer what would tell.
const oldest = 59 * 24 * time.Hour

// requests makes known to the store the run requests, and the runs that wait for
// long, that it lost and of which history and dispatch stream know nothing.
func (r *restore) requests(ctx context.Context) error {
	now := r.cfg.Store.Now()
	var list []*job.Attempt
	for _, p := range r.requested {
		due := cmp.Or(p.DueAt, p.At)
		if r.seen[p.Tag] || now.Sub(due) > oldest || r.full && due.Before(r.faded[p.UID]) {
			continue
		}
		list = append(list, &job.Attempt{Run: p.Run, DueAt: due})
	}
	lost, err := r.lost(ctx, list)
	if err != nil {
		return err
	}
	var adopt []job.Adoption
	for _, a := range list {
		if lost[a.Tag] {
			adopt = append(adopt, job.Adoption{Attempt: a, Make: true, ActAt: a.DueAt})
		}
	}
	return r.cfg.Store.Adopt(ctx, r.lease(), adopt)
}
