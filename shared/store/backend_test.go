package store_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/carillon-scheduler/carillon/shared/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A backend is a kind of Redis to run tests on.
type backend struct {
	name string
	// start runs one until the test ends and returns how to connect to it.
	start func(testing.TB) *redis.UniversalOptions
}

// backends returns the stand-in and, where there is a redis-server, the real
// thing, alone and as a cluster of one node.
func backends(t testing.TB) []backend {
	list := []backend{{"stand-in", standIn}}
	_, err := exec.LookPath("redis-server")
	switch {
	case err == nil:
		list = append(list, backend{"redis", single}, backend{"cluster", cluster})
	case os.Getenv("CI") != "" || os.Getenv("CARILLON_TEST_REDIS_SERVER") != "":
		t.Fatalf("a redis-server is needed here: %v", err)
	default:
		t.Log("there is no redis-server: only the stand-in is used")
	}
	return list
}

func standIn(t testing.TB) *redis.UniversalOptions {
	return &redis.UniversalOptions{Addrs: []string{miniredis.RunT(t).Addr()}}
}

func single(t testing.TB) *redis.UniversalOptions {
	return &redis.UniversalOptions{Addrs: []string{redisServer(t)}}
}

func cluster(t testing.TB) *redis.UniversalOptions {
	t.Helper()
	addr := redisServer(t, "--cluster-enabled", "yes")
	node := redis.NewClient(&redis.Options{Addr: addr})
	defer node.Close()
	if err := node.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	await(t, "the cluster", func() bool {
		info, err := node.ClusterInfo(t.Context()).Result()
		return err == nil && strings.Contains(info, "cluster_state:ok")
	})
	return &redis.UniversalOptions{Addrs: []string{addr}, IsClusterMode: true}
}

// redisServer starts a redis-server and returns its address.
func redisServer(t testing.TB, args ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	dir := t.TempDir()
	args = append([]string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no",
	}, args...)
	cmd := exec.Command("redis-server", args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer c.Close()
	await(t, "redis-server", func() bool { return c.Ping(t.Context()).Err() == nil })
	return addr
}

// connect returns a client to a Redis that it empties.
func connect(t testing.TB, o *redis.UniversalOptions) redis.UniversalClient {
	t.Helper()
	rdb := redis.NewUniversalClient(o)
	t.Cleanup(func() { rdb.Close() })
	var err error
	if c, ok := rdb.(*redis.ClusterClient); ok {
		err = c.ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error { return node.FlushAll(ctx).Err() })
	} else {
		err = rdb.FlushAll(t.Context()).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	return rdb
}

func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(20 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// shards is how many the stores of these tests have.
const shards = 4

// open returns a store on an empty Redis.
func open(t testing.TB, rdb redis.UniversalClient) *store.Store {
	t.Helper()
	s := store.New(rdb, shards)
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}
