package main

import (
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestProfiles: each server takes the settings of each profile, and a cluster
// runs on them.
func TestProfiles(t *testing.T) {
	redisPath, natsPath := program(t, "redis-server"), program(t, "nats-server")
	if redisPath == "" || natsPath == "" {
		t.Log("the profiles are for real servers only")
		return
	}
	for _, profile := range []string{"fast", "safe"} {
		t.Run(profile, func(t *testing.T) {
			redisAddress, natsAddress := freeAddress(t), freeAddress(t)
			_, port, _ := net.SplitHostPort(redisAddress)
			start(t, "redis-server", exec.Command(redisPath, filepath.Join("deploy", "redis", profile+".conf"), "--port", port, "--dir", t.TempDir()))
			eventually(t, 10*time.Second, func() error { return redisPing(redisAddress) })
			_, port, _ = net.SplitHostPort(natsAddress)
			start(t, "nats-server", exec.Command(natsPath, "-c", filepath.Join("deploy", "nats", profile+".conf"), "-p", port, "-sd", t.TempDir()))
			eventually(t, 10*time.Second, func() error {
				conn, err := net.DialTimeout("tcp", natsAddress, time.Second)
				if err == nil {
					conn.Close()
				}
				return err
			})
			on := []string{"--redis", "redis://" + redisAddress, "--nats", "nats://" + natsAddress}
			carillon(t, append([]string{"planner"}, on...)...)
			api := carillon(t, append([]string{"apiserver", "--keys", keyFile(t), "--listen", "127.0.0.1:0", "--fastest", "1s", "--max-jobs", "1000"}, on...)...).said(t, `url=(http://\S+)`, 20*time.Second)
			eventually(t, 20*time.Second, func() error {
				_, err := request(api, "PUT", collections+"c", fastCollection)
				return err
			})
		})
	}
}
