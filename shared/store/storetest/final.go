package storetest

import (
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func finalTests() []test {
	return []test{
		{"how the last occurrence ended", finalStates},
		{"only when no next time is left", finalNext},
		{"an older run ends later", finalOverlap},
		{"a run of an earlier series", finalSeries},
		{"a new series forgets how the old one ended", finalOutcomeForgotten},
		{"disabled is disabled", finalDisabled},
		{"since when", finalSince},
	}
}

func finalStates(t *testing.T, s Store) {
	w := newWorld(t, s)
	failed := func(j *job.Job) job.Effect { return result(j, at(0), job.Failed, job.FollowError) }
	for i, c := range []struct {
		name    string
		results func(j *job.Job) []job.Effect
		want    job.State
	}{
		{"success", func(j *job.Job) []job.Effect {
			return []job.Effect{result(j, at(0), job.Succeeded, job.FollowDone)}
		}, job.Completed},
		{"success at a retry", func(j *job.Job) []job.Effect {
			return []job.Effect{
				result(j, at(0), job.Failed, job.FollowRetry),
				attempt(result(j, at(0), job.Succeeded, job.FollowDone), job.MainAction, 1),
			}
		}, job.Completed},
		{"fault", func(j *job.Job) []job.Effect {
			return []job.Effect{result(j, at(0), job.Failed, job.FollowFault)}
		}, job.Faulted},
		{"error action succeeded", func(j *job.Job) []job.Effect {
			return []job.Effect{failed(j), attempt(result(j, at(0), job.Succeeded, job.FollowEnd), job.ErrorAction, 0)}
		}, job.Faulted},
		{"skipped at first", func(j *job.Job) []job.Effect {
			return []job.Effect{result(j, at(0), job.Skipped, job.FollowDrop)}
		}, job.Completed},
		{"skipped at a retry", func(j *job.Job) []job.Effect {
			return []job.Effect{
				result(j, at(0), job.Failed, job.FollowRetry),
				attempt(result(j, at(0), job.Skipped, job.FollowDrop), job.MainAction, 1),
			}
		}, job.Faulted},
		{"skipped at the error action", func(j *job.Job) []job.Effect {
			return []job.Effect{failed(j), attempt(result(j, at(0), job.Skipped, job.FollowDrop), job.ErrorAction, 0)}
		}, job.Faulted},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := w.on(t)
			w.place = w.latest()
			j := w.newJob(name(i))
			j.Recurrence = nil // once
			j = w.put(j, at(0))
			w.plan(j, at(0), time.Time{})
			for _, e := range c.results(j) {
				equal(t, "state", w.read(j).Status.State, job.Enabled)
				w.record(e)
			}
			equal(t, "final state", w.read(j).Status.State, c.want)
		})
	}
}

func finalNext(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("count of two", at(0))
	w.plan(j, at(0), at(time.Hour))
	w.record(result(j, at(0), job.Succeeded, job.FollowDone))
	equal(t, "state after the first", w.read(j).Status.State, job.Enabled)
	taken := w.plan(j, at(time.Hour), time.Time{})
	equal(t, "count", taken.Planned.Count, 2)
	w.record(result(j, at(time.Hour), job.Failed, job.FollowFault))
	equal(t, "state after the second", w.read(j).Status.State, job.Faulted)
}

// The newest occurrence says how the job ended, whichever run ends last.
func finalOverlap(t *testing.T, s Store) {
	w := newWorld(t, s)
	for _, c := range []struct {
		older, newer job.Follow
		want         job.State
	}{{job.FollowFault, job.FollowDone, job.Completed}, {job.FollowDone, job.FollowFault, job.Faulted}} {
		j := w.create(string(c.want), at(0))
		w.plan(j, at(0), at(time.Hour))
		w.plan(j, at(time.Hour), time.Time{})
		w.record(result(j, at(time.Hour), job.Succeeded, c.newer))
		equal(t, "state while a run is active", w.read(j).Status.State, job.Enabled)
		w.record(result(j, at(0), job.Succeeded, c.older))
		equal(t, "state", w.read(j).Status.State, c.want)
	}
}

func finalSeries(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	anew := w.write(w.read(j), func(j *job.Job) { j.Series = 2 })
	anew.Reschedule = true // with no next time: the planner is to settle it
	w.must(w.PutJob(t.Context(), anew))
	w.record(result(j, at(0), job.Failed, job.FollowFault))
	equal(t, "state after a run of the old series", w.read(j).Status.State, job.Enabled)
	w.settle(w.read(j), time.Time{})
	equal(t, "state", w.read(j).Status.State, job.Completed)
}

func finalOutcomeForgotten(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), at(time.Hour))
	w.record(result(j, at(0), job.Failed, job.FollowFault))
	for _, series := range []int64{1, 3} {
		anew := w.write(w.read(j), func(j *job.Job) { j.Series = series })
		anew.Reschedule, anew.NextAt = true, at(time.Hour)
		w.must(w.PutJob(t.Context(), anew))
	}
	w.settle(w.read(j), time.Time{})
	equal(t, "state", w.read(j).Status.State, job.Completed)
}

func finalDisabled(t *testing.T, s Store) {
	w := newWorld(t, s)
	j := w.create("one", at(0))
	w.plan(j, at(0), time.Time{})
	off := w.write(w.read(j), func(j *job.Job) { j.State = job.Disabled })
	w.must(w.PutJob(t.Context(), off))
	w.record(result(j, at(0), job.Succeeded, job.FollowDone))
	equal(t, "state", w.read(j).Status.State, job.Disabled)
}

// Final jobs are kept for a while, from when they became final.
func finalSince(t *testing.T, s Store) {
	w := newWorld(t, s)
	before := s.Now().Truncate(time.Millisecond)
	j := w.create("one", at(0))
	w.plan(j, at(0), time.Time{})
	w.record(result(j, at(0), job.Succeeded, job.FollowDone))
	after := s.Now().Add(time.Millisecond)
	list, err := w.Expired(t.Context(), w.shard, before, 9)
	w.must(err)
	equal(t, "final before", len(list), 0)
	list, err = w.Expired(t.Context(), w.shard, after, 9)
	w.must(err)
	equal(t, "final jobs", list, []*job.Job{w.read(j)})
}
