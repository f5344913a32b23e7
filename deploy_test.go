package main

import (
	"os"
	"testing"
	"time"
)

// TestProfiles: a cluster runs on servers with the settings of each profile, and
// loses nothing when what may be killed is killed with SIGKILL in the middle of
// work: each occurrence is executed and counted once, and is in the history. (A
// worker's crash, or that of NATS, may have an attempt performed again. A power
// failure is more than that: what the system has not written to disk is gone too,
// which no test here can bring about.)
func TestProfiles(t *testing.T) {
	for _, profile := range []string{"fast", "safe"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t, profile)
			if c == nil {
				return
			}
			faults := []struct {
				name string
				do   func()
			}{
				{"planner, worker and API server killed", func() {
					for _, p := range []*process{c.planner, c.worker, c.server} {
						p.kill()
					}
					c.crashes++
					c.plan()
					c.work()
					c.serve()
				}},
				{"redis-server killed", func() { c.redis.kill(); c.startRedis() }},
				{"nats-server killed", func() { c.crashes++; c.nats.kill(); c.startNATS("") }},
				{"both servers killed at once", func() {
					c.crashes++
					c.redis.Process.Kill()
					c.nats.kill()
					c.redis.kill()
					c.startRedis()
					c.startNATS("")
				}},
				{"all that Redis holds lost", func() {
					c.redis.kill()
					c.must(os.RemoveAll(c.redisDir))
					c.must(os.Mkdir(c.redisDir, 0o700))
					c.startRedis()
				}},
			}
			c.schedule(4 * len(faults))
			for i, fault := range faults {
				eventually(t, 60*time.Second, func() error { return atLeast(c.called(), (4*i+2)*crowdJobs) })
				t.Log(fault.name)
				fault.do()
			}
			c.finish()
		})
	}
}
