package store

import (
	"context"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Heartbeat notes that a planner lives for another term, and returns those that
// do, sorted. A term of 0 leaves.
func (s *Store) Heartbeat(ctx context.Context, planner string, term time.Duration) ([]string, error) {
	answer, err := heartbeatScript.Run(ctx, s.rdb, []string{plannersKey}, planner, term.Milliseconds()).Slice()
	if err != nil {
		return nil, fmt.Errorf("heartbeat: %w", err)
	}
	planners := make([]string, 0, len(answer))
	for _, p := range answer[1:] {
		planners = append(planners, text(p))
	}
	return planners, nil
}

// Lease takes or renews the lease of a shard for a term. If another planner
// holds it, the answer is not Held and says until when. The lease counts from
// before the request, less a margin, so it is never trusted for longer than Redis
// keeps it.
func (s *Store) Lease(ctx context.Context, n int, planner string, term time.Duration) (job.Lease, error) {
	sent := time.Now()
	v, err := leaseScript.Run(ctx, s.rdb, []string{shard(n).lease()}, planner, term.Milliseconds()).Int64Slice()
	if err != nil {
		return job.Lease{}, fmt.Errorf("lease shard %d: %w", n, err)
	}
	l := job.Lease{Shard: n, Epoch: v[0], Until: sent.Add(time.Duration(v[2]-v[1]) * time.Millisecond), Beat: v[3]}
	if l.Held() {
		l.Until = l.Until.Add(-leaseMargin(term))
	}
	return l, nil
}

// leaseMargin is how much sooner than the store a holder takes its lease for
// ended: the store counts in whole milliseconds, begun ones from their
// beginning, and its clock may run faster.
func leaseMargin(term time.Duration) time.Duration { return time.Millisecond + term/500 }

// Release gives a lease back, so that another planner can take it at once.
func (s *Store) Release(ctx context.Context, n int, planner string) error {
	if err := releaseScript.Run(ctx, s.rdb, []string{shard(n).lease()}, planner).Err(); err != nil {
		return fmt.Errorf("release shard %d: %w", n, err)
	}
	_ = s.rdb.Publish(ctx, wakeChannel, "lease").Err() // otherwise they find out by the clock
	return nil
}
