package store_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/pressure"
	"github.com/carillon-scheduler/carillon/shared/store"
)

// TestOutOfMemory: a Redis without memory takes nothing new, but leases are
// kept, and what was planned is dispatched, recorded and ends, which makes room.
func TestOutOfMemory(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		backends(t) // fails where there has to be one
		t.Log("the stand-in knows no bound of memory")
		return
	}
	for _, kind := range []backend{{"redis", single}, {"cluster", cluster}} {
		t.Run(kind.name, func(t *testing.T) {
			rdb := connect(t, kind.start(t))
			s := open(t, rdb)
			var log bytes.Buffer
			board := pressure.New(slog.New(slog.NewTextHandler(&log, nil)))
			s.Report(board)
			f := newFixture(t, s)
			now := time.UnixMilli(1_800_000_000_000)
			one, two, next := f.job(0), f.job(1), f.job(2)
			f.create(one, now)
			f.create(two, now)
			steps := f.steps([]*job.Job{one}, 0)
			f.plan(steps)

			memory(t, rdb, "1")
			f.refusesWhatIsNew(one, next, f.steps([]*job.Job{two}, 0))
			f.bears(rdb, steps)
			held := board.Conditions(t.Context())
			if len(held) != 1 || !strings.HasPrefix(held[0], "redis: out of memory, for ") || strings.Count(log.String(), "\n") != 1 {
				t.Errorf("conditions %q, log:\n%s", held, &log)
			}

			memory(t, rdb, "0")
			f.create(next, now)
			f.plan(f.steps([]*job.Job{two}, 0))
		})
	}
}

func memory(t *testing.T, rdb redis.UniversalClient, bytes string) {
	t.Helper()
	if err := rdb.ConfigSet(t.Context(), "maxmemory", bytes).Err(); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) refusesWhatIsNew(there, next *job.Job, steps []job.Step) {
	f.Helper()
	ctx := f.Context()
	changed := *there
	changed.Revision++
	_, planErr := f.Plan(ctx, f.lease, steps)
	for what, err := range map[string]error{
		"create job":     f.PutJob(ctx, job.Write{Collection: f.collection, Job: next, MaxJobs: 9}),
		"change job":     f.PutJob(ctx, job.Write{Collection: f.collection, Was: there, Job: &changed, MaxJobs: 9}),
		"put collection": f.PutCollection(ctx, newCollection("another"), nil, false),
		"run": f.RunJob(ctx, f.collection, there, &job.Pending{
			Run: job.Run{Tag: strings.Repeat("a", 32), UID: there.UID, Revision: 1, At: f.Now(), Manual: true, Phase: job.MainAction},
		}),
		"plan": planErr,
	} {
		if !errors.Is(err, job.ErrFull) || !errors.Is(err, job.ErrUnavailable) {
			f.Errorf("%s: %v, want no room", what, err)
		}
	}
}

// bears does all that goes on: with the run that was planned, and with leases.
func (f *fixture) bears(rdb redis.UniversalClient, steps []job.Step) {
	f.Helper()
	ctx := f.Context()
	f.must(store.New(rdb, shards).Open(ctx)) // a process that starts now
	if _, err := f.Heartbeat(ctx, "planner", time.Hour); err != nil {
		f.Error(err)
	}
	l, err := f.Lease(ctx, f.lease.Shard, "planner", 24*time.Hour)
	if err != nil || l.Epoch != f.lease.Epoch || l.Beat <= f.lease.Beat {
		f.Errorf("renewed lease %+v, %v", l, err)
	}
	other := (f.lease.Shard + 1) % shards
	f.must(f.Release(ctx, other, "planner"))
	if l, err := f.Lease(ctx, other, "another", time.Hour); err != nil || !l.Held() {
		f.Errorf("lease taken over: %+v, %v", l, err)
	}
	f.must(f.SetProgress(ctx, f.lease, job.Progress{Ready: true, History: f.place}))
	f.dispatched(steps)
	before, err := f.Runs(ctx, f.lease.Shard, f.dueRuns())
	if err != nil || len(before) != 1 || before[0].Sequence == 0 {
		f.Errorf("the dispatch is noted: %v, %v", before, err)
	}
	f.record(done(steps))
	if after := f.dueRuns(); len(after) != 0 {
		f.Errorf("the run goes on: %v", after)
	}
	f.must(f.DeleteJob(ctx, f.collection, steps[0].Job))
}

// dueRuns returns the runs that there are, whenever they are due.
func (f *fixture) dueRuns() []job.Due {
	f.Helper()
	a, err := f.Agenda(f.Context(), f.lease.Shard, time.Now().Add(1e6*time.Hour), 99)
	f.must(err)
	return a.Runs
}

// dispatched notes that steps' runs stand in the dispatch stream.
func (f *fixture) dispatched(steps []job.Step) {
	f.Helper()
	ds, sequences := make([]*job.Dispatch, len(steps)), make([]uint64, len(steps))
	for i, s := range steps {
		ds[i] = &job.Dispatch{Attempt: job.Attempt{Run: job.Run{Tag: job.Tag(s.Job.UID, s.At), UID: s.Job.UID, Phase: job.MainAction}}}
		sequences[i] = uint64(i + 1)
	}
	f.must(f.Dispatched(f.Context(), f.lease, ds, sequences, f.Now().Add(time.Hour)))
}
