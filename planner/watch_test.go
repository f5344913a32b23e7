package planner_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// dispatched returns the dispatches of the shard that wait or are under way.
func (w *world) dispatched() []*job.Dispatch {
	w.Helper()
	var ds []*job.Dispatch
	w.must(w.queue.Waiting(w.Context(), w.shard(), func(d *job.Dispatch, _ uint64) error {
		ds = append(ds, d)
		return nil
	}))
	return ds
}

// watchful is a planner that soon looks after what it dispatched.
func (w *world) watchful() {
	w.Helper()
	cfg := w.settings("p1")
	cfg.WatchAfter = 300 * time.Millisecond
	w.planAs(cfg)
	w.ready()
}

// purge empties a stream.
func (w *world) purge(name string) {
	w.Helper()
	js, err := jetstream.New(w.nc)
	w.must(err)
	s, err := js.Stream(w.Context(), name)
	w.must(err)
	w.must(s.Purge(w.Context()))
}

// DESIGN.md §2, step 6: "if it is gone, it is sent again under a new message id.
// That covers … even a purged or lost DISPATCH stream".
func TestPurgedDispatchIsSentAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.watchful()
	j := w.create("once", job.Definition{})
	w.eventually("the dispatch", func() bool { return len(w.dispatched()) == 1 })
	w.purge("DISPATCH")
	w.eventually("another dispatch", func() bool { return len(w.dispatched()) == 1 })
	if d := w.dispatched()[0]; d.Resend == 0 || d.RetryCount != 0 || d.Tag != job.Tag(j.UID, d.At) {
		t.Errorf("sent again as %s", d.ID())
	}
	k := w.work()
	w.is(j, job.Completed, 1, 0, 0)
	if n := len(k.performed(j)); n != 1 {
		t.Errorf("performed %d times", n)
	}
	w.idle()
}

// "That covers a worker that vanished between ack and result": the attempt is
// performed once more, under the same tag, and counted once.
func TestVanishedResultIsAskedForAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.watchful()
	k := w.work()
	k.on("vanishes", outcomes(job.Failed, vanish, vanish, job.Succeeded))
	j := w.create("vanishes", job.Definition{Action: calling(job.HTTP, fixed(50*time.Millisecond, 1), nil)})
	w.is(j, job.Completed, 1, 1, 0)
	var ids []string
	for _, c := range k.performed(j) {
		ids = append(ids, strings.TrimPrefix(c.ID(), c.Tag))
	}
	want := []string{"/MainAction/0/0", "/MainAction/1/0", "/MainAction/1/1", "/MainAction/1/2"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("dispatches (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Main/0 failed", "Main/1 completed"}, attempts(w.rows(j))); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	w.idle()
}

// "if its message is still in DISPATCH (asked by sequence) it only waits for a
// worker": a backlog is not doubled, nor what takes long.
func TestBacklogIsNotDoubled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.watchful()
	j := w.create("once", job.Definition{})
	w.eventually("the dispatch", func() bool { return len(w.dispatched()) == 1 })
	w.watched(3)
	k := w.work()
	k.on("once", func(*job.Dispatch) job.Outcome {
		w.watched(3)
		return job.Succeeded
	})
	w.is(j, job.Completed, 1, 0, 0)
	if n := len(k.performed(j)); n != 1 || len(w.rows(j)) != 1 {
		t.Errorf("performed %d times", n)
	}
	w.idle()
}

// watched waits until the one run of the shard was looked after n times.
func (w *world) watched(n int) {
	var last time.Time
	w.eventually("the run to be looked after", func() bool {
		runs := w.runs()
		if len(runs) != 1 {
			return false
		}
		if runs[0].At.After(last) {
			last, n = runs[0].At, n-1
		}
		return n < 0
	})
}

// A dispatch that vanished is not sent again when its job is no more.
func TestVanishedDispatchOfADeletedJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.watchful()
	j := w.create("once", job.Definition{})
	w.eventually("the dispatch", func() bool { return len(w.dispatched()) == 1 })
	w.delete(j)
	w.purge("DISPATCH")
	w.eventually("the end of the run", func() bool { return len(w.runs()) == 0 })
	if diff := cmp.Diff([]string{"Main/0 skipped"}, attempts(w.rows(j))); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	w.idle()
}

// DESIGN.md §5: "the newest missed occurrence runs, the others are recorded as
// skipped"; a job that runs once runs late.
func TestMissed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := w.settings("p1")
	cfg.MissedAfter = 1500 * time.Millisecond
	stop := w.planAs(cfg)
	w.ready()
	k := w.work()
	k.on("missed", outcomes(job.Failed)) // a retry does not say it again
	j := w.create("missed", job.Definition{Recurrence: every(1, 0), Action: calling(job.HTTP, fixed(10*time.Millisecond, 1), nil)})
	w.eventually("the first", func() bool { return w.read(j).Status.Planned > 0 })
	stop()
	before := w.read(j).Status
	once := w.create("once", job.Definition{StartAt: before.LastAt.Add(100 * time.Millisecond)})
	w.passed(before.LastAt.Add(4500 * time.Millisecond))
	w.planAs(cfg)
	w.is(once, job.Completed, 1, 0, 0)
	w.eventually("it to go on", func() bool { return w.read(j).Status.Executions > before.Planned+1 })
	var missed, ran []job.Record
	for _, r := range w.rows(j) {
		switch {
		case r.Outcome == job.Skipped:
			missed = append(missed, r)
		case r.RetryCount == 0 && r.At.After(before.LastAt):
			ran = append(ran, r)
		}
	}
	if len(missed) != 1 {
		t.Fatalf("%d rows of missed occurrences", len(missed))
	}
	m := missed[0]
	// Of those since the planner went away, one every second, all but the newest were missed.
	if m.At.Sub(before.LastAt) != time.Duration(m.Missed+1)*time.Second || m.Missed < 3 || !m.At.Equal(ran[0].At) {
		t.Errorf("away since %v: %d missed before %v", before.LastAt, m.Missed, m.At)
	}
	if !strings.Contains(m.Message, "occurrences before this one were missed") || m.RetryCount != 0 || m.Phase != job.MainAction {
		t.Errorf("row says %q of %+v", m.Message, m.Run)
	}
	if next := ran[1]; next.At.Sub(m.At) != time.Second || next.Planned.Count != before.Planned+2 {
		t.Errorf("the next is number %d, of %v", next.Planned.Count, next.At)
	}
	for _, r := range w.rows(once) {
		if r.Outcome == job.Skipped {
			t.Errorf("row says %q", r.Message)
		}
	}
}
