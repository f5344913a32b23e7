package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// maxEarly is how long a worker holds back what is early by its own clock.
const maxEarly = 2 * time.Second

// waitDue waits until d is due by the worker's clock, so that no attempt is
// early, but at most [maxEarly]: planners go by a common clock, so what is
// earlier than that says that this one is wrong. It reports false if ctx ended
// first.
func (w *Worker) waitDue(ctx context.Context, d *job.Dispatch) bool {
	for left := maxEarly; ; {
		early := time.Until(d.DueAt)
		if early <= 0 {
			return true
		}
		if left <= 0 {
			w.skew.report(ctx, early)
			return true
		}
		wait := min(early, left)
		if !sleep(ctx, wait) {
			return false
		}
		left -= wait
	}
}

// skewLog logs that the worker's clock is behind, once a minute at most.
type skewLog struct {
	log *slog.Logger

	mu   sync.Mutex
	last time.Time // zero: never
}

func (s *skewLog) report(ctx context.Context, early time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.last.IsZero() || now.Sub(s.last) >= time.Minute {
		s.last = now
		s.log.WarnContext(ctx, "clock is behind the planner's", "skew", early+maxEarly)
	}
}

// sleep waits. It reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
