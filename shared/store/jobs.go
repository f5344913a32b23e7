package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// jobFields are what makes a [job.Job] of its hash.
var jobFields = []string{"def", "rev", "state", "planned", "last", "next", "exec", "fail", "fault", "lastexec", "passed", "wait", "active"} //nolint:gochecknoglobals // a constant in all but name

// jobOf makes a job of its hash's jobFields; nil if it does not exist.
func jobOf(f []any) (*job.Job, error) {
	if len(f) != len(jobFields) || f[0] == nil {
		return nil, nil //nolint:nilnil // absence is no error to those who ask for many
	}
	j := new(job.Job)
	if err := json.Unmarshal([]byte(text(f[0])), j); err != nil {
		return nil, fmt.Errorf("decode job: %w", err)
	}
	j.Revision = number(f[1])
	j.Status = job.Status{
		State:           job.State(text(f[2])),
		LastAt:          instant(f[4]),
		NextExecutionAt: instant(f[5]),
		LastExecutionAt: instant(f[9]),
		Planned:         number(f[3]),
		Passed:          number(f[10]),
		Waiting:         instants(f[11]),
		Counters:        job.Counters{Executions: number(f[6]), Failures: number(f[7]), Faults: number(f[8])},
	}
	if j.Policy.Serial() {
		j.Status.Active = number(f[12])
	}
	return j, nil
}

// Job returns a job and its collection. It fails with [job.ErrNotFound]: then
// the collection tells which of the two is missing. The collection's number of
// jobs is not set.
func (s *Store) Job(ctx context.Context, ref job.Ref) (*job.Collection, *job.Job, error) {
	c, err := s.collection(ctx, ref.CollectionRef)
	if err != nil {
		return nil, nil, err
	}
	sh := s.shardOf(ref.CollectionRef)
	name := job.FoldName(ref.Job)
	found, err := s.rdb.ZRangeByLex(ctx, sh.jobs(c.UID), &redis.ZRangeBy{Min: "[" + name + "\x00", Max: "(" + name + "\x01", Count: 1}).Result()
	if err != nil {
		return nil, nil, fmt.Errorf("find job: %w", err)
	}
	if len(found) == 0 {
		return c, nil, fmt.Errorf("find job: %w", job.ErrNotFound)
	}
	jobs, err := s.jobs(ctx, sh, uidsOf(found))
	if err != nil {
		return nil, nil, err
	}
	if jobs[0] == nil {
		return c, nil, fmt.Errorf("find job: %w", job.ErrNotFound)
	}
	return c, jobs[0], nil
}

// jobs reads many by uid; those that do not exist are nil.
func (s *Store) jobs(ctx context.Context, sh shard, uids []string) ([]*job.Job, error) {
	if len(uids) == 0 {
		return nil, nil
	}
	hashes := make([]*redis.SliceCmd, len(uids))
	_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, uid := range uids {
			hashes[i] = p.HMGet(ctx, sh.job(uid), jobFields...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	list := make([]*job.Job, len(uids))
	for i, h := range hashes {
		if list[i], err = jobOf(h.Val()); err != nil {
			return nil, fmt.Errorf("read job %s: %w", uids[i], err)
		}
	}
	return list, nil
}

// page is how many jobs are looked at in one round trip.
const page = 500

// Jobs returns the jobs of a collection that q selects, by name, and whether
// there are more. It fails with [job.ErrNotReady] if the shard's state has yet to
// be rebuilt.
func (s *Store) Jobs(ctx context.Context, c *job.Collection, q job.Query) (jobs []*job.Job, more bool, err error) {
	sh, skip := s.shardOf(c.CollectionRef), q.Skip
	start := int64(0)
	if q.State == "" { // positions are those of the list itself
		start, skip = int64(skip), 0
	}
	for {
		n := int64(page)
		if q.State == "" {
			n = min(n, int64(q.Top+1-len(jobs)))
		}
		var ready *redis.StringCmd
		var members *redis.StringSliceCmd
		_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			ready = p.HGet(ctx, sh.state(), "ready")
			members = p.ZRange(ctx, sh.jobs(c.UID), start, start+n-1)
			return nil
		})
		if err != nil && !missing(err) {
			return nil, false, fmt.Errorf("list jobs: %w", err)
		}
		if ready.Val() != "1" {
			return nil, false, fmt.Errorf("list jobs: %w", job.ErrNotReady)
		}
		read, err := s.jobs(ctx, sh, uidsOf(members.Val()))
		if err != nil {
			return nil, false, err
		}
		for _, j := range read {
			if j == nil || q.State != "" && j.Status.State != q.State {
				continue
			}
			if skip > 0 {
				skip--
				continue
			}
			if len(jobs) == q.Top {
				return jobs, true, nil
			}
			jobs = append(jobs, j)
		}
		if len(members.Val()) < int(n) {
			return jobs, false, nil
		}
		start += n
	}
}

// uidsOf returns the uids of members of a collection's jobs.
func uidsOf(members []string) []string {
	uids := make([]string, len(members))
	for i, m := range members {
		_, uids[i], _ = strings.Cut(m, "\x00")
	}
	return uids
}

// PutJob writes a job; see [job.Write] for what must hold. A new revision with
// the same NextAt does not disturb runs under way.
func (s *Store) PutJob(ctx context.Context, w job.Write) error {
	def, err := json.Marshal(w.Job)
	if err != nil {
		return fmt.Errorf("put job: %w", err)
	}
	var expect int64
	last := ""
	if w.Was != nil {
		expect, last = w.Was.Revision, millis(w.Was.Status.LastAt)
	}
	sh, c, j := s.shardOf(w.Collection.CollectionRef), w.Collection, w.Job
	keys := []string{sh.state(), sh.collection(c.CollectionRef), sh.jobs(c.UID), sh.job(j.UID), sh.due(), sh.final()}
	state := j.State
	if j.Status.State.Final() {
		state = j.Status.State
	}
	err = s.run(ctx, "put job", putJobScript, keys,
		c.UID, c.Revision, expect, j.UID, job.FoldName(j.Job), j.Revision,
		def, string(state), j.Series, w.MaxJobs, digit(w.Reschedule), millis(w.NextAt), last, millis(s.Now()))
	if err != nil {
		return err
	}
	if w.Reschedule && !w.NextAt.IsZero() {
		s.wake(ctx, sh)
	}
	return nil
}

// DeleteJob removes a job. It fails with [job.ErrChanged] if j is not what
// stands there any more.
func (s *Store) DeleteJob(ctx context.Context, c *job.Collection, j *job.Job) error {
	return s.deleteJob(ctx, "delete job", s.shardOf(c.CollectionRef), j)
}

// remember is for how long a deleted job stays deleted whatever the journal
// says, longer than anybody takes to journal the deletion and to apply what was
// read of the journal before, and for how long a request for a run is known when
// it is repeated.
const remember = 10 * time.Minute

func (s *Store) deleteJob(ctx context.Context, what string, sh shard, j *job.Job) error {
	keys := []string{
		sh.state(), sh.collection(j.CollectionRef), sh.jobs(j.CollectionUID), sh.job(j.UID),
		sh.due(), sh.final(), sh.dead(),
	}
	now := s.Now()
	return s.run(ctx, what, deleteJobScript, keys,
		j.CollectionUID, j.UID, job.FoldName(j.Job), j.Revision, millis(now), millis(now.Add(-remember)))
}

// RunJob adds a run that a request asked for, due now. Asking again with the
// same tag changes nothing while the run is under way, nor for some minutes. It
// fails with [job.ConflictError] if the job's policy lets no run begin beside
// one that is active.
func (s *Store) RunJob(ctx context.Context, c *job.Collection, j *job.Job, r *job.Pending) error {
	if r.At.IsZero() {
		return errors.New("run job: nominal time is required")
	}
	sh := s.shardOf(c.CollectionRef)
	keys := []string{sh.state(), sh.collection(c.CollectionRef), sh.job(j.UID), sh.runs(), sh.run(r.Tag), sh.asked()}
	now := s.Now()
	err := s.run(ctx, "run job", runJobScript, keys,
		c.UID, c.Revision, j.UID, j.Revision, r.Tag, millis(r.At), millis(now), millis(now.Add(-remember)), digit(j.Policy.Serial()))
	if err != nil {
		return err
	}
	s.wake(ctx, sh)
	return nil
}
