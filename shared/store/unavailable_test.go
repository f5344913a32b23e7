package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// TestUnavailable checks that a server that cannot be reached, or cannot serve
// now, is told from one that refuses.
func TestUnavailable(t *testing.T) {
	for _, tt := range []struct {
		name string
		stop func(*miniredis.Miniredis)
		want bool
	}{
		{"at work", func(*miniredis.Miniredis) {}, false},
		{"stopped", (*miniredis.Miniredis).Close, true},
		{"loading", answer("LOADING Redis is loading the dataset in memory"), true},
		{"a replica", answer("READONLY You can't write against a read only replica."), true},
		{"out of memory", answer("OOM command not allowed when used memory > 'maxmemory'."), true},
		{"failing over", answer("CLUSTERDOWN The cluster is down"), true},
		{"refusing", answer("NOPERM this user has no permissions"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := miniredis.RunT(t)
			s := open(t, connect(t, &redis.UniversalOptions{
				Addrs: []string{m.Addr()}, MaxRetries: -1, DialerRetries: 1, PoolSize: 100,
			}))
			tt.stop(m)
			for what, do := range map[string]func() error{
				"a script":   func() error { _, err := s.Lease(t.Context(), 0, "a", time.Second); return err },
				"a command":  func() error { _, err := s.Progress(t.Context(), 0); return err },
				"a pipeline": func() error { _, err := s.Agenda(t.Context(), 0, time.Now(), 1); return err },
				"Ping":       func() error { return s.Ping(t.Context()) },
				"Open":       func() error { return s.Open(t.Context()) },
				"Ready":      func() error { return s.Ready(t.Context()) },
			} {
				if err := do(); errors.Is(err, job.ErrUnavailable) != tt.want {
					t.Errorf("%s: error = %v; unavailable: want %t", what, err, tt.want)
				}
			}
		})
	}
}

func answer(text string) func(*miniredis.Miniredis) {
	return func(m *miniredis.Miniredis) { m.SetError(text) }
}
