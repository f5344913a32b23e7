package planner_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/recur"
)

// A redis that was down for a moment may have lost its last second. Nothing
// else tells of a job that was created in it.
func TestRedisRestartedOlder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var l line
	cfg := w.settings("p1")
	cfg.Term = time.Hour // the lease has nothing to say
	_, cfg.Store = w.connect(&l)
	w.planAs(cfg)
	w.ready()
	before := w.snapshot()
	j := w.create("lost", job.Definition{StartAt: w.store.Now().Add(time.Hour).Truncate(time.Millisecond)})
	w.putBack(before)
	l.cut()
	l.mend()
	w.eventually("the job to be back", func() bool {
		_, got, err := w.store.Job(w.Context(), j.Ref)
		return err == nil && got.Status.NextExecutionAt.Equal(j.StartAt)
	})
}

// DESIGN.md §2: "status that history would let age out, a yearly job's count
// say, is journaled as a checkpoint".
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.plan()
	k := w.work()
	const month = 30 * 24 * time.Hour
	k.on("seldom", outcomes(job.Failed))
	k.on("retried", outcomes(job.Failed))
	k.on("faulted", outcomes(job.Failed))
	none := &job.RetryPolicy{}
	seldom := w.create("seldom", job.Definition{
		Recurrence: &recur.Spec{Frequency: recur.Month, Interval: 2, Count: 2}, Action: calling(job.HTTP, none, nil),
	})
	retried := w.create("retried", job.Definition{Recurrence: every(1, 1), Action: calling(job.HTTP, fixed(2*month, 1), nil)})
	faulted := w.create("faulted", job.Definition{Action: calling(job.HTTP, none, nil)})
	done := w.create("done", job.Definition{})
	jobs := []*job.Job{seldom, retried, faulted, done}
	w.is(seldom, job.Enabled, 1, 1, 1)
	w.is(retried, job.Enabled, 1, 1, 0)
	w.is(faulted, job.Faulted, 1, 1, 1)
	w.is(done, job.Completed, 1, 0, 0)
	stop() // what was begun is finished: the checkpoints are written
	var want []job.Status
	for _, j := range jobs {
		want = append(want, w.read(j).Status)
	}
	runs := w.runs()

	w.purge("HISTORY")
	w.putBack(nil)
	w.plan()
	for i, j := range jobs {
		if diff := cmp.Diff(want[i], w.read(j).Status); diff != "" {
			t.Errorf("status of %s (-want +got):\n%s", j.Job, diff)
		}
	}
	if diff := cmp.Diff(runs, w.runs()); diff != "" || len(runs) != 1 {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	k.once(t)
}

// What was deleted stays deleted, whatever redis remembers.
func TestDeletedCollectionStaysDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.plan()
	j := w.create("j", job.Definition{StartAt: w.store.Now().Add(time.Hour)})
	before := w.snapshot()
	w.deleteCollection()
	stop()
	for how, s := range map[string]snapshot{"purged": nil, "an older copy": before} {
		w.putBack(s)
		stop := w.plan()
		w.eventually("the collection to be gone: "+how, func() bool {
			_, err := w.store.Collection(w.Context(), w.col.CollectionRef)
			return errors.Is(err, job.ErrNotFound)
		})
		w.eventually("its job to be cleared", func() bool {
			jobs, err := w.store.ShardJobs(w.Context(), w.shard(), []string{j.UID})
			w.must(err)
			return jobs[0] == nil
		})
		stop()
	}
}

// drop deletes a stream.
func (w *world) drop(name string) {
	w.Helper()
	js, err := jetstream.New(w.nc)
	w.must(err)
	w.must(js.DeleteStream(w.Context(), name))
}

// DESIGN.md §2: "losing DISPATCH loses nothing either".
func TestDispatchStreamLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.watchful()
	j := w.create("once", job.Definition{})
	w.eventually("the dispatch", func() bool { return len(w.dispatched()) == 1 })
	w.drop("DISPATCH")
	k := w.work()
	w.is(j, job.Completed, 1, 0, 0)
	if n := len(k.performed(j)); n != 1 {
		t.Errorf("performed %d times", n)
	}
}

// A place in a history that is no more means nothing; the store goes on from
// where it is.
func TestHistoryStreamLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan()
	k := w.work()
	k.on("late", outcomes(job.Failed, job.Succeeded))
	often := w.create("often", job.Definition{Recurrence: every(1, 5)})
	late := w.create("late", job.Definition{Action: calling(job.HTTP, fixed(3*time.Second, 1), nil)})
	asked := w.create("asked", job.Definition{State: job.Disabled})
	w.request(asked)
	w.is(asked, job.Disabled, 1, 0, 0)
	w.waits(late)
	w.eventually("two executions", func() bool { s := w.read(often).Status; return s.Executions == 2 && s.Planned == 2 })
	w.drop("HISTORY")
	w.is(often, job.Completed, 5, 0, 0)
	w.is(late, job.Completed, 1, 1, 0)
	w.is(asked, job.Disabled, 1, 0, 0)
	k.gapless(often, 5)
	k.once(t)
}
