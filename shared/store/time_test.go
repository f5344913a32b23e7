package store_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/store"
)

// stopped returns a store on a stand-in whose clock shows what it is told.
func stopped(t *testing.T) (*store.Store, *miniredis.Miniredis) {
	t.Helper()
	m := miniredis.RunT(t)
	return open(t, connect(t, &redis.UniversalOptions{Addrs: []string{m.Addr()}})), m
}

func TestNowFollowsRedis(t *testing.T) {
	s, m := stopped(t)
	for _, want := range []time.Duration{time.Hour, -time.Minute, 0, 2 * time.Second} {
		before := time.Now()
		m.SetTime(before.Add(want)) // and there it stands
		if err := s.SyncClock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := s.Offset(); got > want || got < want-time.Since(before) {
			t.Errorf("offset = %v, want %v", got, want)
		}
	}
}

// Redis's clock says whose the lease is, to the millisecond.
func TestLeaseByRedisClock(t *testing.T) {
	s, m := stopped(t)
	now := time.UnixMilli(1_800_000_000_000)
	for _, step := range []struct {
		at      time.Duration
		planner string
		term    time.Duration
		want    job.Lease // but Until
		left    time.Duration
	}{
		{0, "a", 3 * time.Second, job.Lease{Epoch: now.UnixMilli(), Beat: 1}, 3 * time.Second},
		{2999 * time.Millisecond, "b", time.Second, job.Lease{}, time.Millisecond},
		{2999 * time.Millisecond, "a", 3 * time.Second, job.Lease{Epoch: now.UnixMilli(), Beat: 2}, 3 * time.Second},
		{5999 * time.Millisecond, "a", time.Second, job.Lease{Epoch: now.UnixMilli(), Beat: 3}, time.Second}, // late, but nobody came
		{6999 * time.Millisecond, "b", time.Minute, job.Lease{Epoch: now.UnixMilli() + 6999, Beat: 1}, time.Minute},
		{0, "b", 0, job.Lease{Epoch: now.UnixMilli() + 6999, Beat: 2}, 0}, // the clock was set back
		{0, "a", time.Second, job.Lease{Epoch: now.UnixMilli() + 7000, Beat: 1}, time.Second},
	} {
		m.SetTime(now.Add(step.at))
		asked := time.Now()
		got, err := s.Lease(t.Context(), 2, step.planner, step.term)
		if err != nil {
			t.Fatal(err)
		}
		margin := time.Duration(0)
		if got.Held() {
			margin = time.Millisecond + step.term/500
		}
		if left := got.Until.Sub(asked); left < step.left-margin || left > step.left+2*time.Second {
			t.Errorf("at %v, %s is told %v are left, want %v", step.at, step.planner, left, step.left)
		}
		got.Until, step.want.Shard = time.Time{}, 2
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("at %v, lease of %s (-want +got):\n%s", step.at, step.planner, diff)
		}
	}
}

func TestHeartbeatByRedisClock(t *testing.T) {
	s, m := stopped(t)
	now := time.UnixMilli(1_800_000_000_000)
	for _, step := range []struct {
		at      time.Duration
		planner string
		want    []string
	}{
		{0, "b", []string{"b"}},
		{time.Second, "a", []string{"a", "b"}},
		{3999 * time.Millisecond, "c", []string{"a", "b", "c"}},
		{4 * time.Second, "c", []string{"a", "c"}},
		{5 * time.Second, "c", []string{"c"}},
	} {
		m.SetTime(now.Add(step.at))
		got, err := s.Heartbeat(t.Context(), step.planner, 4*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("at %v (-want +got):\n%s", step.at, diff)
		}
	}
}

// What was deleted or asked for is remembered for ten minutes.
func TestMemoryEnds(t *testing.T) {
	s, m := stopped(t)
	now := time.UnixMilli(1_800_000_000_000)
	f := newFixture(t, s)
	stays := f.job(100)
	f.create(stays, now)
	var jobs []*job.Job
	ask := func(i int) {
		t.Helper()
		tag := job.RunTag(stays.UID, strconv.Itoa(i))
		f.must(s.RunJob(t.Context(), f.collection, stays, &job.Pending{Run: job.Run{Tag: tag, At: now}}))
	}
	for i, d := range []time.Duration{0, time.Minute, 10*time.Minute + 30*time.Second} {
		m.SetTime(now.Add(d))
		f.must(s.SyncClock(t.Context()))
		j := f.job(i)
		f.create(j, now)
		f.must(s.DeleteJob(t.Context(), f.collection, j))
		jobs = append(jobs, j)
		ask(i)
	}
	a, err := s.Agenda(t.Context(), f.lease.Shard, now, batch)
	f.must(err)
	for _, d := range a.Runs {
		e := job.Effect{Follow: job.FollowDone}
		e.Run = job.Run{Tag: d.ID, UID: stays.UID, Phase: job.MainAction, Manual: true}
		f.record([]job.Effect{e})
	}
	var restored []bool
	for i, j := range jobs {
		f.must(s.RestoreJob(t.Context(), f.lease, j))
		_, read, _ := s.Job(t.Context(), j.Ref)
		restored = append(restored, read != nil)
		ask(i)
	}
	if diff := cmp.Diff([]bool{true, false, false}, restored); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	a, err = s.Agenda(t.Context(), f.lease.Shard, now, batch)
	f.must(err)
	if want := job.RunTag(stays.UID, "0"); len(a.Runs) != 1 || a.Runs[0].ID != want {
		t.Errorf("runs = %v, want %s", a.Runs, want)
	}
}
