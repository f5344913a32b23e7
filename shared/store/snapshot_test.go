package store_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/store"
)

func instant(d time.Duration) time.Time { return time.UnixMilli(1_800_000_000_000).UTC().Add(d) }

// a fixture's shard.
func (f *fixture) shard() int { return f.collection.Shard(f.Shards()) }

// export returns all that is exported of a store: collections, and jobs by name.
func (f *fixture) export() (cols []*job.Collection, jobs map[string]*job.Snapshot) {
	f.Helper()
	jobs = make(map[string]*job.Snapshot)
	for n := range f.Shards() {
		f.must(f.Export(f.Context(), n, func(c *job.Collection) error {
			cols = append(cols, c)
			return nil
		}, func(list []*job.Snapshot) error {
			for _, o := range list {
				if c := cols[len(cols)-1]; o.Job.CollectionUID != c.UID {
					f.Errorf("job %s comes with collection %s", o.Job.Job, c.UID)
				}
				slices.SortFunc(o.Progress.Runs, func(a, b job.Pending) int { return a.At.Compare(b.At) })
				jobs[o.Job.Job] = o
			}
			return nil
		}))
	}
	return cols, jobs
}

// occurs plans an occurrence of a job.
func (f *fixture) occurs(name string, at, next time.Time) {
	f.Helper()
	_, j, err := f.Job(f.Context(), job.Ref{CollectionRef: f.collection.CollectionRef, Job: name})
	f.must(err)
	taken, err := f.Plan(f.Context(), f.lease, []job.Step{{Job: j, Collection: f.collection, At: at, NextAt: next}})
	f.must(err)
	if !taken[0].OK {
		f.Fatalf("%s was not planned", name)
	}
}

// ends records a result of a run's first attempt.
func (f *fixture) ends(j *job.Job, at time.Time, o job.Outcome, follow job.Follow, dueAt time.Time) {
	f.Helper()
	after := f.place
	after.Sequence++
	f.must(f.Record(f.Context(), f.lease, f.place, after, []job.Effect{{
		Record: job.Record{Result: job.Result{
			Attempt:   job.Attempt{Run: job.Run{Tag: job.Tag(j.UID, at), UID: j.UID, At: at, Phase: job.MainAction}, Planned: job.Planned{Series: j.Series}},
			StartedAt: at, Outcome: o,
		}},
		Follow: follow, DueAt: dueAt,
	}}))
	f.place = after
}

// everyKind fills a fixture with jobs in every state there is.
func everyKind(f *fixture) {
	f.Helper()
	next := instant(time.Hour)
	named := func(i int, name string, change func(*job.Job)) *job.Job {
		j := f.job(i)
		j.Job = name
		if change != nil {
			change(j)
		}
		f.create(j, map[bool]time.Time{true: next}[j.State == job.Enabled])
		return j
	}
	named(1, "untouched", nil)
	named(2, "Disabled", func(j *job.Job) { j.State = job.Disabled })

	counted := named(3, "counted", nil)
	f.occurs("counted", instant(0), next)
	f.ends(counted, instant(0), job.Succeeded, job.FollowDone, time.Time{})
	f.occurs("counted", instant(time.Minute), next)
	f.ends(counted, instant(time.Minute), job.Failed, job.FollowFault, time.Time{})

	retried := named(4, "retried", nil)
	f.occurs("retried", instant(0), next)
	f.ends(retried, instant(0), job.Failed, job.FollowRetry, instant(5*time.Hour))
	f.occurs("retried", instant(time.Minute), next) // and one that nobody has dispatched

	changed := named(5, "changed", nil)
	f.occurs("changed", instant(0), next)
	was := *changed
	changed.Revision, changed.Action.Request = 2, &job.Request{URI: "https://example.test/", Method: "PUT"}
	f.must(f.PutJob(f.Context(), job.Write{Collection: f.collection, Was: &was, Job: changed, MaxJobs: 99}))
	f.occurs("changed", instant(time.Minute), next)

	for i, o := range []job.Outcome{job.Succeeded, job.Failed} {
		name := string(o)
		over := named(6+i, name, nil)
		f.occurs(name, instant(0), time.Time{})
		f.ends(over, instant(0), o, map[job.Outcome]job.Follow{job.Succeeded: job.FollowDone, job.Failed: job.FollowFault}[o], time.Time{})
	}

	// The last occurrence is over, one before it is not.
	overtaken := named(8, "overtaken", nil)
	f.occurs("overtaken", instant(0), next)
	f.occurs("overtaken", instant(time.Minute), time.Time{})
	f.ends(overtaken, instant(time.Minute), job.Failed, job.FollowFault, time.Time{})

	asked := named(9, "asked", func(j *job.Job) { j.State = job.Disabled })
	f.must(f.RunJob(f.Context(), f.collection, asked, &job.Pending{Run: job.Run{Tag: job.RunTag(asked.UID, "r"), UID: asked.UID, At: instant(time.Minute)}}))

	// One is under way, two wait for their turn, and one was passed over.
	waits := named(10, "waits", func(j *job.Job) { j.Policy.Overlap = job.OverlapQueue })
	f.occurs("waits", instant(0), next)
	pass := job.Result{
		Attempt: job.Attempt{
			Run:     job.Run{Tag: job.RunTag(waits.UID, "pass"), UID: waits.UID, At: instant(3 * time.Minute), Phase: job.MainAction},
			Planned: job.Planned{Series: waits.Series},
		},
		Outcome: job.Skipped, Missed: 1, From: instant(3 * time.Minute), Waiting: []time.Time{instant(time.Minute), instant(2 * time.Minute)},
	}
	after := f.place
	after.Sequence++
	f.must(f.Record(f.Context(), f.lease, f.place, after, []job.Effect{{Record: job.Record{Result: pass}, Follow: job.FollowPass}}))
	f.place = after

	other := newCollection("other")
	other.SKU, other.State, other.Revision, other.UID = job.Free, job.CollectionDisabled, 1, strings.Repeat("e", 32)
	f.must(f.PutCollection(f.Context(), other, nil, false))
}

func TestSnapshot(t *testing.T) {
	everywhere(t, func(t *testing.T, o *redis.UniversalOptions) {
		f := newFixture(t, open(t, connect(t, o)))
		everyKind(f)
		cols, jobs := f.export()
		if len(cols) != 2 || len(jobs) != 10 {
			t.Fatalf("%d collections, %d jobs", len(cols), len(jobs))
		}
		run := func(j *job.Snapshot, rev int64, at time.Duration, repeat int64, retry int, due time.Duration) job.Pending {
			r := job.Run{Tag: job.Tag(j.Job.UID, instant(at)), UID: j.Job.UID, Revision: rev, At: instant(at), Repeat: repeat, Phase: job.MainAction, RetryCount: retry}
			return job.Pending{Run: r, DueAt: instant(due)}
		}
		for name, o := range jobs {
			p := &o.Progress
			_, j, err := f.Job(t.Context(), o.Job.Ref)
			f.must(err)
			if d := cmp.Diff(j, o.Job); d != "" {
				t.Errorf("%s (-stored +exported):\n%s", name, d)
			}
			s := j.Status
			want := job.Checkpoint{
				State: s.State, LastExecutionAt: s.LastExecutionAt, LastAt: s.LastAt, Repeat: p.Repeat, Passed: s.Passed, Runs: p.Runs,
				Planned: job.Planned{Series: j.Series, Count: s.Planned, NextAt: s.NextExecutionAt, Counters: s.Counters},
			}
			if d := cmp.Diff(want, *p); d != "" {
				t.Errorf("progress of %s (-stored +exported):\n%s", name, d)
			}
			if o.FinalAt.IsZero() == s.State.Final() {
				t.Errorf("%s is %s, and became final at %v", name, s.State, o.FinalAt)
			}
		}
		for name, want := range map[string][]job.Pending{
			"untouched": nil, "counted": nil,
			"retried": {run(jobs["retried"], 1, 0, 1, 1, 5*time.Hour), run(jobs["retried"], 1, time.Minute, 2, 0, time.Minute)},
			"changed": {run(jobs["changed"], 1, 0, 1, 0, 0), run(jobs["changed"], 2, time.Minute, 1, 0, time.Minute)},
		} {
			if d := cmp.Diff(want, jobs[name].Progress.Runs); d != "" {
				t.Errorf("runs of %s (-want +got):\n%s", name, d)
			}
		}
		if r := jobs["asked"].Progress.Runs; len(r) != 1 || !r[0].Manual {
			t.Errorf("run requests: %+v", r)
		}
		if older := jobs["changed"].Older; len(older) != 1 || older[0].Action.Request.Method != http.MethodPost || older[0].Revision != 1 {
			t.Errorf("older revisions: %+v", older)
		}
		if w := jobs["waits"]; w.Progress.Passed != 1 || len(w.Waiting) != 2 {
			t.Errorf("what waits: %+v", w)
		}
		for name, want := range map[string]job.State{"untouched": "", "counted": job.Faulted, "overtaken": job.Faulted} {
			if got := jobs[name].Outcome; got != want {
				t.Errorf("outcome of %s is %q, want %q", name, got, want)
			}
		}
	})
}

// What is imported is what was exported, and goes on from there.
func TestImport(t *testing.T) {
	everywhere(t, func(t *testing.T, o *redis.UniversalOptions) {
		rdb := connect(t, o)
		f := newFixture(t, open(t, rdb))
		everyKind(f)
		cols, jobs := f.export()
		from := f.agenda()

		rdb = connect(t, o) // and empties it
		s := store.New(rdb, 7)
		if err := s.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		to := newFixture(t, s)
		to.must(to.DeleteCollection(t.Context(), to.collection))
		to.must(rdb.Del(t.Context(), fmt.Sprintf("carillon:{s%d}:gone", to.shard())).Err())
		for _, c := range cols {
			got, err := to.ImportCollection(t.Context(), c)
			to.must(err)
			if got != c {
				t.Errorf("%s was there", c.Collection)
			}
		}
		for _, o := range jobs {
			to.must(to.Import(t.Context(), o))
		}
		colsAgain, again := to.export()
		slices.SortFunc(colsAgain, func(a, b *job.Collection) int { return strings.Compare(a.UID, b.UID) })
		slices.SortFunc(cols, func(a, b *job.Collection) int { return strings.Compare(a.UID, b.UID) })
		for _, c := range append(cols, colsAgain...) {
			c.Writes = 0
		}
		if d := cmp.Diff(cols, colsAgain); d != "" {
			t.Errorf("collections (-exported +imported):\n%s", d)
		}
		if d := cmp.Diff(jobs, again); d != "" {
			t.Errorf("jobs (-exported +imported):\n%s", d)
		}
		agenda := to.agenda()
		for i := range agenda.Jobs { // what waits is looked at now
			if d := &agenda.Jobs[i]; d.ID == jobs["waits"].Job.UID && d.At.Before(instant(0)) {
				d.At = instant(time.Hour)
			}
		}
		slices.SortFunc(agenda.Jobs, func(a, b job.Due) int { return a.At.Compare(b.At) })
		if d := cmp.Diff(from, agenda); d != "" {
			t.Errorf("agenda (-exported +imported):\n%s", d)
		}

		// The run of the older revision goes on with its action.
		waiting, err := to.Runs(t.Context(), to.shard(), []job.Due{{ID: job.Tag(jobs["changed"].Job.UID, instant(0))}})
		to.must(err)
		if len(waiting) != 1 || waiting[0].Job.Action.Request.Method != http.MethodPost || waiting[0].Sequence != 0 {
			t.Errorf("the run of the older revision: %+v", waiting)
		}
		// The one that is left ends the job as its last occurrence ended.
		overtaken := jobs["overtaken"].Job
		to.ends(overtaken, instant(0), job.Succeeded, job.FollowDone, time.Time{})
		_, j, err := to.Job(t.Context(), overtaken.Ref)
		to.must(err)
		if j.Status.State != job.Faulted {
			t.Errorf("the overtaken job is %s", j.Status.State)
		}
		// Final jobs go when their time has come.
		expired, err := to.Expired(t.Context(), to.shard(), to.Now().Add(time.Hour), 9)
		to.must(err)
		if len(expired) != 3 {
			t.Errorf("%d jobs can expire", len(expired))
		}
		// Counters grow from where they were.
		counted := jobs["counted"].Job
		to.occurs("counted", instant(2*time.Minute), time.Time{})
		to.ends(counted, instant(2*time.Minute), job.Succeeded, job.FollowDone, time.Time{})
		_, j, err = to.Job(t.Context(), counted.Ref)
		to.must(err)
		want := job.Status{
			State: job.Completed, LastExecutionAt: instant(2 * time.Minute), LastAt: instant(2 * time.Minute), Planned: 3,
			Counters: job.Counters{Executions: 3, Failures: 1, Faults: 1},
		}
		if d := cmp.Diff(want, j.Status); d != "" {
			t.Errorf("status after one more (-want +got):\n%s", d)
		}
	})
}

// agenda returns all that is ever due.
func (f *fixture) agenda() job.Agenda {
	f.Helper()
	a, err := f.Agenda(f.Context(), f.shard(), instant(1000*time.Hour), 99)
	f.must(err)
	for _, list := range [][]job.Due{a.Jobs, a.Runs} {
		slices.SortFunc(list, func(x, y job.Due) int { return strings.Compare(x.ID, y.ID) })
	}
	return a
}

// What is there stays as it is.
func TestImportReplacesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, o *redis.UniversalOptions) {
		f := newFixture(t, open(t, connect(t, o)))
		everyKind(f)
		cols, jobs := f.export()
		before := f.agenda()
		fails := func(what string, err, want error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}

		o1 := *jobs["counted"]
		o1.Progress.Planned.Count, o1.Progress.Runs = 77, jobs["retried"].Progress.Runs
		fails("the same job", f.Import(t.Context(), &o1), job.ErrChanged)
		namesake := *jobs["counted"].Job
		namesake.UID, namesake.Job = strings.Repeat("f", 32), "COUNTED"
		fails("another of its name", f.Import(t.Context(), &job.Snapshot{Job: &namesake}), job.ErrChanged)
		stray := namesake
		stray.Job, stray.CollectionUID = "stray", strings.Repeat("f", 32)
		fails("a job of another collection", f.Import(t.Context(), &job.Snapshot{Job: &stray}), job.ErrChanged)

		newer := *cols[0]
		newer.Revision, newer.Location = 9, "Mars"
		for _, c := range []*job.Collection{&newer, {CollectionRef: newer.CollectionRef, UID: strings.Repeat("f", 32), Revision: 1}} {
			got, err := f.ImportCollection(t.Context(), c)
			f.must(err)
			if got.UID != cols[0].UID || got.Revision != cols[0].Revision {
				t.Errorf("the collection is %+v", got)
			}
		}
		_, after := f.export()
		if d := cmp.Diff(jobs, after); d != "" {
			t.Errorf("jobs (-before +after):\n%s", d)
		}
		if d := cmp.Diff(before, f.agenda()); d != "" {
			t.Errorf("agenda (-before +after):\n%s", d)
		}

		f.must(f.SetProgress(t.Context(), f.lease, job.Progress{History: f.place}))
		namesake.Job = "new"
		fails("a shard that is not ready", f.Import(t.Context(), &job.Snapshot{Job: &namesake}), job.ErrNotReady)
		absent := newCollection("c2")
		for absent.Shard(shards) != f.shard() {
			absent.Collection += "2"
		}
		_, err := f.ImportCollection(t.Context(), absent)
		fails("a collection of it", err, job.ErrNotReady)
		_, err = f.Snapshots(t.Context(), f.shard(), []string{jobs["counted"].Job.UID})
		fails("a job of it, which may be lost", err, job.ErrNotReady)
		fails("an export of it", f.Export(t.Context(), f.shard(), nil, nil), job.ErrNotReady)
	})
}

// A job that was deleted a moment ago can come back, a collection when what is
// left of it is cleared away: the planner would take its jobs for orphans.
func TestImportDeleted(t *testing.T) {
	everywhere(t, func(t *testing.T, o *redis.UniversalOptions) {
		f := newFixture(t, open(t, connect(t, o)))
		f.create(f.job(1), instant(0))
		_, jobs := f.export()
		f.must(f.DeleteJob(t.Context(), f.collection, jobs["job1"].Job))
		f.must(f.Import(t.Context(), jobs["job1"]))
		again := *jobs["job1"].Job
		again.Revision = 2
		f.must(f.RestoreJob(t.Context(), f.lease, &again)) // which it does not do to a job deleted a moment ago
		_, j, err := f.Job(t.Context(), again.Ref)
		f.must(err)
		if j.Revision != 2 {
			t.Errorf("the job still counts as deleted: %+v", j)
		}

		f.must(f.DeleteCollection(t.Context(), f.collection))
		if _, err := f.ImportCollection(t.Context(), f.collection); !errors.Is(err, job.ErrChanged) {
			t.Errorf("a collection that is being deleted: %v", err)
		}
		f.must(f.Clear(t.Context(), f.shard(), j))
		_, err = f.Orphans(t.Context(), f.shard(), 9) // finds that none are left
		f.must(err)
		_, err = f.ImportCollection(t.Context(), f.collection)
		f.must(err)
	})
}

// A second Free collection that was let in once is let in again.
func TestImportFree(t *testing.T) {
	f := newFixture(t, open(t, connect(t, standIn(t))))
	for _, name := range []string{"first", "second"} {
		c := newCollection(name)
		c.SKU = job.Free
		got, err := f.ImportCollection(t.Context(), c)
		f.must(err)
		if got != c {
			t.Errorf("%s was not imported", name)
		}
	}
	c := newCollection("third")
	c.SKU = job.Free
	if _, ok := errors.AsType[*job.ConflictError](f.PutCollection(t.Context(), c, nil, false)); !ok {
		t.Error("a third was let in")
	}
}

// While others write, each job is read with the runs that belong to its
// progress: an occurrence is counted, or under way, or not planned.
func TestSnapshotWhileBusy(t *testing.T) {
	everywhere(t, func(t *testing.T, o *redis.UniversalOptions) {
		f := newFixture(t, open(t, connect(t, o)))
		const jobs = 40
		for i := range jobs {
			f.create(f.job(i), instant(0))
		}
		ctx, cancel := context.WithCancel(t.Context())
		var busy sync.WaitGroup
		rounds := make(chan struct{})
		busy.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				at := instant(time.Duration(n) * time.Minute)
				for i := range jobs {
					f.occurs(fmt.Sprint("job", i), at, at.Add(time.Minute))
				}
				for i := range jobs {
					f.ends(f.job(i), at, job.Succeeded, job.FollowDone, time.Time{})
				}
				select {
				case rounds <- struct{}{}:
				default:
				}
			}
		})
		defer busy.Wait()
		defer cancel()
		running := 0
		for range 20 {
			<-rounds
			_, list := f.export()
			if len(list) != jobs {
				t.Fatalf("%d jobs", len(list))
			}
			for name, o := range list {
				p := &o.Progress
				running += len(p.Runs)
				if p.Planned.Count != p.Planned.Executions+int64(len(p.Runs)) || len(p.Runs) > 0 && !p.Runs[0].At.Equal(p.LastAt) {
					t.Errorf("%s: planned %d, executed %d, under way %+v", name, p.Planned.Count, p.Planned.Executions, p.Runs)
				}
			}
		}
		t.Logf("%d runs under way seen", running)
	})
}

// Pages: more collections and jobs than are read at once, some deleted meanwhile,
// and one made anew that would begin the next page.
func TestExportPages(t *testing.T) {
	f := newFixture(t, open(t, connect(t, standIn(t))))
	for i := range 1203 {
		f.create(f.job(i), instant(0))
	}
	for i := range 530 {
		c := newCollection(fmt.Sprintf("page%d", i))
		f.must(f.PutCollection(t.Context(), c, nil, false))
	}
	seen, cols := make(map[string]bool), 0
	for n := range f.Shards() {
		f.must(f.Export(t.Context(), n, func(*job.Collection) error { cols++; return nil }, func(list []*job.Snapshot) error {
			if len(seen) == 0 { // of the page at hand: those after it stay
				f.must(f.DeleteJob(t.Context(), f.collection, list[0].Job))
				f.must(f.DeleteJob(t.Context(), f.collection, list[1].Job))
				last := list[len(list)-1].Job
				anew := *last
				anew.UID = strings.Repeat("f", 32)
				f.must(f.DeleteJob(t.Context(), f.collection, last))
				f.create(&anew, instant(0))
			}
			for _, o := range list {
				if seen[o.Job.Job] {
					t.Errorf("%s comes twice", o.Job.Job)
				}
				seen[o.Job.Job] = true
			}
			return nil
		}))
	}
	if len(seen) != 1203 || cols != 531 {
		t.Errorf("%d jobs of 1203, %d collections of 531", len(seen), cols)
	}
	if n, err := f.Count(t.Context()); err != nil || n != 531 {
		t.Errorf("count: %d, %v", n, err)
	}
}

func TestExisting(t *testing.T) {
	everywhere(t, func(t *testing.T, o *redis.UniversalOptions) {
		rdb := connect(t, o)
		if _, err := store.Existing(t.Context(), rdb); !errors.Is(err, job.ErrNotFound) {
			t.Errorf("an empty redis: %v", err)
		}
		if n, err := rdb.DBSize(t.Context()).Result(); err != nil || n != 0 {
			t.Errorf("it has %d keys now, %v", n, err)
		}
		s := open(t, rdb)
		got, err := store.Existing(t.Context(), rdb)
		if err != nil || got.Shards() != shards {
			t.Fatalf("%d shards, %v", got.Shards(), err)
		}
		planners := func(want int) {
			t.Helper()
			if n, err := got.Planners(t.Context()); err != nil || n != want {
				t.Errorf("%d planners, %v, want %d", n, err, want)
			}
		}
		planners(0)
		if _, err := s.Heartbeat(t.Context(), "p", time.Minute); err != nil {
			t.Fatal(err)
		}
		planners(1)
		for _, id := range []string{"", "one", ""} {
			if err := s.SetImporting(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if have, err := got.Importing(t.Context()); err != nil || have != id {
				t.Errorf("importing %q, %v, want %q", have, err, id)
			}
		}
		if err := rdb.HSet(t.Context(), "carillon:cluster", "layout", "9").Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Existing(t.Context(), rdb); err == nil || !strings.Contains(err.Error(), "layout 9") {
			t.Errorf("another layout: %v", err)
		}
	})
}
