package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/queue"
)

func jobEntry(uid string, revision int64) job.Entry {
	a := attempt(uid, 1)
	return job.Entry{Shard: 1, UID: uid, Revision: revision, Job: &job.Job{
		UID: uid, Revision: revision, CollectionUID: "c", Ref: a.Ref,
		Definition: job.Definition{StartAt: noon, State: job.Enabled, Action: dispatch(uid, 1).Action},
		CreatedAt:  noon, UpdatedAt: noon, Series: 1, SeriesAt: noon, Anchor: noon, ActiveFrom: noon,
	}}
}

func journal(tb testing.TB, q *queue.Queue, entries ...job.Entry) {
	tb.Helper()
	if err := q.Journal(tb.Context(), entries...); err != nil {
		tb.Fatal(err)
	}
}

// entries returns the entries of shard 1 after a sequence, and the last of them.
func entries(tb testing.TB, q *queue.Queue, after uint64) (list []job.Entry, last uint64) {
	tb.Helper()
	last, err := q.Entries(tb.Context(), 1, after, func(e job.Entry) error {
		list = append(list, e)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return list, last
}

func TestJournal(t *testing.T) {
	q, _ := open(t)
	if list, last := entries(t, q, 0); len(list) != 0 || last != 0 {
		t.Errorf("empty journal has %v, up to %d", list, last)
	}
	if list, last := entries(t, q, 77); len(list) != 0 || last != 77 {
		t.Errorf("empty journal has %v, up to %d, after 77", list, last)
	}
	collection := &job.Collection{UID: uid(9), Revision: 2, CollectionRef: attempt("", 1).CollectionRef, SKU: job.Free, State: job.CollectionEnabled, CreatedAt: noon}
	pending := job.Pending{Run: attempt(uid(1), 3).Run, DueAt: noon}
	gone := jobEntry(uid(1), 4)
	gone.Deleted = true
	want := []job.Entry{
		{Shard: 1, UID: uid(9), Revision: 2, Collection: collection},
		jobEntry(uid(1), 2), // out of order
		jobEntry(uid(1), 1),
		{Shard: 1, UID: uid(1), Revision: 2, Run: &pending},
		{Shard: 1, UID: uid(1), Revision: 2, Checkpoint: &job.Checkpoint{
			State: job.Enabled, LastAt: noon, Repeat: 3, Planned: job.Planned{Series: 1, NextAt: noon}, Runs: []job.Pending{pending},
		}},
		gone,
		{Shard: 1, UID: uid(9), Revision: 3, Collection: collection, Deleted: true},
	}
	other := jobEntry(uid(2), 1)
	other.Shard = 2
	journal(t, q, append(slices.Clone(want), other)...)
	journal(t, q, jobEntry(uid(1), 1)) // twice is harmless
	want = append(want, jobEntry(uid(1), 1))

	list, last := entries(t, q, 0)
	if d := cmp.Diff(want, list, cmpopts.IgnoreFields(job.Entry{}, "Sequence")); d != "" {
		t.Error(d)
	}
	for i := 1; i < len(list); i++ {
		if list[i].Sequence <= list[i-1].Sequence {
			t.Errorf("entry %d has sequence %d after %d", i, list[i].Sequence, list[i-1].Sequence)
		}
	}
	if n := len(list); last != list[n-1].Sequence {
		t.Errorf("last is %d, want %d", last, list[n-1].Sequence)
	}
	if end, err := q.JournalEnd(t.Context(), 1); err != nil || end != last {
		t.Errorf("journal ends at %d, %v, want %d", end, err, last)
	}
	tail, end := entries(t, q, list[2].Sequence)
	if d := cmp.Diff(list[3:], tail); d != "" || end != last {
		t.Errorf("after the third, up to %d: %s", end, d)
	}
	if tail, end := entries(t, q, last); len(tail) != 0 || end != last {
		t.Errorf("after the last: %v, up to %d", tail, end)
	}
}

func TestJournalErrors(t *testing.T) {
	q, _ := open(t)
	for name, edit := range map[string]func(*job.Entry){
		"no part":           func(e *job.Entry) { e.Job = nil },
		"two parts":         func(e *job.Entry) { e.Run = &job.Pending{} },
		"deletes a run":     func(e *job.Entry) { e.Job, e.Run, e.Deleted = nil, &job.Pending{}, true },
		"uid with wildcard": func(e *job.Entry) { e.UID = "*" },
		"no such shard":     func(e *job.Entry) { e.Shard = 4 },
	} {
		good, bad := jobEntry(uid(1), 1), jobEntry(uid(2), 1)
		edit(&bad)
		if err := q.Journal(t.Context(), good, bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if list, _ := entries(t, q, 0); len(list) != 0 {
		t.Errorf("%d entries were added with a wrong one", len(list))
	}
	stop := errors.New("stop")
	journal(t, q, jobEntry(uid(1), 1), jobEntry(uid(1), 2))
	last, err := q.Entries(t.Context(), 1, 0, func(e job.Entry) error {
		if e.Revision == 2 {
			return stop
		}
		return nil
	})
	list, _ := entries(t, q, 0)
	if !errors.Is(err, stop) || last != list[0].Sequence {
		t.Errorf("visit's error: %v, after %d", err, last)
	}
}

// TestJournalKeepsTheNewest shows that a job that changes often does not fill
// the journal, and that its run requests do not drive out its definition.
func TestJournalKeepsTheNewest(t *testing.T) {
	q, _ := open(t)
	for r := range int64(20) {
		e := job.Entry{Shard: 1, UID: uid(1), Run: &job.Pending{Run: attempt(uid(1), int(r)).Run}}
		journal(t, q, jobEntry(uid(1), r+1), e, e)
	}
	list, _ := entries(t, q, 0)
	var revisions []int64
	for _, e := range list {
		if e.Job != nil {
			revisions = append(revisions, e.Revision)
		}
	}
	if d := cmp.Diff(upTo(13, 20), revisions); d != "" {
		t.Error(d)
	}
}

func TestManyEntries(t *testing.T) {
	q, _ := open(t)
	var wg sync.WaitGroup
	for n := range 4 { // four API servers
		wg.Go(func() {
			var list []job.Entry
			for i := range 500 {
				e := jobEntry(fmt.Sprintf("%d%d", n, i), int64(i))
				e.Shard = i % 2
				list = append(list, e)
			}
			journal(t, q, list...)
		})
	}
	wg.Wait()
	list, last := entries(t, q, 0)
	if len(list) != 1000 || last != list[999].Sequence {
		t.Errorf("%d entries up to %d", len(list), last)
	}
	revisions := make(map[byte]int64) // each server's are in its order
	for _, e := range list {
		if e.Revision <= revisions[e.UID[0]] {
			t.Errorf("entry %d of server %c after %d", e.Revision, e.UID[0], revisions[e.UID[0]])
		}
		revisions[e.UID[0]] = e.Revision
	}
}

func TestForget(t *testing.T) {
	q, nc := open(t)
	keep := jobEntry(uid(2), 1)
	journal(t, q, jobEntry(uid(1), 1), keep, jobEntry(uid(1), 2),
		job.Entry{Shard: 1, UID: uid(1), Run: &job.Pending{}})
	if err := q.Forget(t.Context(), 2, uid(1)); err != nil {
		t.Fatal(err)
	}
	if list, _ := entries(t, q, 0); len(list) != 4 {
		t.Errorf("%d entries are left after another shard forgot, want 4", len(list))
	}
	if err := q.Forget(t.Context(), 1, uid(1)); err != nil {
		t.Fatal(err)
	}
	list, last := entries(t, q, 0)
	if d := cmp.Diff([]job.Entry{keep}, list, cmpopts.IgnoreFields(job.Entry{}, "Sequence")); d != "" {
		t.Error(d)
	}
	journal(t, q, jobEntry(uid(1), 3))
	if list, _ := entries(t, q, last); len(list) != 1 || list[0].Revision != 3 {
		t.Errorf("entries since are %+v", list)
	}
	for _, name := range []string{"*", ">", "", "a.b"} {
		if err := q.Forget(t.Context(), 1, name); err == nil {
			t.Errorf("forget %q: no error", name)
		}
	}
	if err := streams(t, nc).DeleteStream(t.Context(), "DEFINITIONS"); err != nil {
		t.Fatal(err)
	}
	if err := q.Forget(t.Context(), 1, uid(1)); err != nil {
		t.Errorf("no journal: %v", err)
	}
	if list, last := entries(t, q, 5); len(list) != 0 || last != 5 {
		t.Errorf("a new journal has %v, up to %d", list, last)
	}
}

// TestEntriesWhoseLastIsForgotten takes away the last entries while they are
// being read, so that the end that was looked for never comes.
func TestEntriesWhoseLastIsForgotten(t *testing.T) {
	q, _ := open(t)
	list := make([]job.Entry, 5000)
	for i := range list {
		list[i] = jobEntry(uid(i), 1)
	}
	list[4998].UID = uid(4999)
	journal(t, q, list...)
	n := 0
	last, err := q.Entries(t.Context(), 1, 0, func(e job.Entry) error {
		if n++; n == 1 {
			return q.Forget(t.Context(), 1, uid(4999))
		}
		if e.UID == uid(4999) {
			t.Errorf("entry %d was visited after it was forgotten", n)
		}
		return nil
	})
	if err != nil || n != 4998 {
		t.Errorf("%d entries, %v", n, err)
	}
	if end, err := q.JournalEnd(t.Context(), 1); err != nil || end != last {
		t.Errorf("last is %d, and the journal ends at %d, %v", last, end, err)
	}
}

// What was deleted stays deleted in whatever order it was journaled, until it is
// forgotten.
func TestDeleted(t *testing.T) {
	q, _ := open(t)
	gone, collection := jobEntry(uid(1), 2), jobEntry(uid(4), 3)
	gone.Deleted = true
	collection.Job, collection.Collection, collection.Deleted = nil, &job.Collection{UID: uid(4), Revision: 3}, true
	elsewhere := gone
	elsewhere.Shard, elsewhere.UID = 2, uid(2)
	journal(t, q, jobEntry(uid(0), 1), gone, jobEntry(uid(1), 1), jobEntry(uid(2), 1), elsewhere, collection)
	deleted := func() []bool {
		t.Helper()
		got, err := q.Deleted(t.Context(), 1, []string{uid(0), uid(1), uid(2), uid(3), uid(4)})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if d := cmp.Diff([]bool{false, true, false, false, true}, deleted()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if err := q.Forget(t.Context(), 1, uid(1)); err != nil {
		t.Fatal(err)
	}
	journal(t, q, jobEntry(uid(1), 1))
	if d := cmp.Diff([]bool{false, false, false, false, true}, deleted()); d != "" {
		t.Errorf("after one was forgotten (-want +got):\n%s", d)
	}
	if _, err := q.Deleted(t.Context(), 4, []string{uid(0)}); err == nil {
		t.Error("there is no shard 4")
	}
	if _, err := q.Deleted(t.Context(), 1, []string{"*"}); err == nil {
		t.Error("* is no uid")
	}
}
