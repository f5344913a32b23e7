package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func leaseTests() []test {
	return []test{
		{"one owner a shard", oneOwner},
		{"one owner under a rush", leaseRush},
		{"renewed, beats", renewLease},
		{"ends by the store's clock", leaseEnds},
		{"released, is free at once", releaseLease},
		{"heartbeat", heartbeat},
		{"heartbeat ends", heartbeatEnds},
		{"the store's clock", clock},
	}
}

func lease(t *testing.T, s Store, planner string, term time.Duration) job.Lease {
	t.Helper()
	l, err := s.Lease(t.Context(), 1, planner, term)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "shard", l.Shard, 1)
	return l
}

func oneOwner(t *testing.T, s Store) {
	before := time.Now()
	a := lease(t, s, "a", time.Minute)
	if !a.Held() || a.Beat != 1 {
		t.Fatalf("lease = %+v, want held, beat 1", a)
	}
	if a.Until.Before(before.Add(59*time.Second)) || !a.Until.Before(time.Now().Add(time.Minute)) {
		t.Errorf("until %v, want a little less than a minute from the request", a.Until)
	}
	b := lease(t, s, "b", time.Hour)
	if b.Held() {
		t.Fatal("a second planner holds the lease")
	}
	if d := b.Until.Sub(a.Until).Abs(); d > 10*time.Second {
		t.Errorf("the other is told it ends at %v, want about %v", b.Until, a.Until)
	}
	other, err := s.Lease(t.Context(), 0, "b", time.Minute)
	if err != nil || !other.Held() {
		t.Errorf("another shard's lease = %+v, %v; want held", other, err)
	}
}

func leaseRush(t *testing.T, s Store) {
	leases := make([]job.Lease, 50)
	for _, err := range rush(len(leases), func(i int) (err error) {
		leases[i], err = s.Lease(t.Context(), 0, name(i), time.Minute)
		return err
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	held := slices.DeleteFunc(leases, func(l job.Lease) bool { return !l.Held() })
	equal(t, "holders", len(held), 1)
}

func renewLease(t *testing.T, s Store) {
	first := lease(t, s, "a", time.Minute)
	second := lease(t, s, "a", time.Hour)
	equal(t, "epoch", second.Epoch, first.Epoch)
	equal(t, "beat", second.Beat, 2)
	if !second.Until.After(first.Until) {
		t.Errorf("renewed until %v, before until %v", second.Until, first.Until)
	}
	if b := lease(t, s, "b", time.Minute); b.Held() {
		t.Error("a renewed lease is held by another")
	}
	equal(t, "beat", lease(t, s, "a", time.Minute).Beat, 3)
}

func leaseEnds(t *testing.T, s Store) {
	first := lease(t, s, "a", 30*time.Millisecond)
	var second job.Lease
	eventually(t, "the lease to end", func() bool {
		second = lease(t, s, "b", time.Hour)
		return second.Held()
	})
	if time.Now().Before(first.Until) {
		t.Error("the lease was given away before its holder ceased to trust it")
	}
	if second.Epoch <= first.Epoch || second.Beat != 1 {
		t.Errorf("second lease %+v after %+v: want a larger epoch, beat 1", second, first)
	}
	if l := lease(t, s, "a", time.Minute); l.Held() {
		t.Error("the first holder has it still")
	}
}

func releaseLease(t *testing.T, s Store) {
	first := lease(t, s, "a", time.Hour)
	if err := s.Release(t.Context(), 1, "b"); err != nil {
		t.Fatal(err)
	}
	if l := lease(t, s, "b", time.Minute); l.Held() {
		t.Fatal("who does not hold a lease gave it back")
	}
	if err := s.Release(t.Context(), 1, "a"); err != nil {
		t.Fatal(err)
	}
	second := lease(t, s, "b", time.Hour)
	if second.Epoch <= first.Epoch || second.Beat != 1 {
		t.Errorf("second lease %+v after %+v: want a larger epoch, beat 1", second, first)
	}
	if err := s.Release(t.Context(), 1, "b"); err != nil {
		t.Fatal(err)
	}
	if third := lease(t, s, "b", time.Hour); third.Epoch <= second.Epoch {
		t.Errorf("epoch %d after %d, though it was given back", third.Epoch, second.Epoch)
	}
}

func beat(t *testing.T, s Store, planner string, term time.Duration) []string {
	t.Helper()
	live, err := s.Heartbeat(t.Context(), planner, term)
	if err != nil {
		t.Fatal(err)
	}
	return live
}

func heartbeat(t *testing.T, s Store) {
	equal(t, "planners", beat(t, s, "b", time.Hour), []string{"b"})
	equal(t, "planners", beat(t, s, "c", time.Minute), []string{"b", "c"})
	equal(t, "planners", beat(t, s, "a", 2*time.Hour), []string{"a", "b", "c"})
	equal(t, "planners", beat(t, s, "b", 3*time.Hour), []string{"a", "b", "c"})
	equal(t, "planners", beat(t, s, "b", 0), []string{"a", "c"})
	equal(t, "planners", beat(t, s, "absent", 0), []string{"a", "c"})
}

func heartbeatEnds(t *testing.T, s Store) {
	beat(t, s, "a", 30*time.Millisecond)
	eventually(t, "a planner to be forgotten", func() bool {
		return slices.Equal(beat(t, s, "b", time.Hour), []string{"b"})
	})
}

func clock(t *testing.T, s Store) {
	if err := s.SyncClock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.Offset().Abs() > time.Second {
		t.Errorf("offset to a redis on this machine is %v", s.Offset())
	}
	if d := s.Now().Sub(time.Now().Add(s.Offset())).Abs(); d > time.Second {
		t.Errorf("now differs from the local clock and the offset by %v", d)
	}
	equal(t, "location of now", s.Now().Location(), time.UTC)
}
