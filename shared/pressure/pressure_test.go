package pressure_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/pressure"
)

// A condition is logged when it begins and when it is over, however often it is
// met, and told to whoever asks in between.
func TestBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := pressure.New(slog.New(slog.NewTextHandler(&log, nil)))
		expect := func(conditions []string, begun, over int) {
			t.Helper()
			if d := cmp.Diff(conditions, b.Conditions(t.Context())); d != "" {
				t.Errorf("conditions (-want +got):\n%s", d)
			}
			if n, m := strings.Count(log.String(), "level=WARN"), strings.Count(log.String(), "no longer"); n != begun || m != over {
				t.Errorf("%d begun, %d over, want %d, %d:\n%s", n, m, begun, over, &log)
			}
		}
		expect([]string{}, 0, 0)
		b.Over(t.Context(), "redis")
		expect([]string{}, 0, 0)

		for range 12 { // at the limit: refused, accepted, refused
			b.Met(t.Context(), "redis", "out of memory", "raise maxmemory")
			b.Over(t.Context(), "redis")
			time.Sleep(time.Second)
		}
		b.Met(t.Context(), "backlog", "7 due", "")
		b.Met(t.Context(), "backlog", "9 due", "")
		expect([]string{"backlog: 9 due, for 0s", "redis: out of memory, for 12s"}, 2, 0)

		b.Over(t.Context(), "redis")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		expect([]string{"backlog: 9 due, for 3s"}, 2, 1)
		if !strings.Contains(log.String(), `"raise maxmemory"`) || !strings.Contains(log.String(), "after=11s") {
			t.Errorf("log:\n%s", &log)
		}
		b.Over(t.Context(), "backlog")
		b.Met(t.Context(), "backlog", "9 due", "")
		time.Sleep(time.Minute) // nobody has tried since
		expect([]string{}, 2, 2)

		b = nil
		b.Met(t.Context(), "redis", "", "")
		b.Over(t.Context(), "redis")
		expect([]string{}, 2, 2)
	})
}
