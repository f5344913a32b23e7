package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// A pull receives messages of a consumer, never more than were asked for, so
// that none waits in this process while nobody keeps it from being delivered
// again. (The client library's iterators read ahead.) It lasts until something
// goes wrong with it, and is then replaced by another.
type pull struct {
	nc      *nats.Conn
	subject string // of requests
	sub     *nats.Subscription
	ended   chan struct{} // closed when no message comes any more
	quit    chan struct{}
	watched sync.WaitGroup

	// over is signaled when nothing is asked for any more, or a request ends short
	// of what it asked for.
	over chan struct{}
	// lost receives why the pull is of no more use.
	lost chan error

	expiry, heartbeat time.Duration

	mu      sync.Mutex
	asked   int // messages asked for and not received
	heard   time.Time
	refused int // requests that nobody took since something else was heard
}

const (
	// A request for messages ends after expiry, and another takes its place.
	expiry = 30 * time.Second
	// heartbeat is how often the broker has to say something while messages are
	// asked for. Its silence is borne two and a half times as long.
	heartbeat = 5 * time.Second
	// lingerFor is how long a pull waits for what it asked for before it ends.
	lingerFor = 300 * time.Millisecond
	// refusals is how often nobody may take a request, for a third of a second.
	refusals = 8
	// drainWithin is how long a pull's last messages may take to arrive.
	drainWithin = 5 * time.Second
)

var errSilent = errors.New("the broker is silent")

// newPull returns a pull that has asked for nothing. deliver is called with one
// message at a time.
func (q *Queue) newPull(stream, consumer string, deliver func(*nats.Msg)) (*pull, error) {
	p := &pull{
		nc:      q.nc,
		subject: "$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer,
		ended:   make(chan struct{}), quit: make(chan struct{}), over: make(chan struct{}, 1), lost: make(chan error, 1),
		expiry: q.expiry, heartbeat: q.heartbeat,
		heard: time.Now(),
	}
	var err error
	p.sub, err = q.nc.Subscribe(q.nc.NewInbox(), func(m *nats.Msg) {
		if p.hear(m) {
			deliver(m)
			p.received() // not before, so that what is counted there is not asked for twice
		}
	})
	if err != nil {
		return nil, err
	}
	_ = p.sub.SetPendingLimits(-1, -1) // bounded by what is asked for
	p.sub.SetClosedHandler(func(string) { close(p.ended) })
	p.watched.Go(p.watch)
	return p, nil
}

// want asks for as many messages as are missing to n. Unless nothing is asked
// for it may wait until a fair number is missing, since a broker bears few
// requests.
func (p *pull) want(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	missing := n - p.asked
	if missing <= 0 || (p.asked > 0 && missing < p.asked/2) {
		return
	}
	request, err := json.Marshal(struct {
		Batch     int           `json:"batch"`
		Expires   time.Duration `json:"expires"`
		Heartbeat time.Duration `json:"idle_heartbeat"`
	}{missing, p.expiry, p.heartbeat})
	if err == nil {
		err = p.nc.PublishRequest(p.subject, p.sub.Subject, request)
	}
	if err != nil {
		p.lose(err)
		return
	}
	if p.asked == 0 {
		p.heard = time.Now()
	}
	p.asked += missing
}

// hear takes note of what the broker says. It reports whether it is a message.
func (p *pull) hear(m *nats.Msg) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = time.Now()
	status := m.Header.Get("Status")
	if status != "503" {
		p.refused = 0
	}
	if len(m.Data) > 0 || status == "" {
		return true
	}
	switch status {
	case "100": // heartbeat
	case "404", "408": // a request has ended
		left, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
		if err != nil {
			p.lose(fmt.Errorf("%s %s", status, m.Header.Get("Description")))
			return false
		}
		p.asked = max(p.asked-left, 0)
		signal(p.over)
	case "503": // in a cluster a new consumer takes a moment to be known everywhere
		p.asked = 0
		if p.refused++; p.refused > refusals {
			p.lose(nats.ErrNoResponders)
		} else {
			time.AfterFunc(time.Duration(p.refused)*10*time.Millisecond, func() { signal(p.over) })
		}
	default:
		p.lose(fmt.Errorf("%s %s", status, m.Header.Get("Description")))
	}
	return false
}

// received takes note of a message that was delivered.
func (p *pull) received() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked = max(p.asked-1, 0); p.asked == 0 {
		signal(p.over)
	}
}

// signal wakes who waits for c, which holds one signal.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (p *pull) lose(err error) {
	select {
	case p.lost <- err:
	default: // it is known already
	}
}

// watch sees to it that silence is noticed.
func (p *pull) watch() {
	tick := time.NewTicker(p.heartbeat / 2)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case now := <-tick.C:
			p.mu.Lock()
			silent := p.asked > 0 && now.Sub(p.heard) > 5*p.heartbeat/2
			p.mu.Unlock()
			if silent {
				p.lose(errSilent)
			}
		}
	}
}

// linger blocks until all that was asked for has been delivered, for a while. In
// a cluster, what is sent after a subscription ends and before the consumer's
// server hears of it is lost, and delivered again only much later.
func (p *pull) linger() {
	if p.nc.ConnectedClusterName() == "" {
		return // one server, which knows at once
	}
	t := time.NewTimer(lingerFor)
	defer t.Stop()
	for {
		p.mu.Lock()
		asked := p.asked
		p.mu.Unlock()
		if asked <= 0 {
			return
		}
		select {
		case <-t.C:
			return
		case err := <-p.lost:
			p.lose(err)
			return
		case <-p.over:
		}
	}
}

// stop ends the pull and blocks until the last message has been delivered.
func (p *pull) stop() {
	close(p.quit)
	p.watched.Wait()
	if !p.nc.IsConnected() || p.sub.Drain() != nil {
		_ = p.sub.Unsubscribe()
	}
	t := time.NewTimer(drainWithin)
	defer t.Stop()
	select {
	case <-p.ended:
		return
	case <-t.C:
	}
	_ = p.sub.Unsubscribe()
	<-p.ended
}
