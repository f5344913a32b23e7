package sim_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/carillon-scheduler/carillon/planner"
	"github.com/carillon-scheduler/carillon/shared/job"
)

var _ planner.Queue = (*session)(nil)

// Dispatch is the queue's.
func (q *session) Dispatch(ctx context.Context, ds []*job.Dispatch) ([]uint64, error) {
	sequences, err := q.publish(ctx, "dispatch", len(ds), func(i int) string { return ds[i].Job + " " + ds[i].ID() }, func(i int) uint64 {
		return q.b.add(q.b.dispatch, ds[i].Shard, ds[i].Tag, ds[i].ID(), ds[i])
	})
	if err != nil {
		err = fmt.Errorf("dispatch: %w", err)
	}
	return sequences, err
}

// Present is the queue's.
func (q *session) Present(ctx context.Context, sequences []uint64) ([]bool, error) {
	there := make([]bool, len(sequences))
	err := q.ask(ctx, "present", fmt.Sprint(sequences), func(*fate) {
		for i, n := range sequences {
			there[i] = q.b.dispatch.get(n) != nil
		}
	})
	return there, err
}

// Waiting is the queue's.
func (q *session) Waiting(ctx context.Context, shard int, visit func(*job.Dispatch, uint64) error) error {
	var list []*message
	err := q.ask(ctx, "waiting", strconv.Itoa(shard), func(*fate) { list = q.b.dispatch.after(shard, 0) })
	for _, m := range list {
		if err == nil {
			err = visit(decode[job.Dispatch](m), m.sequence)
		}
	}
	return err
}

// Follow is the queue's: it reads a part, or all there is, and bears what fails.
func (q *session) Follow(ctx context.Context, shard int, after job.Position, limit int, emit func([]job.Record) error) error {
	for {
		q.b.mu.Lock()
		if after.History != q.b.identity {
			after = job.Position{History: q.b.identity}
		}
		more, changed := len(q.b.history.after(shard, after.Sequence)) > 0, q.b.changed
		q.b.mu.Unlock()
		if !more {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return nil
			}
		}
		var rs []job.Record
		err := q.ask(ctx, "follow", strconv.Itoa(shard), func(f *fate) {
			list := q.b.history.after(shard, after.Sequence)
			n := min(len(list), limit)
			if f.draw&4 == 0 {
				n = min(n, 1+int(f.draw>>8&3))
			}
			rs = records(list[:n])
		})
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it failed because ctx ended
		}
		if err != nil {
			sleep(ctx, q.p, 50*time.Millisecond)
			continue
		}
		if !q.w.learn(ctx, q.p, "reads", strconv.Itoa(shard)) {
			return nil
		}
		if err := emit(rs); err != nil {
			return fmt.Errorf("follow history: %w", err)
		}
		after.Sequence = rs[len(rs)-1].Sequence
	}
}

func records(list []*message) []job.Record {
	rs := make([]job.Record, len(list))
	for i, m := range list {
		rs[i] = job.Record{Result: *decode[job.Result](m), Sequence: m.sequence, StoredAt: m.at}
	}
	return rs
}

// HistoryEnd is the queue's.
func (q *session) HistoryEnd(ctx context.Context, shard int) (at job.Position, err error) {
	err = q.ask(ctx, "history end", strconv.Itoa(shard), func(*fate) { at = q.b.position(shard) })
	return at, err
}

// History is the queue's.
func (q *session) History(ctx context.Context, shard int, uid string) (rows []job.Record, err error) {
	err = q.ask(ctx, "history", uid, func(*fate) {
		rows = records(q.b.history.of(func(m *message) bool { return m.subject == uid }))
	})
	slices.SortFunc(rows, func(a, b job.Record) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(b.Sequence, a.Sequence))
	})
	return rows, err
}

// Record is the queue's.
func (q *session) Record(ctx context.Context, r *job.Result) error {
	return q.RecordAll(ctx, []*job.Result{r})
}

// RecordAll is the queue's: it tries until all are stored, and looks whether
// they are once the broker may have forgotten their ids.
func (q *session) RecordAll(ctx context.Context, rs []*job.Result) error {
	q.p.rounds.Add(1)
	defer q.p.rounds.Add(-1)
	began, rest := time.Now(), slices.Clone(rs)
	for len(rest) > 0 {
		if time.Since(began) > duplicates/2 {
			err := q.ask(ctx, "recorded", "", func(*fate) { rest = slices.DeleteFunc(slices.Clone(rest), q.b.performed) })
			if err != nil && !sleep(ctx, q.p, time.Second) {
				return fmt.Errorf("record result: %w", err)
			}
			if err != nil || len(rest) == 0 {
				continue
			}
		}
		sent := rest
		sequences, err := q.publish(ctx, "record", len(sent), func(i int) string {
			return sent[i].Job + " " + attemptOf(&sent[i].Attempt) + " " + string(sent[i].Outcome)
		}, func(i int) uint64 {
			r := sent[i]
			return q.b.add(q.b.history, r.Shard, r.UID, attemptOf(&r.Attempt)+"/"+r.Performance, r)
		})
		left := rest[:0:0]
		for i, r := range sent {
			if sequences[i] == 0 {
				left = append(left, r)
			}
		}
		if rest = left; len(rest) > 0 && !sleep(ctx, q.p, 50*time.Millisecond) {
			return fmt.Errorf("record result: %w", cmp.Or(err, context.Cause(ctx)))
		}
	}
	return nil
}

func attemptOf(a *job.Attempt) string {
	return a.Tag + "/" + string(a.Phase) + "/" + strconv.Itoa(a.RetryCount)
}

// performed reports whether the history holds a performance.
func (b *broker) performed(r *job.Result) bool {
	return slices.ContainsFunc(b.history.list, func(m *message) bool {
		return m.subject == r.UID && decode[job.Result](m).Performance == r.Performance
	})
}

// Done is the queue's.
func (q *session) Done(ctx context.Context, d *job.Dispatch) (done bool, err error) {
	err = q.ask(ctx, "done", d.Job+" "+d.ID(), func(*fate) {
		done = slices.ContainsFunc(q.b.history.list, func(m *message) bool {
			if m.subject != d.UID {
				return false
			}
			r := decode[job.Result](m)
			return r.Missed == 0 && attemptOf(&r.Attempt) == attemptOf(&d.Attempt)
		})
	})
	return done, err
}

// Journal is the queue's.
func (q *session) Journal(ctx context.Context, entries ...job.Entry) error {
	_, err := q.publish(ctx, "journal", len(entries), func(i int) string { return entryName(&entries[i]) }, func(i int) uint64 {
		e := &entries[i]
		return q.b.add(q.b.journal, e.Shard, kindOf(e)+"."+e.UID, "", e)
	})
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

func kindOf(e *job.Entry) string {
	switch {
	case e.Collection != nil:
		return "collection"
	case e.Job != nil:
		return "job"
	case e.Run != nil:
		return "run"
	}
	return "checkpoint"
}

func entryName(e *job.Entry) string {
	s := kindOf(e) + " " + e.UID + " revision " + strconv.FormatInt(e.Revision, 10)
	if e.Deleted {
		s += " deleted"
	}
	return s
}

// Entries is the queue's.
func (q *session) Entries(ctx context.Context, shard int, after uint64, visit func(job.Entry) error) (uint64, error) {
	var list []*message
	err := q.ask(ctx, "entries", strconv.Itoa(shard), func(*fate) { list = q.b.journal.after(shard, after) })
	for _, m := range list {
		if err != nil {
			break
		}
		e := decode[job.Entry](m)
		e.Sequence = m.sequence
		if err = visit(*e); err == nil {
			after = m.sequence
		}
	}
	return after, err
}

// JournalEnd is the queue's.
func (q *session) JournalEnd(ctx context.Context, shard int) (end uint64, err error) {
	err = q.ask(ctx, "journal end", strconv.Itoa(shard), func(*fate) { end = q.b.journal.end(shard) })
	return end, err
}
