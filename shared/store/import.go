package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Count returns how many collections there are.
func (s *Store) Count(ctx context.Context) (int, error) {
	counts := make([]*redis.IntCmd, s.shards)
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for n := range s.shards {
			counts[n] = p.ZCard(ctx, shard(n).collections())
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count collections: %w", err)
	}
	total := 0
	for _, c := range counts {
		total += int(c.Val())
	}
	return total, nil
}

// Planners returns how many planners are at work.
func (s *Store) Planners(ctx context.Context) (int, error) {
	n, err := s.rdb.ZCount(ctx, plannersKey, "("+millis(s.Now()), "+inf").Result()
	if err != nil {
		return 0, fmt.Errorf("count planners: %w", err)
	}
	return int(n), nil
}

// Importing returns the id that was given to [Store.SetImporting] last, empty if
// there is none.
func (s *Store) Importing(ctx context.Context) (string, error) {
	id, err := s.rdb.HGet(ctx, clusterKey, "importing").Result()
	if err != nil && !missing(err) {
		return "", fmt.Errorf("look for an import under way: %w", err)
	}
	return id, nil
}

// SetImporting notes what is being imported; empty: nothing.
func (s *Store) SetImporting(ctx context.Context, id string) error {
	if err := s.rdb.HSet(ctx, clusterKey, "importing", id).Err(); err != nil {
		return fmt.Errorf("note import: %w", err)
	}
	return nil
}

// ImportCollection puts a collection in place in the revision it has, if there is
// none of its name. It returns what stands there: c, or what stood there before.
// It fails with [job.ErrChanged] while c, which was deleted, has yet to be cleared
// away, and with [job.ErrNotReady]. A second Free collection is let in: it was
// once.
func (s *Store) ImportCollection(ctx context.Context, c *job.Collection) (*job.Collection, error) {
	def, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("import collection: %w", err)
	}
	sh := s.shardOf(c.CollectionRef)
	have, err := s.collections(ctx, []job.CollectionRef{c.CollectionRef})
	if err != nil {
		return nil, err
	}
	if len(have) > 0 {
		return have[0], nil
	}
	gone, err := s.rdb.SIsMember(ctx, sh.gone(), c.UID).Result()
	if err != nil {
		return nil, fmt.Errorf("import collection: %w", err)
	}
	if gone {
		return nil, fmt.Errorf("import collection: it is still being deleted: %w", job.ErrChanged)
	}
	if c.SKU == job.Free {
		if err := s.claimFree(ctx, c); err != nil && !isConflict(err) {
			return nil, err
		}
	}
	keys := []string{sh.state(), sh.collection(c.CollectionRef), sh.collections()}
	return c, s.run(ctx, "import collection", putCollectionScript, keys, 0, c.UID, c.Revision, def, c.Key(), "")
}

// Import puts a job in place with all that o holds of it. Its runs are to be
// dispatched when their times come, whatever was dispatched before. It fails with
// [job.ErrChanged] if the job, or another of its name, is there already or its
// collection is not, and with [job.ErrNotReady].
func (s *Store) Import(ctx context.Context, o *job.Snapshot) error {
	j, p := o.Job, &o.Progress
	fields, err := fieldsOf(o)
	if err != nil {
		return fmt.Errorf("import job: %w", err)
	}
	sh := s.shardOf(j.CollectionRef)
	keys := []string{
		sh.state(), sh.collection(j.CollectionRef), sh.job(j.UID), sh.jobs(j.CollectionUID),
		sh.due(), sh.final(), sh.dead(), sh.runs(),
	}
	next, final := millis(p.Planned.NextAt), ""
	if len(o.Waiting) > 0 { // whose turn may have come
		next = millis(s.Now())
	}
	if p.State.Final() {
		next, final = "", cmp.Or(millis(o.FinalAt), millis(s.Now()))
	}
	args := append([]any{j.CollectionUID, j.UID, job.FoldName(j.Job), next, final, len(fields)}, fields...)
	for i := range p.Runs {
		r := &p.Runs[i]
		manual := ""
		if r.Manual {
			manual = "1"
		}
		keys = append(keys, sh.run(r.Tag))
		args = append(args, r.Tag, millis(r.DueAt), r.Revision, millis(r.At), r.Repeat, manual, string(r.Phase), r.RetryCount)
	}
	if err := s.run(ctx, "import job", importJobScript, keys, args...); err != nil {
		return err
	}
	s.wake(ctx, sh)
	return nil
}

// fieldsOf returns what a job's hash holds, names and values in turn.
func fieldsOf(o *job.Snapshot) ([]any, error) {
	j, p := o.Job, &o.Progress
	def, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	list := []any{
		"rev", j.Revision, "def", def, "state", string(p.State), "series", j.Series,
		"planned", p.Planned.Count, "passed", p.Passed, "repeat", p.Repeat, "next", millis(p.Planned.NextAt), "active", len(p.Runs),
		"exec", p.Planned.Executions, "fail", p.Planned.Failures, "fault", p.Planned.Faults,
	}
	old := ""
	for _, older := range o.Older {
		def, err := json.Marshal(older)
		if err != nil {
			return nil, err
		}
		rev := strconv.FormatInt(older.Revision, 10)
		list, old = append(list, "def:"+rev, def), old+rev+" "
	}
	// Where there is nothing, there is no field.
	for _, f := range [][2]string{
		{"last", millis(p.LastAt)},
		{"lastexec", millis(p.LastExecutionAt)},
		{"outcome", string(o.Outcome)},
		{"ended", millis(o.EndedAt)},
		{"wait", times(o.Waiting)},
		{"old", old},
	} {
		if f[1] != "" {
			list = append(list, f[0], f[1])
		}
	}
	return list, nil
}
