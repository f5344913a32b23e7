package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// skipped is a row of occurrences that did not run.
type skipped struct {
	Properties struct{ Status, Message string }
}

// history lists a job's history, all of it or what a filter selects.
func history(t *testing.T, api, job, filter string) (rows []skipped) {
	t.Helper()
	resp, err := http.Get(api + collections + job + "/history?api-version=2016-03-01&$top=100" + filter)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var list struct{ Value []skipped }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("history of %s: %s, %v", job, resp.Status, err)
	}
	return list.Value
}

// sink notes which occurrences of each job were executed, in order.
type sink struct {
	mu    sync.Mutex
	calls map[string][]time.Time
	hold  chan struct{} // until it is closed, "queue" does not answer
}

func (s *sink) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	name := r.Header.Get("X-Ms-Scheduler-Jobid")
	due, _ := time.Parse(time.RFC3339Nano, r.Header.Get("X-Ms-Scheduler-Expected-Execution-Time"))
	s.mu.Lock()
	s.calls[name] = append(s.calls[name], due)
	s.mu.Unlock()
	if name == "queue" {
		<-s.hold
	}
}

func (s *sink) of(name string) []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls[name])
}

// atLeast returns nil when so many occurrences of a job were executed.
func (s *sink) atLeast(n int, name string) error {
	if got := len(s.of(name)); got < n {
		return fmt.Errorf("%d of %d executions of %s", got, n, name)
	}
	return nil
}

// TestPolicies: while no planner is at work jobs miss occurrences, and one runs
// longer than its period. Each does then what its policy says.
func TestPolicies(t *testing.T) {
	t.Parallel()
	redisURL, natsURL := servers(t)
	on, keys := []string{"--redis", redisURL, "--nats", natsURL}, keyFile(t)
	plan := append([]string{"planner", "--missed-after", "2s"}, on...)
	planner := carillon(t, plan...)
	carillon(t, "worker", "--keys", keys, "--nats", natsURL)
	server := carillon(t, append([]string{"apiserver", "--keys", keys, "--listen", "127.0.0.1:0", "--max-jobs", "1000", "--fastest", "1s"}, on...)...)
	api := server.said(t, `url=(http://\S+)`, 20*time.Second)
	s := &sink{calls: make(map[string][]time.Time), hold: make(chan struct{})}
	open := sync.OnceFunc(func() { close(s.hold) })
	target := httptest.NewServer(s)
	defer target.Close()
	defer open()

	put := func(path, body string) error {
		_, err := request(api, http.MethodPut, collections+path, body)
		return err
	}
	eventually(t, 20*time.Second, func() error { return put("c", fastCollection) })
	policies := map[string]string{
		"plain": ``, "all": `"policy":{"missed":"all"},`, "skip": `"policy":{"missed":"skip"},`, "queue": `"policy":{"overlap":"queue"},`,
	}
	for name, policy := range policies {
		if err := put("c/jobs/"+name, fmt.Sprintf(
			`{"properties":{%s"action":{"type":"Http","request":{"method":"GET","uri":%q}},"recurrence":{"frequency":"second","interval":1}}}`, policy, target.URL)); err != nil {
			t.Fatal(err)
		}
	}
	for name := range policies {
		eventually(t, 20*time.Second, func() error { return s.atLeast(1, name) })
	}
	if _, err := request(api, http.MethodPost, collections+"c/jobs/queue/run", ""); err == nil || !strings.Contains(err.Error(), "409") || !strings.Contains(err.Error(), "policy.overlap") {
		t.Errorf("a run request while a run is not finished: %v", err)
	}

	planner.kill()
	before := len(s.of("all"))
	away := time.Now()
	eventually(t, 20*time.Second, func() error {
		if time.Since(away) < 6*time.Second {
			return errors.New("not long enough")
		}
		return nil
	})
	carillon(t, plan...)
	for _, name := range []string{"plain", "all", "skip"} {
		eventually(t, 60*time.Second, func() error { return s.atLeast(before+9, name) })
	}
	open()
	eventually(t, 60*time.Second, func() error { return s.atLeast(4, "queue") })

	calls := s.of("all")
	slices.SortFunc(calls, time.Time.Compare)
	for i := range calls[1:] {
		if gap := calls[i+1].Sub(calls[i]); gap != time.Second {
			t.Errorf("all: %v after %v", gap, calls[i])
		}
	}
	if !slices.IsSortedFunc(s.of("queue"), time.Time.Compare) {
		t.Errorf("queue: %v", s.of("queue"))
	}
	if n := len(history(t, api, "c/jobs/all", "&$filter=status+eq+'Skipped'")); n > 0 {
		t.Errorf("all: %d rows of what did not run", n)
	}
	for _, name := range []string{"plain", "skip", "queue"} {
		rows := history(t, api, "c/jobs/"+name, "&$filter=status+eq+'Skipped'")
		if len(rows) == 0 || !strings.Contains(rows[len(rows)-1].Properties.Message, "missed while no planner was at work") {
			t.Errorf("%s: rows of what did not run: %+v", name, rows)
		}
		for _, r := range history(t, api, "c/jobs/"+name, "") {
			if strings.EqualFold(r.Properties.Status, "skipped") {
				t.Errorf("%s: a plain list has %+v", name, r)
			}
		}
	}
}
