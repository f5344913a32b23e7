package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

var burstJobs = flag.Int("burst.jobs", 5000, "jobs that are due at one instant in TestBurst")

// planners bear a burst in less than this, whatever its size: they hold a few
// batches of each shard, and the definitions that they plan from.
const burstMemory = 512 << 20

// TestBurst: many jobs due at one instant. They drain, each is executed once and
// none early; meanwhile leases are held, every process answers that it is ready,
// and planners stay small.
func TestBurst(t *testing.T) {
	c := newCluster(t)
	c.jobs, c.each = *burstJobs, 1
	c.schedule()
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	asking.Go(func() { c.staysReady(ctx) })
	defer asking.Wait()
	defer stop()
	eventually(t, time.Until(c.first)+time.Minute+time.Duration(c.jobs)*5*time.Millisecond, func() error { return c.executed(c.jobs) })
	drained := time.Since(c.first)
	c.completed()
	stop()
	asking.Wait()
	t.Logf("%d jobs due at one instant executed after %v: %.0f/s", c.jobs, drained.Round(time.Millisecond), float64(c.jobs)/drained.Seconds())
	c.judge(0)
	for _, p := range c.planners {
		most := peak(t, p)
		t.Logf("a planner took at most %d MiB", most>>20)
		if most > burstMemory {
			t.Errorf("a planner took %d MiB", most>>20)
		}
		out, err := os.ReadFile(p.log)
		if err != nil {
			t.Fatal(err)
		}
		if lost := regexp.MustCompile(`(?m)^.*(lease lost|cannot renew|interrupted|vanished).*$`).Find(out); lost != nil {
			t.Errorf("a planner said %s", lost)
		}
	}
}

// staysReady asks every process again and again, until ctx is done, whether it
// is ready, and logs what it says of a backlog.
func (c *cluster) staysReady(ctx context.Context) {
	conditions := regexp.MustCompile(`"conditions":\[[^\]]*\]`)
	worst := time.Duration(0)
	said := ""
	for ctx.Err() == nil {
		for _, url := range c.admins {
			began := time.Now()
			body, err := readyz(url)
			if err != nil {
				c.t.Errorf("in the burst: %v", err)
				return
			}
			worst = max(worst, time.Since(began))
			if s := conditions.FindString(body); len(s) > 0 {
				said = s
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	c.t.Logf("/readyz took at most %v; it said last %s", worst.Round(time.Millisecond), said)
}

// completed checks that every job says that it was executed once.
func (c *cluster) completed() {
	g := new(errgroup.Group)
	g.SetLimit(4)
	for i := range c.jobs {
		g.Go(func() error {
			for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
				body, err := request(c.api, http.MethodGet, jobPath(i), "")
				if err == nil && bytes.Contains(body, []byte(`"state":"completed"`)) && bytes.Contains(body, []byte(`"executionCount":1,"failureCount":0,`)) {
					return nil
				}
				if time.Now().After(end) {
					return cmp.Or(err, fmt.Errorf("job %d: %s", i, body))
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		c.t.Error(err)
	}
}

// peak returns the most memory that a process has had, in bytes, where the system
// tells.
func peak(t *testing.T, p *process) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		t.Logf("how much memory a process has had is not known here: %v", err)
		return 0
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Fatalf("no VmHWM in %s", status)
	}
	kib, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
