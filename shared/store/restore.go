package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Progress returns how far a shard's state has come: whether it is there at
// all, and which journal entry and which history record it applied last.
func (s *Store) Progress(ctx context.Context, n int) (job.Progress, error) {
	f, err := s.rdb.HMGet(ctx, shard(n).state(), "ready", "journal", "history", "seq").Result()
	if err != nil {
		return job.Progress{}, fmt.Errorf("read progress of shard %d: %w", n, err)
	}
	return job.Progress{
		Ready: text(f[0]) == "1", Journal: uint64(number(f[1])),
		History: job.Position{History: text(f[2]), Sequence: uint64(number(f[3]))},
	}, nil
}

// SetProgress notes how far a shard's state has come, and opens it for writes,
// or closes it. It fails with [job.ErrBehind] if the store is not at p.From.
func (s *Store) SetProgress(ctx context.Context, l job.Lease, p job.Progress) error {
	sh := shard(l.Shard)
	return s.run(ctx, "note progress", readyScript, []string{sh.lease(), sh.state()},
		l.Epoch, digit(p.Ready), p.Journal, p.History.History, p.History.Sequence, p.From.History, p.From.Sequence)
}

// RestoreCollection puts a journaled collection in place, unless it is there in
// that revision or a newer one, was deleted a moment ago, or a younger one has
// its name.
func (s *Store) RestoreCollection(ctx context.Context, l job.Lease, c *job.Collection) error {
	def, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("restore collection: %w", err)
	}
	sh := shard(l.Shard)
	keys := []string{sh.lease(), sh.collection(c.CollectionRef), sh.collections(), sh.gone()}
	for range 20 {
		have, err := s.collections(ctx, []job.CollectionRef{c.CollectionRef})
		if err != nil {
			return err
		}
		uid, revision := "", int64(0)
		if len(have) == 1 {
			was := have[0]
			if was.UID != c.UID && !was.CreatedAt.Before(c.CreatedAt) || was.UID == c.UID && was.Revision >= c.Revision {
				return nil
			}
			uid, revision = was.UID, was.Revision
		}
		err = s.run(ctx, "restore collection", restoreCollectionScript, keys, l.Epoch, uid, revision, c.UID, c.Revision, def, c.Key())
		switch {
		case errors.Is(err, job.ErrChanged): // written meanwhile
			continue
		case errors.Is(err, job.ErrNotFound): // deleted meanwhile
			return nil
		case err != nil || c.SKU != job.Free:
			return err
		}
		if err := s.claimFree(ctx, c); err != nil && !isConflict(err) {
			return err
		}
		return nil
	}
	return fmt.Errorf("restore collection: %w", job.ErrChanged)
}

func isConflict(err error) bool {
	var c *job.ConflictError
	return errors.As(err, &c)
}

// RestoreJob puts a journaled job in place, unless it is there in that revision
// or a newer one, or was deleted a moment ago. Its next time is not set: see
// [Store.Settle].
func (s *Store) RestoreJob(ctx context.Context, l job.Lease, j *job.Job) error {
	def, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("restore job: %w", err)
	}
	sh := shard(l.Shard)
	keys := []string{sh.lease(), sh.jobs(j.CollectionUID), sh.job(j.UID), sh.dead()}
	return s.run(ctx, "restore job", restoreJobScript, keys,
		l.Epoch, j.Revision, j.UID, job.FoldName(j.Job), def, string(cmp.Or(j.State, job.Enabled)), j.Series)
}

// RestoreProgress raises a job's counters to those of a checkpoint. The shard has
// to be at that place in the history, whose results would else be counted on top;
// the zero place is any. It fails with [job.ErrBehind] if it is elsewhere.
func (s *Store) RestoreProgress(ctx context.Context, l job.Lease, at job.Position, uid string, c *job.Checkpoint) error {
	sh := shard(l.Shard)
	return s.run(ctx, "restore progress", restoreProgressScript, []string{sh.lease(), sh.job(uid), sh.due(), sh.final(), sh.state()},
		l.Epoch, millis(s.Now()), at.History, at.Sequence, uid, string(c.State), c.Planned.Series, c.Planned.Count, c.Passed, c.Repeat,
		cmp.Or(millis(c.LastAt), "0"), cmp.Or(millis(c.LastExecutionAt), "0"),
		c.Planned.Executions, c.Planned.Failures, c.Planned.Faults)
}

// Adopt gives the store runs that history or the dispatch stream know of. What
// the store knows already stays.
func (s *Store) Adopt(ctx context.Context, l job.Lease, list []job.Adoption) error {
	if len(list) == 0 {
		return nil
	}
	sh := shard(l.Shard)
	keys := []string{sh.lease(), sh.runs()}
	args := []any{l.Epoch}
	for i := range list {
		a := &list[i]
		seq := ""
		if a.Sequence != 0 {
			seq = strconv.FormatUint(a.Sequence, 10)
		}
		keys = append(keys, sh.job(a.UID), sh.run(a.Tag))
		args = append(args, digit(a.Make), millis(a.ActAt), a.UID, a.Revision, a.Planned.Series, a.Tag, digit(a.Manual), string(a.Phase), a.RetryCount,
			millis(a.At), seq, a.Resend, a.Planned.Count, millis(a.Planned.NextAt), a.Repeat, a.Planned.Executions, a.Planned.Failures, a.Planned.Faults)
	}
	return s.run(ctx, "adopt runs", adoptScript, keys, args...)
}
