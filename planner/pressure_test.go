package planner

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// A queue that is full is tried again with what is planned already, and nothing
// more is planned. History is told once what was missed, however often.
func TestNothingIsPlannedWhileTheQueueIsFull(t *testing.T) {
	q := &mailbox{refuse: 1}
	o := newTestOwner(t, &desk{}, q)
	late := &job.Dispatch{Attempt: job.Attempt{Run: run("late").Run}, Skipped: 3}
	unknown := []job.Due{{ID: "this store fails if it is asked for jobs"}}
	var held []time.Duration
	for try := range 9 {
		due := unknown
		if try == 0 {
			due = nil
		}
		_, decided, err := o.begin(t.Context(), due, []*job.Dispatch{late}, noon)
		if !full(err) || decided != 0 || !o.choked || !o.hold(err) {
			t.Fatalf("try %d: %d decided, %v", try, decided, err)
		}
		held = append(held, o.held/time.Millisecond)
	}
	if diff := cmp.Diff([]time.Duration{20, 40, 80, 160, 320, 640, 1000, 1000, 1000}, held); diff != "" {
		t.Errorf("waits in ms (-want +got):\n%s", diff)
	}
	if len(q.results) != 1 || q.results[0].Missed != 3 {
		t.Errorf("history was told %d times what was missed", len(q.results))
	}
	q.refuse = 0
	if ds, _, err := o.begin(t.Context(), unknown, []*job.Dispatch{late}, noon); err != nil || len(ds) != 1 || o.choked || o.hold(err) || o.held != 0 {
		t.Errorf("with room: %v, %v", ds, err)
	}
	if len(o.told) != 0 {
		t.Errorf("what was dispatched is remembered: %v", o.told)
	}
}

// counter is a store that counts what is due.
type counter struct {
	desk
	due   int64
	asked []int
}

func (l *counter) Backlog(_ context.Context, shards []int, _ time.Time) (int64, error) {
	l.asked = append(l.asked, shards...)
	return l.due, nil
}

// listener is told of what holds a planner up.
type listener struct{ said []string }

func (l *listener) Met(_ context.Context, name, words, _ string) {
	l.said = append(l.said, name+": "+words)
}
func (l *listener) Over(_ context.Context, name string) { l.said = append(l.said, name+" is over") }

// A planner says that it is behind when something is due for longer than one that
// keeps up ever lets it be, and counts only then.
func TestBacklog(t *testing.T) {
	s, l := &counter{due: 84000}, &listener{}
	o := newTestOwner(t, s, &mailbox{})
	p := &Planner{cfg: *o.cfg, owners: map[int]*owner{3: o}}
	p.cfg.Pressure = l
	for _, late := range []int64{1999, 2000, 4200} {
		o.behind(&job.Agenda{
			Jobs: []job.Due{{At: noon.Add(-time.Second)}},
			Runs: []job.Due{{At: time.UnixMilli(noon.UnixMilli() - late)}, {At: noon}},
		})
		p.backlog(t.Context())
	}
	o.behind(&job.Agenda{})
	p.backlog(t.Context())
	want := []string{"backlog is over", "backlog: 84000 due, oldest 2.0 s late", "backlog: 84000 due, oldest 4.2 s late", "backlog is over"}
	if diff := cmp.Diff(want, l.said); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
	if len(s.asked) != 2 || s.asked[0] != 3 || strings.Contains(l.said[0], "due") {
		t.Errorf("counted %v", s.asked)
	}
}
