package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestServersGoAway: a server that goes away after the start is waited for,
// /readyz says so, nothing crashes, and then all goes on.
func TestServersGoAway(t *testing.T) {
	t.Parallel()
	redisPath, natsPath := program(t, "redis-server"), program(t, "nats-server")
	if redisPath == "" || natsPath == "" {
		t.Log("nothing to take away and bring back: the embedded parts end with their process")
		return
	}
	redisAddress, redisDir := freeAddress(t), t.TempDir()
	natsAddress, natsDir := freeAddress(t), t.TempDir()
	redisServer, natsServer := redisAt(t, redisPath, redisAddress, redisDir), natsAt(t, natsPath, natsAddress, natsDir)

	on := []string{"--redis", "redis://" + redisAddress, "--nats", "nats://" + natsAddress}
	keys, plannerAdmin, workerAdmin := keyFile(t), freeAddress(t), freeAddress(t)
	roles := []*process{
		carillon(t, append([]string{"planner", "--admin-listen", plannerAdmin}, on...)...),
		carillon(t, "worker", "--keys", keys, "--admin-listen", workerAdmin, "--nats", "nats://"+natsAddress),
		carillon(t, append([]string{"apiserver", "--keys", keys, "--listen", "127.0.0.1:0", "--max-jobs", "1000", "--fastest", "1s"}, on...)...),
	}
	api := roles[2].said(t, `url=(http://\S+)`, 20*time.Second)
	// ready waits until all roles that need what is named say that they are
	// ready, or that they are not and why.
	ready := func(want int, what string, urls ...string) {
		t.Helper()
		for _, url := range urls {
			eventually(t, 30*time.Second, func() error {
				resp, err := http.Get(url + "/readyz")
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				if err == nil && (resp.StatusCode != want || !strings.Contains(string(body), what)) {
					err = fmt.Errorf("%s/readyz: %s: %s", url, resp.Status, body)
				}
				return err
			})
		}
	}
	planner, worker := "http://"+plannerAdmin, "http://"+workerAdmin
	ready(http.StatusOK, "", api, planner, worker)

	var calls atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	defer target.Close()
	for _, put := range []struct{ path, body string }{
		{"c", fastCollection},
		{"c/jobs/j", fmt.Sprintf(`{"properties":{"action":{"type":"Http","request":{"method":"GET","uri":%q}},"recurrence":{"frequency":"second","interval":1}}}`, target.URL)},
	} {
		eventually(t, 20*time.Second, func() error {
			_, err := request(api, http.MethodPut, collections+put.path, put.body)
			return err
		})
	}
	goesOn := func() {
		t.Helper()
		was := calls.Load()
		eventually(t, 30*time.Second, func() error {
			if n := calls.Load(); n < was+2 {
				return fmt.Errorf("called %d times since", n-was)
			}
			return nil
		})
	}
	goesOn()

	redisServer.kill()
	ready(http.StatusServiceUnavailable, "redis", api, planner)
	ready(http.StatusOK, "", worker)
	if resp, err := http.Get(api + collections + "c?api-version=2016-03-01"); err != nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a read without redis: %v, %v; want 503", resp, err)
	} else {
		resp.Body.Close()
	}
	redisAt(t, redisPath, redisAddress, redisDir)
	ready(http.StatusOK, "", api, planner)
	goesOn()

	natsServer.kill()
	ready(http.StatusServiceUnavailable, "nats", api, planner, worker)
	natsAt(t, natsPath, natsAddress, natsDir)
	ready(http.StatusOK, "", api, planner, worker)
	goesOn()

	for _, p := range roles {
		if code := p.stop(t, 10*time.Second); code != 0 {
			t.Errorf("%s: exit %d", p.name, code)
		}
	}
}
