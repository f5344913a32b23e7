package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Agenda returns what a shard has to do at now: up to limit jobs and up to
// limit runs, the longest due first.
func (s *Store) Agenda(ctx context.Context, n int, now time.Time, limit int) (job.Agenda, error) {
	sh := shard(n)
	var due, later [2]*redis.ZSliceCmd
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range []string{sh.due(), sh.runs()} {
			due[i] = p.ZRangeByScoreWithScores(ctx, key, &redis.ZRangeBy{Min: "-inf", Max: millis(now), Count: int64(limit)})
			later[i] = p.ZRangeByScoreWithScores(ctx, key, &redis.ZRangeBy{Min: "(" + millis(now), Max: "+inf", Count: 1})
		}
		return nil
	})
	if err != nil {
		return job.Agenda{}, fmt.Errorf("read agenda of shard %d: %w", n, err)
	}
	a := job.Agenda{Jobs: dues(due[0].Val()), Runs: dues(due[1].Val())}
	for _, l := range later {
		for _, d := range dues(l.Val()) {
			if a.NextAt.IsZero() || d.At.Before(a.NextAt) {
				a.NextAt = d.At
			}
		}
	}
	return a, nil
}

// Backlog returns how many jobs and runs of shards are due at now.
func (s *Store) Backlog(ctx context.Context, shards []int, now time.Time) (int64, error) {
	if len(shards) == 0 {
		return 0, nil
	}
	counts := make([]*redis.IntCmd, 0, 2*len(shards))
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, n := range shards {
			for _, key := range []string{shard(n).due(), shard(n).runs()} {
				counts = append(counts, p.ZCount(ctx, key, "-inf", millis(now)))
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count what is due: %w", err)
	}
	due := int64(0)
	for _, c := range counts {
		due += c.Val()
	}
	return due, nil
}

func dues(zs []redis.Z) []job.Due {
	list := make([]job.Due, len(zs))
	for i, z := range zs {
		id, _ := z.Member.(string)
		list[i] = job.Due{ID: id, At: time.UnixMilli(int64(z.Score)).UTC()}
	}
	return list
}

// ShardJobs returns jobs of a shard by their uids, in the same order; nil where
// there is none.
func (s *Store) ShardJobs(ctx context.Context, n int, uids []string) ([]*job.Job, error) {
	return s.jobs(ctx, shard(n), uids)
}

// ShardCollections returns collections by their names; those that do not exist
// are left out, and their number of jobs is not set.
func (s *Store) ShardCollections(ctx context.Context, refs []job.CollectionRef) ([]*job.Collection, error) {
	return s.collections(ctx, refs)
}

// Plan carries steps out, all in one script: creates the runs and sets the
// jobs' next times. It fails with [job.ErrLeaseLost], or with [job.ErrChanged]
// if one of the collections changed; then nothing was done. A step whose own
// job changed, or whose newest occurrence is another than its Status says, is
// left out of what was done: see [job.Taken]. No two steps may be of one job.
func (s *Store) Plan(ctx context.Context, l job.Lease, steps []job.Step) ([]job.Taken, error) {
	sh := shard(l.Shard)
	keys := make([]string, 0, 4+2*len(steps))
	keys = append(keys, sh.lease(), sh.due(), sh.runs())
	args := make([]any, 2, 4+10*len(steps))
	seen := make(map[string]bool)
	for _, st := range steps {
		if c := st.Collection; !seen[c.UID] {
			seen[c.UID] = true
			keys = append(keys, sh.collection(c.CollectionRef))
			args = append(args, c.UID, c.Revision)
		}
	}
	args[0], args[1] = l.Epoch, len(seen)
	for _, st := range steps {
		tag := ""
		if !st.At.IsZero() {
			tag = job.Tag(st.Job.UID, st.At)
		}
		keys = append(keys, sh.job(st.Job.UID), sh.run(tag))
		args = append(args, st.Job.UID, st.Job.Revision, millis(st.Job.Status.LastAt), millis(st.At), millis(st.NextAt), tag, st.Missed,
			digit(st.Alone), millis(st.LookAt), times(st.Waiting))
	}
	answer, err := planScript.Run(ctx, s.rdb, keys, args...).Result()
	if err != nil {
		return nil, fmt.Errorf("plan shard %d: %w", l.Shard, err)
	}
	flat, ok := answer.([]any)
	if !ok || len(flat) != len(steps) {
		return nil, fmt.Errorf("plan shard %d: %w", l.Shard, wordError(text(answer)))
	}
	s.board.Over(ctx, memory)
	taken := make([]job.Taken, len(steps))
	for i := range steps {
		if f := text(flat[i]); f != "" {
			taken[i].OK = true
			p := &taken[i].Planned
			p.NextAt = steps[i].NextAt
			for _, n := range []*int64{&p.Count, &taken[i].Repeat, &p.Series, &p.Executions, &p.Failures, &p.Faults} {
				var word string
				word, f, _ = strings.Cut(f, " ")
				*n, _ = strconv.ParseInt(word, 10, 64) // nothing else is written there
			}
		}
	}
	return taken, nil
}

// Settle sets the next times of jobs, as worked out from their definitions. A
// job that is enabled and has none, nor a run under way, becomes final. A job
// that changed meanwhile is left alone.
func (s *Store) Settle(ctx context.Context, l job.Lease, steps []job.Step) error {
	if len(steps) == 0 {
		return nil
	}
	sh := shard(l.Shard)
	keys := []string{sh.lease(), sh.due(), sh.final()}
	args := []any{l.Epoch, millis(s.Now())}
	for _, st := range steps {
		keys = append(keys, sh.job(st.Job.UID))
		args = append(args, st.Job.UID, st.Job.Revision, millis(st.Job.Status.LastAt), millis(st.NextAt))
	}
	return s.run(ctx, "settle jobs", settleScript, keys, args...)
}
