package sim_test

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/planner"
	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker"
)

// A mutant is a fault that the judge must see: in which plan, and of which
// invariants one is broken then. It is of what planners, workers and API servers
// are given to work with: nothing of these knows of it.
type mutant struct {
	plan   string
	broken []string
}

var mutants = map[string]mutant{
	"the queue forgets message ids":            {"network", []string{"I5"}},
	"the store takes any epoch":                {"naps", []string{"I10"}},
	"dispatches are always said to be there":   {"nats", []string{"I14"}},
	"workers acknowledge before they record":   {"naps", []string{"I5"}},
	"results are lost":                         {"nothing goes wrong", []string{"I5", "I11"}},
	"retries come too soon":                    {"nothing goes wrong", []string{"I6"}},
	"one retry more":                           {"nothing goes wrong", []string{"I6"}},
	"one occurrence more than count":           {"nothing goes wrong", []string{"I7"}},
	"the clock runs ahead":                     {"nothing goes wrong", []string{"I3"}},
	"actions of the newest revision":           {"network", []string{"I9"}},
	"failures are not counted":                 {"deaths", []string{"I11"}},
	"answers come before the journal holds it": {"redis comes back empty", []string{"I1"}},
	"a planned run is forgotten":               {"nothing goes wrong", []string{"I2"}},
	"what is due is not seen any more":         {"nothing goes wrong", []string{"I14"}},
}

// bend returns the store as a planner has it, with the world's mutation.
func (w *world) bend(v view) planner.Store {
	switch w.mutant {
	case "retries come too soon", "one retry more", "one occurrence more than count",
		"the clock runs ahead", "actions of the newest revision", "failures are not counted", "a planned run is forgotten",
		"what is due is not seen any more":
		return bentStore{v}
	}
	return v
}

type bentStore struct{ view }

func (s bentStore) is(mutant string) bool { return s.w.mutant == mutant }

func (s bentStore) Now() time.Time {
	now := s.view.Now()
	if s.is("the clock runs ahead") {
		now = now.Add(3 * time.Second)
	}
	return now
}

func (s bentStore) Agenda(ctx context.Context, shard int, now time.Time, limit int) (job.Agenda, error) {
	a, err := s.view.Agenda(ctx, shard, now, limit)
	if s.is("what is due is not seen any more") && time.Since(s.w.began) > chaos {
		a = job.Agenda{}
	}
	return a, err
}

func (s bentStore) ShardJobs(ctx context.Context, shard int, uids []string) ([]*job.Job, error) {
	list, err := s.view.ShardJobs(ctx, shard, uids)
	for _, j := range list {
		if j != nil && j.Recurrence != nil && j.Recurrence.Count > 0 && s.is("one occurrence more than count") {
			r := *j.Recurrence
			r.Count++
			j.Recurrence = &r
		}
	}
	return list, err
}

func (s bentStore) Plan(ctx context.Context, l job.Lease, steps []job.Step) ([]job.Taken, error) {
	taken, err := s.view.Plan(ctx, l, steps)
	if s.is("a planned run is forgotten") && err == nil {
		for i, t := range taken {
			if at := steps[i].At; t.OK && at.UnixMilli()%5 == 0 {
				_, _ = s.w.redis.ZRem(fmt.Sprintf("carillon:{s%d}:runs", l.Shard), job.Tag(steps[i].Job.UID, at))
				taken[i].OK = false
			}
		}
	}
	return taken, err
}

func (s bentStore) Runs(ctx context.Context, shard int, due []job.Due) ([]*job.Waiting, error) {
	list, err := s.view.Runs(ctx, shard, due)
	if err != nil || !s.is("actions of the newest revision") {
		return list, err
	}
	for _, w := range list {
		if w.Job == nil {
			continue
		}
		newest, err := s.view.ShardJobs(ctx, shard, []string{w.UID})
		if err != nil {
			return nil, err
		}
		if newest[0] != nil {
			w.Job = newest[0]
		}
	}
	return list, nil
}

func (s bentStore) Record(ctx context.Context, l job.Lease, before, after job.Position, effects []job.Effect) error {
	for i := range effects {
		e := &effects[i]
		switch {
		case s.is("retries come too soon") && e.Follow == job.FollowRetry:
			e.DueAt = e.DueAt.Add(-e.Interval / 2)
		case s.is("one retry more") && e.Follow == job.FollowFault && e.RetryCount == e.Retries:
			e.Follow, e.DueAt = job.FollowRetry, s.Now()
		case s.is("failures are not counted") && e.Outcome == job.Failed:
			e.Outcome = job.Postponed
		}
	}
	return s.view.Record(ctx, l, before, after, effects)
}

// bendQueue returns the queue as a planner has it.
func (w *world) bendQueue(q *session) planner.Queue {
	if w.mutant == "dispatches are always said to be there" {
		return blindQueue{q}
	}
	return q
}

type blindQueue struct{ *session }

func (q blindQueue) Present(ctx context.Context, sequences []uint64) ([]bool, error) {
	there, err := q.session.Present(ctx, sequences)
	for i := range there {
		there[i] = true
	}
	return there, err
}

// bendSource returns what a worker has its dispatches from.
func (w *world) bendSource(q *session) worker.Source {
	if w.mutant == "workers acknowledge before they record" {
		return hastySource{q}
	}
	return q
}

type hastySource struct{ *session }

func (q hastySource) Consume(ctx context.Context, limit int, handle func(context.Context, *job.Dispatch, int) job.Verdict) error {
	return q.session.Consume(ctx, limit, func(ctx context.Context, d *job.Dispatch, n int) job.Verdict {
		q.b.mu.Lock()
		for _, m := range q.b.dispatch.of(func(m *message) bool { return m.id == d.ID() }) {
			q.b.dispatch.remove(m.sequence)
		}
		q.b.mu.Unlock()
		return handle(ctx, d, n)
	})
}

// bendHistory returns where a worker leaves its results.
func (w *world) bendHistory(q *session) worker.History {
	if w.mutant == "results are lost" {
		return leakyHistory{q}
	}
	return q
}

type leakyHistory struct{ *session }

func (q leakyHistory) Record(ctx context.Context, r *job.Result) error {
	if draw(q.w.seed, "leak"+attemptOf(&r.Attempt), len(r.Performance))%4 == 0 {
		return nil
	}
	return q.session.Record(ctx, r)
}

// forge has a script go by the newest epoch of its shard, whoever sent it.
func (w *world) forge(cmd redis.Cmder) {
	args := cmd.Args()
	if w.mutant != "the store takes any epoch" || (cmd.Name() != "evalsha" && cmd.Name() != "eval") {
		return
	}
	switch w.scripts[fmt.Sprint(args[1])] {
	case "plan", "record", "dispatched", "settle", "adopt", "ready":
		n, _ := strconv.Atoi(fmt.Sprint(args[2]))
		args[3+n] = w.redis.HGet(fmt.Sprint(args[3]), "epoch")
	}
}
