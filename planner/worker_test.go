package planner_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// A worker performs nothing: it records what its script says.
type worker struct {
	*world
	mu     sync.Mutex
	script map[string]func(d *job.Dispatch) job.Outcome // by job name; without one all succeeds
	calls  []call
}

// call is an attempt that a worker performed.
type call struct {
	*job.Dispatch
	at time.Time
}

// postponedFor is what a target asks for that postpones.
const postponedFor = 150 * time.Millisecond

// vanish is the outcome of an attempt of which nothing is heard.
const vanish job.Outcome = "vanish"

// work runs a worker until the end of the test.
func (w *world) work() *worker {
	k := &worker{world: w, script: make(map[string]func(*job.Dispatch) job.Outcome)}
	w.background(func(ctx context.Context) error { return w.queue.Consume(ctx, 64, k.perform) })
	return k
}

func (k *worker) perform(ctx context.Context, d *job.Dispatch, _ int) job.Verdict {
	r := job.Result{Attempt: d.Attempt, Performance: uid(), StartedAt: k.store.Now(), Outcome: job.Succeeded, Message: "Http Action"}
	k.mu.Lock()
	script := k.script[d.Job]
	k.calls = append(k.calls, call{d, r.StartedAt})
	k.mu.Unlock()
	if script != nil {
		r.Outcome = script(d)
	}
	if r.Outcome == vanish {
		return job.Verdict{}
	}
	if r.Outcome == job.Postponed {
		r.RetryAfter = postponedFor
	}
	r.EndedAt = k.store.Now()
	if err := k.queue.Record(ctx, &r); err != nil {
		return job.Verdict{Again: time.Second}
	}
	return job.Verdict{}
}

// on sets the script of a job.
func (k *worker) on(name string, script func(d *job.Dispatch) job.Outcome) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.script[name] = script
}

// outcomes is a script of outcomes in turn; the last one stays.
func outcomes(list ...job.Outcome) func(*job.Dispatch) job.Outcome {
	var mu sync.Mutex
	return func(*job.Dispatch) job.Outcome {
		mu.Lock()
		defer mu.Unlock()
		o := list[0]
		if len(list) > 1 {
			list = list[1:]
		}
		return o
	}
}

// performed returns the attempts of a job so far, by nominal time.
func (k *worker) performed(j *job.Job) []call {
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []call
	for _, c := range k.calls {
		if c.UID == j.UID {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b call) int { return a.At.Compare(b.At) })
	return list
}
