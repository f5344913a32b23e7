package planner_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// DESIGN.md §2: "Redis can be rebuilt from the two … losing all of Redis loses
// nothing acknowledged", and it is right again after it came back older: in the
// middle of work, while no planner is at work, and while the store fails now and
// then.
func TestRedisLost(t *testing.T) {
	for how, lose := range map[string]func(*world, snapshot){
		"purged":        func(w *world, _ snapshot) { w.putBack(nil) },
		"an older copy": (*world).putBack,
	} {
		for _, when := range []string{"at work", "away", "stumbling"} {
			t.Run(how+"/planner "+when, func(t *testing.T) {
				t.Parallel()
				testRedisLost(t, lose, when)
			})
		}
	}
}

func testRedisLost(t *testing.T, lose func(*world, snapshot), when string) {
	w := newWorld(t)
	stop := w.plan()
	k := w.work()
	held := make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	defer release()
	k.on("often", outcomes(job.Failed, job.Succeeded))
	k.on("late", outcomes(job.Failed, job.Failed, job.Succeeded))
	k.on("faulted", outcomes(job.Failed))
	k.on("held", func(*job.Dispatch) job.Outcome { <-held; return job.Failed })
	once := &job.RetryPolicy{}

	// Before the copy that may come back.
	often := w.create("often", job.Definition{Recurrence: every(1, 6), Action: calling(job.HTTP, once, nil)})
	kept := w.create("held", job.Definition{Action: calling(job.HTTP, once, nil)})
	asked := w.create("asked", job.Definition{StartAt: w.store.Now().Add(time.Hour)})
	changed := w.create("changed", job.Definition{StartAt: w.store.Now().Add(time.Hour)})
	deleted := w.create("deleted", job.Definition{StartAt: w.store.Now().Add(time.Hour)})
	disabled := w.create("disabled", job.Definition{Recurrence: every(1, 0)})
	w.request(asked)
	k.gapless(often, 2)
	w.is(asked, job.Enabled, 1, 0, 0)
	w.eventually("executions of what will be disabled", func() bool { return w.read(disabled).Status.Executions == 2 })
	before := w.snapshot()

	// After it.
	late := w.create("late", job.Definition{Recurrence: every(1000, 0), Action: calling(job.HTTP, fixed(2*time.Second, 4), nil)})
	done := w.create("done", job.Definition{})
	faulted := w.create("faulted", job.Definition{Action: calling(job.HTTP, fixed(10*time.Millisecond, 2), nil)})
	w.is(done, job.Completed, 1, 0, 0)
	w.is(faulted, job.Faulted, 1, 3, 1)
	w.request(asked)
	w.is(asked, job.Enabled, 2, 0, 0)
	w.update(changed, func(n *job.Job) { n.Action = calling(job.HTTPS, nil, nil) })
	w.update(disabled, func(n *job.Job) { n.State = job.Disabled })
	w.delete(deleted)
	k.gapless(often, 3)
	w.waits(late)
	w.eventually("results to be recorded", func() bool {
		return len(w.runs()) == 2 && w.read(disabled).Status.Executions == w.read(disabled).Status.Planned // late, kept
	})
	defer k.tell(often, late, kept, asked, done, faulted, disabled)
	status := map[*job.Job]job.Status{}
	for _, j := range []*job.Job{done, faulted, changed, disabled, asked} {
		status[j] = w.read(j).Status
	}
	var third string // request that nobody has acted on
	if when == "at work" {
		lose(w, before)
	} else {
		stop()
		third = w.request(asked)
		lose(w, before)
		cfg := w.settings("p1")
		if when == "stumbling" {
			cfg.Batch, cfg.Store = 3, &stumbling{Store: w.store}
		}
		w.planAs(cfg)
	}
	w.eventually("the shard to be rebuilt", func() bool {
		_, j, err := w.store.Job(w.Context(), disabled.Ref)
		return err == nil && w.store.Ready(w.Context()) == nil && j.Status.State == job.Disabled
	})
	release()
	if third != "" {
		w.is(asked, job.Enabled, 3, 0, 0)
		status[asked] = w.read(asked).Status
		if calls := k.performed(asked); calls[2].Tag != third {
			t.Errorf("the run request was executed as %s", calls[2].Tag)
		}
	}
	w.is(often, job.Completed, 6, 1, 1)
	w.is(late, job.Enabled, 1, 2, 0)
	w.is(kept, job.Faulted, 1, 1, 1)
	w.eventually("all runs to end", func() bool { return len(w.runs()) == 0 })

	k.gapless(often, 6)
	for j, want := range status {
		if diff := cmp.Diff(want, w.read(j).Status); diff != "" {
			t.Errorf("status of %s (-want +got):\n%s", j.Job, diff)
		}
	}
	rows := w.rows(late)
	if diff := cmp.Diff([]string{"Main/0 failed", "Main/1 failed", "Main/2 completed"}, attempts(rows)); diff != "" {
		t.Errorf("history of the retried job (-want +got):\n%s", diff)
	}
	for i := range rows[1:] {
		if gap := rows[i+1].StartedAt.Sub(rows[i].EndedAt); gap < 2*time.Second {
			t.Errorf("retry %d came after %v", i+1, gap)
		}
	}
	if got := w.read(changed); got.Revision != 2 || got.Action.Type != job.HTTPS {
		t.Errorf("the changed job is revision %d: %+v", got.Revision, got.Action)
	}
	if _, _, err := w.store.Job(w.Context(), deleted.Ref); err == nil {
		t.Error("the deleted job is back")
	}
	k.once(t)
	w.idle()
}

// once checks that no attempt was performed twice.
func (k *worker) once(t *testing.T) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	seen := make(map[string]bool)
	for _, c := range k.calls {
		id := c.Tag + "/" + string(c.Phase) + "/" + string(rune('0'+c.RetryCount))
		if seen[id] {
			t.Errorf("performed twice: %s of %s", c.ID(), c.Job)
		}
		seen[id] = true
	}
}
