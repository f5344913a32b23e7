package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Existing returns the Store of the cluster that rdb holds, with as many shards
// as that has, and changes nothing. It fails with [job.ErrNotFound] if there is
// none. For the rest, see [New].
func Existing(ctx context.Context, rdb redis.UniversalClient) (*Store, error) {
	s := New(rdb, 0)
	f, err := rdb.HMGet(ctx, clusterKey, "layout", "shards").Result()
	switch {
	case err != nil:
		return nil, fmt.Errorf("look for cluster: %w", err)
	case f[0] == nil:
		return nil, fmt.Errorf("look for cluster: %w", job.ErrNotFound)
	case text(f[0]) != layout:
		return nil, fmt.Errorf("look for cluster: redis was set up with layout %s, this process knows %s", text(f[0]), layout)
	}
	if s.shards = int(number(f[1])); s.shards < 1 {
		return nil, fmt.Errorf("look for cluster: redis says that it has %d shards", s.shards)
	}
	return s, s.SyncClock(ctx)
}

// Export calls collection for each collection of a shard, in order of their
// keys, and after each jobs for its jobs in order of their names, some at a time.
// It fails with [job.ErrNotReady] if the shard's state has yet to be rebuilt.
//
// Others may go on writing. Each collection and each job is of one moment, but
// two are not of the same: what is made meanwhile may be left out, and what is
// deleted meanwhile be in it.
func (s *Store) Export(ctx context.Context, n int, collection func(*job.Collection) error, jobs func([]*job.Snapshot) error) error {
	x := s.snapshots(n)
	return s.walk(ctx, x.sh, x.sh.collections(), itself, func(members []string) error {
		refs := make([]job.CollectionRef, len(members))
		for i, m := range members {
			refs[i] = splitKey(m)
		}
		cols, err := s.collections(ctx, refs)
		if err != nil {
			return err
		}
		for _, c := range cols {
			if err := collection(c); err != nil {
				return err
			}
			err := s.walk(ctx, x.sh, x.sh.jobs(c.UID), named, func(members []string) error {
				list, err := x.read(ctx, uidsOf(members))
				if err != nil {
					return err
				}
				return jobs(slices.DeleteFunc(list, func(o *job.Snapshot) bool { return o == nil })) // deleted meanwhile
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// itself and named return the end of all members of a sorted set that are for one
// thing: a collection is its member, and a job is all that have its name. A job
// deleted and made anew while the first was read would otherwise come twice.
func itself(member string) string { return member }

func named(member string) string {
	name, _, _ := strings.Cut(member, "\x00")
	return name + "\x01"
}

// walk visits the members of a sorted set whose scores are all 0, in order. All
// that are there from the beginning to the end are visited.
func (s *Store) walk(ctx context.Context, sh shard, key string, end func(member string) string, visit func([]string) error) error {
	for from := "-"; ; {
		var ready *redis.StringCmd
		var members *redis.StringSliceCmd
		_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			members = p.ZRangeByLex(ctx, key, &redis.ZRangeBy{Min: from, Max: "+", Count: page})
			// Asked last: what is empty because all was lost shows here.
			ready = p.HGet(ctx, sh.state(), "ready")
			return nil
		})
		if err != nil && !missing(err) {
			return fmt.Errorf("list: %w", err)
		}
		if ready.Val() != "1" {
			return fmt.Errorf("list: %w", job.ErrNotReady)
		}
		list, err := members.Result()
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		if len(list) == 0 {
			return nil
		}
		if err := visit(list); err != nil {
			return err
		}
		from = "(" + end(list[len(list)-1])
	}
}

// Snapshots returns jobs of a shard by their uids, in the same order; nil where
// there is none. It fails with [job.ErrNotReady] if the shard's state has yet to
// be rebuilt.
func (s *Store) Snapshots(ctx context.Context, n int, uids []string) ([]*job.Snapshot, error) {
	return s.snapshots(n).read(ctx, uids)
}

// snapshots reads jobs with their runs. No key leads from a job to its runs, so
// they are looked up among all runs of the shard, and a job counts as read when
// as many were found as it says it has.
type snapshots struct {
	*Store
	sh   shard
	tags map[string][]string // of runs, by job uid, as far as known
}

func (s *Store) snapshots(n int) *snapshots { return &snapshots{Store: s, sh: shard(n)} }

// patience is how often a job is read again whose runs come and go too fast. What
// is found then is taken.
const patience = 50

// together is how many jobs are read in one transaction.
const together = 32

func (x *snapshots) read(ctx context.Context, uids []string) ([]*job.Snapshot, error) {
	list := make([]*job.Snapshot, len(uids))
	index := make(map[string]int, len(uids))
	for i, uid := range uids {
		index[uid] = i
	}
	todo := uids
	for try := 0; len(todo) > 0; try++ {
		if try > 0 {
			if err := x.find(ctx); err != nil {
				return nil, err
			}
		}
		var again []string
		for part := range slices.Chunk(todo, together) {
			rest, err := x.some(ctx, part, func(uid string, o *job.Snapshot) { list[index[uid]] = o })
			if err != nil {
				return nil, err
			}
			again = append(again, rest...)
		}
		if try == patience {
			break
		}
		todo = again
	}
	return list, nil
}

// some reads jobs with those of their runs that are known of, and takes what it
// finds. It returns those that have others.
func (x *snapshots) some(ctx context.Context, uids []string, take func(string, *job.Snapshot)) (again []string, err error) {
	replies := make([]reply, len(uids))
	var ready *redis.StringCmd
	_, err = x.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		// A job that is absent was deleted, unless all was lost.
		ready = p.HGet(ctx, x.sh.state(), "ready")
		for i, uid := range uids {
			r := &replies[i]
			r.job, r.final = p.HGetAll(ctx, x.sh.job(uid)), p.ZScore(ctx, x.sh.final(), uid)
			for _, tag := range x.tags[uid] {
				r.runs = append(r.runs, p.HMGet(ctx, x.sh.run(tag), runFields...))
				r.dueAt = append(r.dueAt, p.ZScore(ctx, x.sh.runs(), tag))
			}
		}
		return nil
	})
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	if ready.Val() != "1" {
		return nil, fmt.Errorf("read jobs: %w", job.ErrNotReady)
	}
	for i, uid := range uids {
		o, whole, err := replies[i].snapshot(x.tags[uid])
		if err != nil {
			return nil, fmt.Errorf("read job %s: %w", uid, err)
		}
		take(uid, o)
		if !whole {
			again = append(again, uid)
		}
	}
	return again, nil
}

// reply is what is read of a job.
type reply struct {
	job   *redis.MapStringStringCmd
	final *redis.FloatCmd
	runs  []*redis.SliceCmd
	dueAt []*redis.FloatCmd
}

// snapshot makes a snapshot of what was read, nil if the job does not exist, and
// says whether it has all its runs.
func (r *reply) snapshot(tags []string) (o *job.Snapshot, whole bool, err error) {
	f, err := r.job.Result()
	if err != nil {
		return nil, false, err
	}
	if o, err = snapshotOf(f); err != nil || o == nil {
		return nil, err == nil, err
	}
	switch at, err := r.final.Result(); {
	case err == nil:
		o.FinalAt = time.UnixMilli(int64(at)).UTC()
	case !missing(err):
		return nil, false, err
	}
	for k, tag := range tags {
		fields, err := r.runs[k].Result()
		if err != nil {
			return nil, false, err
		}
		w := runOf(tag, fields)
		if w == nil {
			continue
		}
		at, err := r.dueAt[k].Result()
		if err != nil && !missing(err) {
			return nil, false, err
		}
		w.DueAt = time.UnixMilli(int64(at)).UTC()
		o.Progress.Runs = append(o.Progress.Runs, w.Pending)
	}
	return o, len(o.Progress.Runs) == int(number(f["active"])), addOlder(o, f)
}

// find looks which runs the shard has.
func (x *snapshots) find(ctx context.Context) error {
	x.tags = make(map[string][]string)
	seen := make(map[string]bool)
	for cursor := uint64(0); ; {
		pairs, next, err := x.rdb.ZScan(ctx, x.sh.runs(), cursor, "", page).Result()
		if err != nil {
			return fmt.Errorf("list runs: %w", err)
		}
		var tags []string
		for i := 0; i < len(pairs); i += 2 { // a scan may show one twice
			if tag := pairs[i]; !seen[tag] {
				seen[tag] = true
				tags = append(tags, tag)
			}
		}
		uids := make([]*redis.StringCmd, len(tags))
		_, err = x.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, tag := range tags {
				uids[i] = p.HGet(ctx, x.sh.run(tag), "uid")
			}
			return nil
		})
		if err != nil && !missing(err) {
			return fmt.Errorf("list runs: %w", err)
		}
		for i, tag := range tags {
			x.tags[uids[i].Val()] = append(x.tags[uids[i].Val()], tag)
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// snapshotOf makes a snapshot of a job's hash; nil if it does not exist.
func snapshotOf(f map[string]string) (*job.Snapshot, error) {
	fields := make([]any, len(jobFields))
	for i, name := range jobFields {
		if v, ok := f[name]; ok {
			fields[i] = v
		}
	}
	j, err := jobOf(fields)
	if err != nil || j == nil {
		return nil, err
	}
	return &job.Snapshot{
		Job: j, Outcome: job.State(f["outcome"]), EndedAt: instant(f["ended"]), Waiting: j.Status.Waiting,
		Progress: job.Checkpoint{
			State: j.Status.State, LastExecutionAt: j.Status.LastExecutionAt, LastAt: j.Status.LastAt, Repeat: number(f["repeat"]), Passed: j.Status.Passed,
			Planned: job.Planned{Series: j.Series, Count: j.Status.Planned, NextAt: j.Status.NextExecutionAt, Counters: j.Status.Counters},
		},
	}, nil
}

// addOlder adds the revisions that the runs were planned from.
func addOlder(o *job.Snapshot, f map[string]string) error {
	revisions := make(map[int64]bool)
	for _, r := range o.Progress.Runs {
		revisions[r.Revision] = true
	}
	for _, rev := range slices.Sorted(maps.Keys(revisions)) {
		def, ok := f["def:"+strconv.FormatInt(rev, 10)]
		if !ok || rev == o.Job.Revision {
			continue
		}
		j := new(job.Job)
		if err := json.Unmarshal([]byte(def), j); err != nil {
			return fmt.Errorf("decode revision %d: %w", rev, err)
		}
		o.Older = append(o.Older, j)
	}
	return nil
}
