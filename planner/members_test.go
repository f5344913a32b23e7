package planner

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func TestShare(t *testing.T) {
	for shards := 1; shards <= 17; shards++ {
		for n := 1; n <= 20; n++ {
			var peers []string
			for i := range n {
				peers = append(peers, string(rune('a'+i)))
			}
			sum, least, most := 0, shards, 0
			for _, me := range peers {
				part := share(shards, peers, me)
				sum, least, most = sum+part, min(least, part), max(most, part)
			}
			if sum != shards || most-least > 1 {
				t.Errorf("%d planners have %d of %d shards, from %d to %d each", n, sum, shards, least, most)
			}
		}
	}
	if part := share(16, []string{"a", "b"}, "c"); part != 0 {
		t.Errorf("one who is not a member has %d", part)
	}
}

// cluster is what planners share: who lives, and who holds which shard.
type cluster struct {
	mu      sync.Mutex
	lives   map[string]time.Time
	leases  map[int]job.Lease
	holders map[int]string
	working map[int][]string // by shard: planners whose owners are at work
	begun   int              // owners that ever were
	down    bool
	wake    []func(int)
}

// member is a planner's view of the cluster. All that an owner does on it is to
// look at its progress, which takes for ever.
type member struct {
	Store
	*cluster
	id string
}

var errDown = errors.New("redis is down")

func (m *member) lock() (func(), error) {
	m.mu.Lock()
	if m.down {
		m.mu.Unlock()
		return nil, errDown
	}
	return m.mu.Unlock, nil
}

func (m *member) Heartbeat(_ context.Context, planner string, term time.Duration) ([]string, error) {
	unlock, err := m.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	m.lives[planner] = time.Now().Add(term)
	maps.DeleteFunc(m.lives, func(_ string, until time.Time) bool { return !until.After(time.Now()) })
	return slices.Sorted(maps.Keys(m.lives)), nil
}

func (m *member) Lease(_ context.Context, n int, planner string, term time.Duration) (job.Lease, error) {
	unlock, err := m.lock()
	if err != nil {
		return job.Lease{}, err
	}
	defer unlock()
	l := m.leases[n]
	if m.holders[n] != planner {
		if m.holders[n] != "" && l.Until.After(time.Now()) {
			return job.Lease{Shard: n}, nil
		}
		m.holders[n], l.Epoch, l.Beat = planner, l.Epoch+1, 0
	}
	l.Shard, l.Until, l.Beat = n, time.Now().Add(term), l.Beat+1
	m.leases[n] = l
	return l, nil
}

func (m *member) Release(_ context.Context, n int, planner string) error {
	unlock, err := m.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if m.holders[n] == planner {
		m.holders[n] = ""
		for _, woken := range m.wake {
			woken(-1)
		}
	}
	return nil
}

func (m *member) Wake(ctx context.Context, woken func(int)) error {
	m.mu.Lock()
	m.wake = append(m.wake, woken)
	m.mu.Unlock()
	<-ctx.Done()
	return nil
}

func (m *member) SyncClock(context.Context) error { return nil }
func (m *member) Offset() time.Duration           { return 2 * time.Second }

func (m *member) Progress(ctx context.Context, n int) (job.Progress, error) {
	m.mu.Lock()
	m.working[n] = append(m.working[n], m.id)
	m.begun++
	m.mu.Unlock()
	<-ctx.Done()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.working[n] = slices.DeleteFunc(m.working[n], func(id string) bool { return id == m.id })
	return job.Progress{}, ctx.Err()
}

// join runs a planner until leave.
func (c *cluster) join(t *testing.T, id string) (leave func()) {
	t.Helper()
	p, err := New(Config{
		Store: &member{cluster: c, id: id}, Queue: struct{ Queue }{}, ID: id, Shards: 4,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// at waits for d and returns who is at work on the shards then.
func (c *cluster) at(d time.Duration) []string {
	time.Sleep(d)
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	var got []string
	for n := range 4 {
		got = append(got, strings.Join(c.working[n], " and "))
	}
	return got
}

// expect waits for d and checks who is at work on the shards.
func (c *cluster) expect(t *testing.T, d time.Duration, want ...string) {
	t.Helper()
	got := c.at(d)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("at work on the shards (-want +got):\n%s", diff)
	}
}

func inCluster(t *testing.T, f func(t *testing.T, c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t, &cluster{
			lives: make(map[string]time.Time), leases: make(map[int]job.Lease),
			holders: make(map[int]string), working: make(map[int][]string),
		})
	})
}

func TestPlannersJoinAndLeave(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		leaveA := c.join(t, "a")
		c.expect(t, 0, "a", "a", "a", "a")
		leaveB := c.join(t, "b")
		c.expect(t, 5*time.Second, "a", "a", "b", "b")
		leaveC := c.join(t, "c")
		c.expect(t, 6*time.Second, "a", "a", "b", "c")
		begun := c.begun
		c.expect(t, 5*time.Minute, "a", "a", "b", "c")
		if c.begun != begun {
			t.Errorf("%d owners began in five minutes of peace", c.begun-begun)
		}
		leaveA()
		if diff := cmp.Diff([]string{"b", "b", "c", "c"}, slices.Sorted(slices.Values(c.at(0)))); diff != "" { // at once
			t.Errorf("at work on the shards (-want +got):\n%s", diff)
		}
		leaveC()
		c.expect(t, 0, "b", "b", "b", "b")
		leaveB()
		c.expect(t, 0, "", "", "", "")
	})
}

// A planner that is no more is missed when its leases end, not later.
func TestPlannerDies(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		now := time.Now()
		c.lives["dead"] = now.Add(3 * time.Second)
		for n := range 2 {
			c.holders[n], c.leases[n] = "dead", job.Lease{Epoch: 7, Until: now.Add(3 * time.Second)}
		}
		leave := c.join(t, "a")
		c.expect(t, 2*time.Second, "", "", "a", "a")
		c.expect(t, 2*time.Second, "a", "a", "a", "a")
		leave()
	})
}

func TestLeaseLost(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		leave := c.join(t, "a")
		c.expect(t, time.Second, "a", "a", "a", "a")
		c.mu.Lock()
		c.holders[1] = "thief"
		c.mu.Unlock()
		c.expect(t, 2500*time.Millisecond, "a", "", "a", "a")
		c.expect(t, 3*time.Second, "a", "a", "a", "a") // it lets it lapse
		leave()
	})
}

// DESIGN.md §2: "right again after Redis came back a second older".
func TestBeatGoesBack(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		leave := c.join(t, "a")
		c.expect(t, 5500*time.Millisecond, "a", "a", "a", "a")
		begun := c.begun
		c.mu.Lock()
		for n := range 2 {
			l := c.leases[n]
			l.Beat--
			c.leases[n] = l
		}
		l := c.leases[2] // an answer was lost: no harm
		l.Beat++
		c.leases[2] = l
		c.mu.Unlock()
		c.expect(t, 2500*time.Millisecond, "a", "a", "a", "a")
		if n := c.begun - begun; n != 2 {
			t.Errorf("%d owners were started anew, want 2", n)
		}
		leave()
	})
}

func TestRedisDown(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster) {
		leave := c.join(t, "a")
		c.expect(t, time.Second, "a", "a", "a", "a")
		begun := c.begun
		for _, down := range []bool{true, false} {
			c.mu.Lock()
			c.down = down
			c.mu.Unlock()
			c.expect(t, time.Minute, "a", "a", "a", "a")
		}
		if c.begun != begun {
			t.Errorf("%d owners were started anew", c.begun-begun)
		}
		c.mu.Lock()
		c.down = true
		c.mu.Unlock()
		leave() // all the same
		c.expect(t, 0, "", "", "", "")
	})
}

func TestConfig(t *testing.T) {
	_, err := New(Config{})
	for _, field := range []string{"store", "queue", "log", "id", "shards"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("error does not name %s: %v", field, err)
		}
	}
	c := Config{Store: &member{}, Queue: struct{ Queue }{}, Log: slog.New(slog.DiscardHandler), ID: "a", Shards: 1}
	c.Batch = -1
	if _, err := New(c); err == nil || !strings.Contains(err.Error(), "batch") {
		t.Errorf("error does not name batch: %v", err)
	}
}
