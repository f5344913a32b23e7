package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
)

const (
	planners, workers, apiservers = 3, 3, 2
	// concurrency is how many actions a worker performs at once: so many, times
	// workers, are under way when something breaks.
	concurrency = 32
	// shards are few, so that each planner has some that something happens in.
	shards = 4
)

// layout says what a cluster is made of.
type layout struct {
	binary     string
	natsNodes  int           // 1 or 3; streams have as many replicas
	watchAfter time.Duration // planners' setting; default 5 s
	skewed     string        // process whose clock is wrong; empty: none
	skew       time.Duration // by how much
	disk       string        // the server that gets a small disk: redis or nats1
}

// programs are what the suite runs.
type programs struct{ root, redis, nats string }

// cluster is Carillon with everything it stands on.
type cluster struct {
	layout
	programs
	dir     string
	starter starter
	ports   *ports
	net     *network
	front   *http.Server // before the API servers
	frontAt string

	all   []*process // in the order in which they are started
	named map[string]*process

	redisAt, targetAt, targetVia string
	natsAt                       []string
	unmount                      func() error

	rdb *redis.Client
	nc  *nats.Conn
	js  jetstream.JetStream
}

// startCluster starts a cluster with its files in dir, and returns when it is
// ready.
func startCluster(ctx context.Context, dir string, p programs, s starter, l layout) (_ *cluster, err error) {
	c := &cluster{
		layout: l, programs: p, dir: dir, starter: s, ports: newPorts(), net: newNetwork(),
		named: make(map[string]*process), unmount: func() error { return nil },
	}
	c.watchAfter = cmp.Or(c.watchAfter, 5*time.Second)
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	if err := c.startServers(ctx); err != nil {
		return nil, err
	}
	if err := c.startRoles(ctx); err != nil {
		return nil, err
	}
	c.targetAt = c.ports.next()
	c.targetVia, err = c.net.connect("worker", "target", c.ports.next(), c.targetAt)
	return c, err
}

// startServers starts Redis and NATS.
func (c *cluster) startServers(ctx context.Context) error {
	c.redisAt = c.ports.next()
	for _, name := range []string{"redis", "nats1", "nats2", "nats3"} {
		if err := os.MkdirAll(c.dataOf(name), 0o700); err != nil {
			return err
		}
	}
	if c.disk != "" {
		var err error
		if c.unmount, err = smallDisk(c.dataOf(c.disk)); err != nil {
			return err
		}
	}
	_, port, _ := strings.Cut(c.redisAt, ":")
	c.add("redis", c.programs.redis, "--port", port, "--bind", "127.0.0.1", "--dir", c.dataOf("redis"),
		"--save", "", "--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction")
	if err := c.addNATS(); err != nil {
		return err
	}
	for _, p := range c.all {
		if err := p.start(c.starter); err != nil {
			return err
		}
	}
	redis.SetLogger(silence{}) // it is down now and then, as it should
	c.rdb = redis.NewClient(&redis.Options{Addr: c.redisAt})
	var err error
	c.nc, err = nats.Connect(strings.Join(c.natsAt, ","), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		return fmt.Errorf("connect to nats: %w", err)
	}
	if c.js, err = jetstream.New(c.nc); err != nil {
		return err
	}
	return c.serversReady(ctx)
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// serversReady waits until Redis and NATS answer.
func (c *cluster) serversReady(ctx context.Context) error {
	return eventually(ctx, 30*time.Second, func(ctx context.Context) error {
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := c.rdb.Ping(short).Err(); err != nil {
			return fmt.Errorf("redis: %w", err)
		}
		if _, err := c.js.AccountInfo(short); err != nil {
			return fmt.Errorf("nats: %w", err)
		}
		return nil
	})
}

// addNATS adds the nodes of NATS. Nodes tell clients nothing of each other:
// every connection is to pass a proxy.
func (c *cluster) addNATS() error {
	var routes, routesAt []string
	for range c.natsNodes {
		c.natsAt = append(c.natsAt, c.ports.next())
		at := c.ports.next()
		routes, routesAt = append(routes, "nats://"+at), append(routesAt, at)
	}
	for i := range c.natsNodes {
		name := "nats" + strconv.Itoa(i+1)
		text := fmt.Sprintf("server_name: %s\nlisten: %s\njetstream { store_dir: %q, max_file_store: 16GB }\n", name, c.natsAt[i], c.dataOf(name))
		if c.natsNodes > 1 {
			text += fmt.Sprintf("cluster { name: faults, listen: %s, no_advertise: true, routes: [%s] }\n", routesAt[i], strings.Join(routes, ", "))
		}
		conf := filepath.Join(c.dir, name+".conf")
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			return err
		}
		c.add(name, c.programs.nats, "-c", conf)
	}
	return nil
}

// startRoles starts planners, workers and API servers.
func (c *cluster) startRoles(ctx context.Context) error {
	keys := &process{name: "keys", path: c.binary, args: []string{"keys", "new", filepath.Join(c.dir, "keys.json")}, log: filepath.Join(c.dir, "keys.log")}
	if err := keys.start(c.starter); err != nil {
		return err
	}
	keys.wait(10 * time.Second)
	var ready []string
	for _, role := range []struct {
		name string
		n    int
	}{{"planner", planners}, {"worker", workers}, {"apiserver", apiservers}} {
		for i := range role.n {
			at, err := c.addRole(role.name, i+1)
			if err != nil {
				return err
			}
			ready = append(ready, at)
		}
	}
	for _, p := range c.all {
		if err := p.start(c.starter); err != nil {
			return err
		}
	}
	c.startFront(ready[planners+workers:])
	for _, at := range ready {
		err := eventually(ctx, 30*time.Second, func(ctx context.Context) error { return isReady(ctx, "http://"+at) })
		if err != nil {
			return fmt.Errorf("carillon is not ready: %w", err)
		}
	}
	return nil
}

// addRole adds a process of Carillon with a proxy on each of its connections, and
// returns the address that tells whether it is ready.
func (c *cluster) addRole(role string, number int) (at string, err error) {
	name := role + strconv.Itoa(number)
	var urls []string
	for i, upstream := range c.natsAt {
		via, err := c.net.connect(name, "nats"+strconv.Itoa(i+1), c.ports.next(), upstream)
		if err != nil {
			return "", err
		}
		urls = append(urls, "nats://"+via)
	}
	at = c.ports.next()
	args := []string{role, "--nats", strings.Join(urls, ","), "--shards", strconv.Itoa(shards), "--replicas", strconv.Itoa(c.natsNodes)}
	if role != "worker" {
		via, err := c.net.connect(name, "redis", c.ports.next(), c.redisAt)
		if err != nil {
			return "", err
		}
		args = append(args, "--redis", "redis://"+via)
	}
	switch role {
	case "planner":
		args = append(args, "--admin-listen", at, "--watch-after", c.watchAfter.String(), "--log-level", "debug")
	case "worker":
		args = append(args, "--admin-listen", at, "--keys", filepath.Join(c.dir, "keys.json"),
			"--concurrency", strconv.Itoa(concurrency), "--http-timeout", "5s", "--grace", "5s")
	case "apiserver":
		args = append(args, "--listen", at, "--keys", filepath.Join(c.dir, "keys.json"),
			"--max-jobs", "1000", "--fastest", "1s", "--min-retry-interval", "1s")
	}
	p := c.add(name, c.binary, args...)
	if c.skewed == name {
		p.env = []string{fmt.Sprintf("%s=%d", skewVariable, int(c.skew.Seconds()))}
	}
	return at, nil
}

func (c *cluster) add(name, path string, args ...string) *process {
	p := &process{name: name, path: path, args: args, log: filepath.Join(c.dir, name+".log")}
	c.all, c.named[name] = append(c.all, p), p
	return p
}

// dataOf is the folder where a server keeps its data.
func (c *cluster) dataOf(server string) string { return filepath.Join(c.dir, server) }

// close ends everything at once. What was written stays.
func (c *cluster) close() error {
	for _, p := range c.all {
		p.signal(syscall.SIGKILL)
	}
	for _, p := range c.all {
		p.wait(10 * time.Second)
	}
	if c.nc != nil {
		c.nc.Close()
	}
	var errs []error
	if c.rdb != nil {
		errs = append(errs, c.rdb.Close())
	}
	if c.front != nil {
		errs = append(errs, c.front.Close())
	}
	c.net.close()
	return errors.Join(append(errs, c.unmount())...)
}

// isReady returns nil if a role says that it is ready.
func isReady(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}
