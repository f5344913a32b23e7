package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"syscall"
	"time"

	"github.com/Shopify/toxiproxy/v2"
)

// fault is a kind of thing that breaks.
type fault struct {
	name string
	// whom returns what it may happen to, in a cluster with so many NATS nodes.
	whom func(natsNodes int) []string
	// least and most are how long it lasts.
	least, most time.Duration
	cost        cost
	// begin breaks something, and returns how to mend it.
	begin func(ctx context.Context, c *cluster, e *event) (end func(context.Context) error, err error)
	disk  bool // needs a small disk
}

// cost is what a fault may bring about, rightly.
type cost struct {
	// again: what is under way may be performed once more, under the same tag.
	again bool
	// unanswered: attempts may fail without an answer.
	unanswered bool
	// halted: the requests that one worker has open may run out of time.
	halted bool
	// stateLost: Redis may come back empty, or older.
	stateLost bool
}

// event is a fault of a schedule.
type event struct {
	fault *fault
	who   string
	at    time.Duration // after the load began
	lasts time.Duration

	beganAt, endedAt time.Time // when it was carried out
}

func (e *event) String() string {
	return fmt.Sprintf("%5.1fs  %s %s for %.1fs", e.at.Seconds(), e.fault.name, e.who, e.lasts.Seconds())
}

func each(name string, n int) func(int) []string {
	return func(int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = name + strconv.Itoa(i+1)
		}
		return list
	}
}

func only(names ...string) func(int) []string { return func(int) []string { return names } }

func nodes(n int) []string { return each("nats", n)(n) }

// pairs are the connections that there are.
func pairs(int) []string {
	var list []string
	for _, role := range []struct {
		name string
		n    int
	}{{"planner", planners}, {"worker", workers}, {"apiserver", apiservers}} {
		for i := range role.n {
			list = append(list, role.name+strconv.Itoa(i+1)+"-nats")
			if role.name != "worker" {
				list = append(list, role.name+strconv.Itoa(i+1)+"-redis")
			}
		}
	}
	return append(list, "planner-redis", "planner-nats", "worker-nats", "apiserver-redis", "apiserver-nats")
}

// faults are all kinds. Their order is part of what a seed means.
func faults() []*fault {
	var list []*fault
	list = append(list, processFaults()...)
	list = append(list, stateFaults()...)
	return append(list, networkFaults()...)
}

// ackWait is how long a worker may be silent before what it has goes to another.
const ackWait = 10 * time.Second

func processFaults() []*fault {
	const ms = time.Millisecond
	again := cost{again: true}
	return []*fault{
		{name: killPlanner, whom: each("planner", planners), least: 0, most: 5 * time.Second, begin: kill},
		{name: "kill worker", whom: each("worker", workers), least: 0, most: 3 * time.Second, begin: kill, cost: again},
		{name: "kill apiserver", whom: each("apiserver", apiservers), least: 0, most: 3 * time.Second, begin: kill},
		{name: "kill redis", whom: only("redis"), least: 0, most: 3 * time.Second, begin: kill, cost: again},
		{name: "kill nats", whom: nodes, least: 0, most: 4 * time.Second, begin: kill, cost: again},
		{name: "pause planner", whom: each("planner", planners), least: 3500 * ms, most: 6 * time.Second, begin: pause},
		{name: "pause worker", whom: each("worker", workers), least: ackWait + 500*ms, most: ackWait + 3*time.Second, begin: pause, cost: cost{again: true, halted: true}},
		{name: "pause apiserver", whom: each("apiserver", apiservers), least: time.Second, most: 6 * time.Second, begin: pause},
		{name: "pause redis", whom: only("redis"), least: time.Second, most: 6 * time.Second, begin: pause, cost: again},
		{name: "pause nats", whom: nodes, least: time.Second, most: 6 * time.Second, begin: pause, cost: again},
		{name: "slow disk", whom: func(n int) []string { return append(nodes(n), "redis") }, least: 2 * time.Second, most: 5 * time.Second, begin: stutter, cost: again},
		{name: "restart all", whom: only("one by one"), begin: restartAll, cost: again},
	}
}

// killPlanner is the fault whose recovery is held to a bound.
const killPlanner = "kill planner"

func kill(_ context.Context, c *cluster, e *event) (func(context.Context) error, error) {
	p := c.named[e.who]
	p.kill()
	return func(context.Context) error { return p.start(c.starter) }, nil
}

func pause(_ context.Context, c *cluster, e *event) (func(context.Context) error, error) {
	p := c.named[e.who]
	p.signal(syscall.SIGSTOP)
	return func(context.Context) error { p.signal(syscall.SIGCONT); return nil }, nil
}

// stutter halts a server most of the time, as one that waits for its disk.
func stutter(ctx context.Context, c *cluster, e *event) (func(context.Context) error, error) {
	p := c.named[e.who]
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer p.signal(syscall.SIGCONT)
		for sleep(ctx, 50*time.Millisecond) {
			p.signal(syscall.SIGSTOP)
			sleep(ctx, 200*time.Millisecond)
			p.signal(syscall.SIGCONT)
		}
	}()
	return func(context.Context) error { cancel(); <-done; return nil }, nil
}

// restartAll stops and starts each process in turn, as an operator does.
func restartAll(ctx context.Context, c *cluster, _ *event) (func(context.Context) error, error) {
	for _, p := range c.all {
		if err := p.stop(15 * time.Second); err != nil {
			return nil, err
		}
		if err := p.start(c.starter); err != nil {
			return nil, err
		}
		if err := c.serversReady(ctx); err != nil {
			return nil, err
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return nil, context.Cause(ctx)
		}
	}
	return nothing, nil
}

func nothing(context.Context) error { return nil }

func networkFaults() []*fault {
	again, unanswered := cost{again: true}, cost{unanswered: true}
	slow := func(attributes map[string]int) func(context.Context, *cluster, *event) (func(context.Context) error, error) {
		return toxics(both("latency", attributes)...)
	}
	target := func(name string, list ...toxic) *fault {
		return &fault{name: "target " + name, whom: only("worker-target"), least: time.Second, most: 3 * time.Second, cost: unanswered, begin: toxics(list...)}
	}
	return []*fault{
		{name: "cut", whom: pairs, least: 0, most: 6 * time.Second, cost: again, begin: cutPair},
		{name: "blackhole", whom: pairs, least: time.Second, most: 6 * time.Second, cost: again, begin: toxics(both("timeout", map[string]int{"timeout": 0})...)},
		{name: "slow link", whom: pairs, least: 2 * time.Second, most: 6 * time.Second, cost: again, begin: slow(map[string]int{"latency": 200, "jitter": 150})},
		{name: "flapping link", whom: pairs, least: 2 * time.Second, most: 6 * time.Second, cost: again, begin: flap},
		target("hangs", both("timeout", map[string]int{"timeout": 0})...),
		target("resets", toxic{Type: "reset_peer", Stream: "downstream", Attributes: map[string]int{"timeout": 0}}),
		target("trickles", toxic{Type: "slicer", Stream: "downstream", Attributes: map[string]int{"average_size": 8, "size_variation": 4, "delay": 100_000}}),
		{name: "target cut", whom: only("worker-target"), least: 0, most: 2 * time.Second, cost: unanswered, begin: cutPair},
	}
}

func (c *cluster) pair(e *event) ([]*toxiproxy.Proxy, error) {
	from, to, _ := cutName(e.who)
	list := c.net.between(from, to)
	if len(list) == 0 {
		return nil, fmt.Errorf("there is nothing between %s", e.who)
	}
	return list, nil
}

func cutPair(_ context.Context, c *cluster, e *event) (func(context.Context) error, error) {
	list, err := c.pair(e)
	if err != nil {
		return nil, err
	}
	mend := cut(list)
	return func(context.Context) error { return mend() }, nil
}

// flap resets the connections again and again, while answers take a little: so
// much of what was asked is done, and whoever asked does not hear of it.
func flap(ctx context.Context, c *cluster, e *event) (func(context.Context) error, error) {
	slow, err := toxics(both("latency", map[string]int{"latency": 30})...)(ctx, c, e)
	if err != nil {
		return nil, err
	}
	list, err := c.pair(e)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		var err error
		for err == nil && sleep(ctx, 500*time.Millisecond) {
			err = cut(list)()
		}
		done <- err
	}()
	return func(ctx context.Context) error { cancel(); return errors.Join(<-done, slow(ctx)) }, nil
}

func toxics(list ...toxic) func(context.Context, *cluster, *event) (func(context.Context) error, error) {
	return func(_ context.Context, c *cluster, e *event) (func(context.Context) error, error) {
		proxies, err := c.pair(e)
		if err != nil {
			return nil, err
		}
		mend, err := poison(proxies, e.name(), append([]toxic(nil), list...)...)
		if err != nil {
			return nil, err
		}
		return func(context.Context) error { return mend() }, nil
	}
}

// name is a name that no other event of a schedule has.
func (e *event) name() string { return fmt.Sprintf("%s-%s-%d", e.fault.name, e.who, e.at) }

// sleep waits. It reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// between returns any time between two.
func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)+1))
}
