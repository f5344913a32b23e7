package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

var (
	clusterJobs  = flag.Int("cluster.jobs", 100, "jobs of the cluster tests")
	clusterEvery = flag.Duration("cluster.every", 2*time.Second, "how often each is due")
	clusterFor   = flag.Duration("cluster.for", 8*time.Second, "for how long")
)

const collections = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Scheduler/jobCollections/"

// TestCluster runs three planners and three workers as processes: each
// occurrence is executed exactly once, none early, none missing.
func TestCluster(t *testing.T) {
	c := newCluster(t)
	c.schedule()
	c.finish()
	c.judge(0)
}

// TestClusterKill kills a planner and a worker in the middle: none is missing,
// and every duplicate carries the tag of the first.
func TestClusterKill(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.schedule()
	eventually(t, time.Until(c.first)+*clusterFor, func() error { return c.executed(c.jobs * c.each * 2 / 5) })
	c.planners[0].kill()
	c.workers[0].kill()
	c.finish()
	c.judge(1)
}

// cluster is a cluster of processes with a target for its jobs.
type cluster struct {
	t                 *testing.T
	api               string
	planners, workers []*process
	admins            []string // URLs of all that have a /readyz
	jobs, each        int
	first             time.Time

	mu       sync.Mutex
	received map[call][]arrival
}

// call is an occurrence as the target sees it.
type call struct {
	job string
	due time.Time
}

type arrival struct {
	tag string
	at  time.Time
}

func newCluster(t *testing.T) *cluster {
	redisURL, natsURL := servers(t)
	c := &cluster{t: t, jobs: *clusterJobs, each: int(*clusterFor / *clusterEvery), received: make(map[call][]arrival)}
	on, keys := []string{"--redis", redisURL, "--nats", natsURL}, keyFile(t)
	for range 3 {
		p, w := freeAddress(t), freeAddress(t)
		c.planners = append(c.planners, carillon(t, append([]string{"planner", "--admin-listen", p}, on...)...))
		c.workers = append(c.workers, carillon(t, "worker", "--keys", keys, "--nats", natsURL, "--admin-listen", w))
		c.admins = append(c.admins, "http://"+p, "http://"+w)
	}
	api := carillon(t, append([]string{"apiserver", "--keys", keys, "--listen", "127.0.0.1:0", "--max-jobs", "100000", "--fastest", "1s", "--min-retry-interval", "1s"}, on...)...)
	c.api = api.said(t, `url=(http://\S+)`, 20*time.Second)
	c.admins = append(c.admins, c.api)
	eventually(t, 20*time.Second, func() error {
		resp, err := http.Get(c.api + "/readyz")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("readyz: %s", resp.Status)
		}
		return nil
	})
	return c
}

// request calls the API and returns the answer's body.
func request(api, method, path, body string) ([]byte, error) {
	req, err := http.NewRequest(method, api+path+"?api-version=2016-03-01", bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	return answer, err
}

// spread is over how many collections the jobs are spread.
const spread = 20

func jobPath(i int) string {
	return fmt.Sprintf("%sc%d/jobs/j%d", collections, i%spread, i)
}

// schedule creates the jobs, all due at the same instants.
func (c *cluster) schedule() {
	target := httptest.NewServer(http.HandlerFunc(c.receive))
	c.t.Cleanup(target.Close)
	g := new(errgroup.Group)
	for i := range spread {
		g.Go(func() error {
			_, err := request(c.api, http.MethodPut, fmt.Sprintf("%sc%d", collections, i),
				`{"location":"westus","properties":{"sku":{"name":"Standard"},"quota":{"maxJobCount":100000,"maxRecurrence":{"frequency":"second","interval":1}}}}`)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		c.t.Fatal(err)
	}
	began := time.Now()
	c.first = began.Add(3*time.Second + time.Duration(c.jobs)*2*time.Millisecond).Truncate(time.Second).UTC()
	g.SetLimit(16)
	for i := range c.jobs {
		g.Go(func() error {
			_, err := request(c.api, http.MethodPut, jobPath(i), fmt.Sprintf(
				`{"properties":{"startTime":%q,"action":{"type":"Http","request":{"uri":%q,"method":"POST","body":"x"}},"recurrence":{"frequency":"second","interval":%d,"count":%d}}}`,
				c.first.Format(time.RFC3339), target.URL, int(clusterEvery.Seconds()), c.each))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		c.t.Fatal(err)
	}
	took := time.Since(began)
	c.t.Logf("%d jobs created in %v (%.0f/s), first due in %v", c.jobs, took.Round(time.Millisecond), float64(c.jobs)/took.Seconds(), time.Until(c.first).Round(time.Millisecond))
	if time.Now().After(c.first) {
		c.t.Fatal("creating the jobs took too long")
	}
}

func (c *cluster) receive(_ http.ResponseWriter, r *http.Request) {
	at := time.Now()
	due, err := time.Parse(time.RFC3339Nano, r.Header.Get("x-ms-scheduler-expected-execution-time"))
	if err != nil {
		c.t.Errorf("expected execution time: %v", err)
	}
	k := call{r.Header.Get("x-ms-scheduler-jobid"), due}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received[k] = append(c.received[k], arrival{r.Header.Get("x-ms-execution-tag"), at})
}

// executed returns nil when at least n occurrences have been.
func (c *cluster) executed(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.received) < n {
		return fmt.Errorf("%d of %d occurrences executed", len(c.received), c.jobs*c.each)
	}
	return nil
}

// finish waits until every job is completed.
func (c *cluster) finish() {
	eventually(c.t, time.Until(c.first)+*clusterFor+60*time.Second, func() error { return c.executed(c.jobs * c.each) })
	for i := range c.jobs {
		eventually(c.t, 60*time.Second, func() error {
			body, err := request(c.api, http.MethodGet, jobPath(i), "")
			if err != nil {
				return err
			}
			var j struct {
				Properties struct {
					State  string
					Status struct{ ExecutionCount, FailureCount int }
				}
			}
			if err := json.Unmarshal(body, &j); err != nil {
				return err
			}
			if p := j.Properties; p.State != "completed" || p.Status.ExecutionCount != c.each || p.Status.FailureCount != 0 {
				return fmt.Errorf("job %d: %s", i, body)
			}
			return nil
		})
	}
}

// judge holds what the target received against what was scheduled.
func (c *cluster) judge(crashes int) {
	t := c.t
	c.mu.Lock()
	defer c.mu.Unlock()
	var late []time.Duration
	missing, early, twice := 0, 0, 0
	for i := range c.jobs {
		for n := range c.each {
			due := c.first.Add(time.Duration(n) * *clusterEvery)
			got := c.received[call{fmt.Sprintf("j%d", i), due}]
			if len(got) == 0 {
				missing++
				continue
			}
			twice += len(got) - 1
			if len(got) > 1+crashes {
				t.Errorf("job %d, occurrence %d: executed %d times", i, n, len(got))
			}
			for _, a := range got {
				if a.tag != got[0].tag {
					t.Errorf("job %d, occurrence %d: tags %s and %s", i, n, got[0].tag, a.tag)
				}
				if a.at.Before(due) {
					early++
				}
			}
			late = append(late, got[0].at.Sub(due))
		}
	}
	slices.Sort(late)
	at := func(q float64) time.Duration {
		return late[min(len(late)-1, int(q*float64(len(late))))].Round(100 * time.Microsecond)
	}
	over, _ := slices.BinarySearch(late, time.Second)
	t.Logf("%d occurrences: %d missing, %d early, %d more than once; late p50 %v, p99 %v, max %v, %d by more than a second",
		c.jobs*c.each, missing, early, twice, at(0.5), at(0.99), late[len(late)-1].Round(100*time.Microsecond),
		len(late)-over)
	if missing > 0 || early > 0 || (crashes == 0 && twice > 0) {
		t.Fail()
	}
	if len(c.received) != c.jobs*c.each {
		t.Errorf("%d different occurrences arrived, want %d", len(c.received), c.jobs*c.each)
	}
}
