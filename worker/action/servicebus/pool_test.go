package servicebus

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// tracker makes connections that are none, and counts them.
type tracker struct{ made, closed atomic.Int64 }

func (tr *tracker) connect(context.Context) (*connection, error) {
	tr.made.Add(1)
	return &connection{line: &line{conn: &trackedConn{tracker: tr}}}, nil
}

type trackedConn struct {
	net.Conn
	tracker *tracker
	once    sync.Once
}

func (c *trackedConn) Close() error {
	c.once.Do(func() { c.tracker.closed.Add(1) })
	return nil
}

// check waits until all that is under way is over, then compares.
func (tr *tracker) check(t *testing.T, when string, made, closed int64) {
	t.Helper()
	synctest.Wait()
	if tr.made.Load() != made || tr.closed.Load() != closed {
		t.Errorf("%s: %d made, %d closed; want %d, %d", when, tr.made.Load(), tr.closed.Load(), made, closed)
	}
}

func use(t *testing.T, p *pool, tr *tracker, entity string) *lease {
	t.Helper()
	l, err := p.acquire(t.Context(), key{entity: entity}, tr.connect)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestPoolClosesWhatIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, tr := newPool(9, time.Minute), new(tracker)
		p.release(use(t, p, tr, "a"), true)
		time.Sleep(59 * time.Second)
		tr.check(t, "before its time", 1, 0)
		l := use(t, p, tr, "a")
		time.Sleep(2 * time.Minute)
		tr.check(t, "in use", 1, 0)
		p.release(l, true)
		time.Sleep(59 * time.Second)
		tr.check(t, "used again", 1, 0)
		time.Sleep(time.Second)
		tr.check(t, "idle", 1, 1)
		if err := p.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// However much it is used, a connection is replaced before azservicebus would
// renew its tokens; and an idle one does not outlive that either.
func TestPoolReplacesWhatIsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, tr := newPool(9, time.Hour), new(tracker)
		for range 5 {
			p.release(use(t, p, tr, "a"), true)
			time.Sleep(lifetime/4 + time.Second)
		}
		tr.check(t, "used all the time", 2, 1)
		old := use(t, p, tr, "a")
		time.Sleep(lifetime)
		p.release(use(t, p, tr, "a"), true)
		tr.check(t, "old, but in use", 3, 1)
		p.release(old, true)
		tr.check(t, "old, and released", 3, 2)
		time.Sleep(lifetime)
		tr.check(t, "old, and idle", 3, 3)
	})
}

func TestPoolEvictsTheLeastRecentlyUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, tr := newPool(2, time.Minute), new(tracker)
		a := use(t, p, tr, "a")
		for _, entity := range []string{"b", "c", "b", "c"} {
			time.Sleep(time.Second)
			p.release(use(t, p, tr, entity), true)
		}
		tr.check(t, "a in use, b and c in turn", 5, 3)
		b, c := use(t, p, tr, "b"), use(t, p, tr, "c")
		tr.check(t, "more in use than may be kept", 7, 4)
		p.release(a, true)
		tr.check(t, "one released", 7, 5)
		p.release(b, true)
		p.release(c, true)
		tr.check(t, "all released", 7, 5)
		if err := p.close(t.Context()); err != nil {
			t.Error(err)
		}
		tr.check(t, "closed", 7, 7)
	})
}

// What is of no use any more is closed when nobody uses it, and not given to
// others.
func TestPoolDropsWhatIsUseless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, tr := newPool(9, time.Minute), new(tracker)
		one, two := use(t, p, tr, "a"), use(t, p, tr, "a")
		p.release(one, false)
		tr.check(t, "still in use", 1, 0)
		three := use(t, p, tr, "a")
		tr.check(t, "another", 2, 0)
		p.release(two, true)
		tr.check(t, "released by all", 2, 1)
		p.release(three, true)
		time.Sleep(time.Minute)
		tr.check(t, "idle", 2, 2)
	})
}

// What comes of making a connection is shared by all who wait for it.
func TestPoolSharesAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, tr := newPool(9, time.Minute), new(tracker)
		answer := make(chan struct{})
		refused := errors.New("refused")
		connect := func(ctx context.Context) (*connection, error) {
			c, _ := tr.connect(ctx)
			<-answer
			return c, refused
		}
		var failed atomic.Int64
		for range 5 {
			go func() {
				if _, err := p.acquire(t.Context(), key{}, connect); errors.Is(err, refused) {
					failed.Add(1)
				}
			}()
		}
		synctest.Wait()
		close(answer)
		tr.check(t, "one attempt for all", 1, 1)
		if failed.Load() != 5 {
			t.Errorf("%d of 5 heard of it", failed.Load())
		}
		p.release(use(t, p, tr, ""), true)
		tr.check(t, "not kept", 2, 1)
		if err := p.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Who makes a connection may be cancelled: that is nothing to those who wait.
func TestPoolDoesNotShareACancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, tr := newPool(9, time.Minute), new(tracker)
		first, cancel := context.WithCancel(t.Context())
		hang := func(ctx context.Context) (*connection, error) {
			c, _ := tr.connect(ctx)
			<-ctx.Done()
			return c, ctx.Err()
		}
		errs := make(chan error, 1)
		go func() {
			_, err := p.acquire(first, key{}, hang)
			errs <- err
		}()
		synctest.Wait()
		impatient, giveUp := context.WithTimeout(t.Context(), time.Second)
		defer giveUp()
		if _, err := p.acquire(impatient, key{}, tr.connect); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who does not wait: %v", err)
		}
		tr.check(t, "one made it, one waited", 1, 0)
		got := make(chan *lease, 1)
		go func() {
			l, err := p.acquire(t.Context(), key{}, tr.connect)
			if err != nil {
				t.Errorf("who waits: %v", err)
			}
			got <- l
		}()
		synctest.Wait()
		cancel()
		p.release(<-got, true)
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("who was cancelled: %v", err)
		}
		tr.check(t, "the next made its own", 2, 1)
		if err := p.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A once ends when another context is derived from it, and knows what came first.
func TestOnce(t *testing.T) {
	for _, test := range []struct {
		name  string
		use   func(o *once)
		tried bool
		ended bool
	}{
		{"unused", func(*once) {}, false, false},
		{"sending", func(o *once) { o.Done(); o.Deadline(); _ = o.Err() }, true, false},
		{"derived at once", func(o *once) { derive(o) }, false, true},
		{"derived after sending", func(o *once) { o.Done(); derive(o) }, true, true},
	} {
		parent, cancel := context.WithTimeout(t.Context(), time.Hour)
		o := newOnce(parent)
		test.use(o)
		if o.tried() != test.tried || (o.Err() != nil) != test.ended {
			t.Errorf("%s: tried %v, %v", test.name, o.tried(), o.Err())
		}
		cancel()
		<-o.Done()
	}
}

// derive derives a context as azservicebus does to close a link; it must have
// ended before it began.
func derive(o *once) {
	ctx, cancel := context.WithTimeout(o, time.Minute)
	defer cancel()
	<-ctx.Done()
}

// azservicebus dials again in the background when it cannot renew a token, over
// and over unless it hears that this is of no use.
func TestLineIsDialledOnce(t *testing.T) {
	tr := new(tracker)
	l := &line{dial: func(context.Context) (net.Conn, error) { return &trackedConn{tracker: tr}, nil }}
	if _, err := l.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := l.open(t.Context())
	type final interface {
		error
		NonRetriable()
	}
	if _, ok := errors.AsType[final](err); !ok {
		t.Errorf("%v", err)
	}
	l.close()
	if l.fault() != nil || tr.closed.Load() != 1 {
		t.Errorf("%v, %d closed", l.fault(), tr.closed.Load())
	}
}
