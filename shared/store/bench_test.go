package store_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// batch is how many jobs, runs and results a planner handles at once.
const batch = 256

// benchmarks runs a benchmark on a real Redis, or else on the stand-in.
func benchmarks(b *testing.B, bench func(*testing.B, *fixture, []*job.Job)) {
	list := backends(b)
	use := list[min(1, len(list)-1)]
	b.Run(use.name, func(b *testing.B) { onto(b, use.start(b), bench) })
}

func onto(b *testing.B, o *redis.UniversalOptions, bench func(*testing.B, *fixture, []*job.Job)) {
	f := newFixture(b, open(b, connect(b, o)))
	jobs := make([]*job.Job, batch)
	for i := range jobs {
		jobs[i] = f.job(i)
		f.create(jobs[i], time.UnixMilli(1_800_000_000_000))
	}
	b.ReportAllocs()
	bench(b, f, jobs)
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/batch, "µs/item")
}

// steps plans the n-th minute of each job.
func (f *fixture) steps(jobs []*job.Job, n int) []job.Step {
	at := time.UnixMilli(1_800_000_000_000).Add(time.Duration(n) * time.Minute)
	steps := make([]job.Step, len(jobs))
	for i, j := range jobs {
		steps[i] = job.Step{Job: j, Collection: f.collection, At: at, NextAt: at.Add(time.Minute)}
	}
	return steps
}

func (f *fixture) plan(steps []job.Step) {
	f.Helper()
	taken, err := f.Plan(f.Context(), f.lease, steps)
	f.must(err)
	for i := range taken {
		if !taken[i].OK {
			f.Fatalf("step %d was not taken", i)
		}
		steps[i].Job.Status.LastAt = steps[i].At // as planners remember it
	}
}

// done are the results of steps' runs.
func done(steps []job.Step) []job.Effect {
	effects := make([]job.Effect, len(steps))
	for i, s := range steps {
		e := &effects[i]
		e.Run = job.Run{Tag: job.Tag(s.Job.UID, s.At), UID: s.Job.UID, Revision: 1, At: s.At, Phase: job.MainAction}
		e.Planned.Series, e.StartedAt = s.Job.Series, s.At
		e.Outcome, e.Follow = job.Succeeded, job.FollowDone
	}
	return effects
}

func (f *fixture) record(effects []job.Effect) {
	f.Helper()
	after := f.place
	after.Sequence += uint64(len(effects))
	f.must(f.Record(f.Context(), f.lease, f.place, after, effects))
	f.place = after
}

func BenchmarkPlan(b *testing.B) {
	benchmarks(b, func(b *testing.B, f *fixture, jobs []*job.Job) {
		n := 0
		for b.Loop() {
			b.StopTimer()
			steps := f.steps(jobs, n)
			n++
			b.StartTimer()
			f.plan(steps)
			b.StopTimer()
			f.record(done(steps)) // or else runs heap up
			b.StartTimer()
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	benchmarks(b, func(b *testing.B, f *fixture, jobs []*job.Job) {
		n := 0
		for b.Loop() {
			b.StopTimer()
			steps := f.steps(jobs, n)
			n++
			f.plan(steps)
			effects := done(steps)
			b.StartTimer()
			f.record(effects)
		}
	})
}

func BenchmarkAgenda(b *testing.B) {
	benchmarks(b, func(b *testing.B, f *fixture, _ []*job.Job) {
		now := time.UnixMilli(1_800_000_000_000)
		for b.Loop() {
			a, err := f.Agenda(f.Context(), f.lease.Shard, now, batch)
			f.must(err)
			if len(a.Jobs) != batch {
				b.Fatalf("%d jobs are due", len(a.Jobs))
			}
		}
	})
}
