package servicebus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
	"github.com/carillon-scheduler/carillon/worker/action/bustest"
	"github.com/carillon-scheduler/carillon/worker/action/servicebus"
)

// Attempts at the same time on one entity share one connection and one link.
func TestManyAtOnceShareAConnection(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { deliver(t, a, newDispatch(s.Address(), "q")) })
	}
	wg.Wait()
	if _, made := s.Connections(); made != 1 || s.Links() != 1 || len(s.Messages()) != 50 {
		t.Errorf("%d connections, %d links, %d messages", made, s.Links(), len(s.Messages()))
	}
}

// What differs in namespace, entity, key name or key shares nothing: a key that
// was changed is used at once, and the old right is not.
func TestKeysAreNotShared(t *testing.T) {
	const next = "the next key"
	s := newPeer(t, bustest.Config{Keys: map[string]string{keyName: secret, "next": next}})
	a := newAction(t, servicebus.Config{})
	deliver(t, a, newDispatch(s.Address(), "q"))
	for i, change := range []func(*job.ServiceBusMessage){
		func(m *job.ServiceBusMessage) { m.Entity = "r" },
		func(m *job.ServiceBusMessage) { m.SASKeyName, m.SASKey = "next", next },
	} {
		d := newDispatch(s.Address(), "q")
		change(d.Action.Bus)
		deliver(t, a, d)
		if _, made := s.Connections(); made != i+2 {
			t.Errorf("%d connections", made)
		}
	}
	d := newDispatch(s.Address(), "q")
	d.Action.Bus.SASKey = "a wrong key"
	if r := do(t, a, d); r.Outcome != job.Failed || !strings.Contains(r.Message, "Unauthorized ") {
		t.Errorf("%s: %s", r.Outcome, r.Message)
	}
}

// No more connections are kept than may be; the least recently used go first.
func TestEviction(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{MaxConnections: 2})
	for _, entity := range []string{"a", "b", "a", "c"} { // c takes the place of b
		deliver(t, a, newDispatch(s.Address(), entity))
	}
	open(t, s, 2)
	if _, made := s.Connections(); made != 3 {
		t.Errorf("%d connections", made)
	}
	deliver(t, a, newDispatch(s.Address(), "a"))
	if _, made := s.Connections(); made != 3 {
		t.Errorf("a was closed: %d connections", made)
	}
	deliver(t, a, newDispatch(s.Address(), "b"))
	if _, made := s.Connections(); made != 4 {
		t.Errorf("b was not closed: %d connections", made)
	}
	open(t, s, 2)
}

// A connection in use is not closed for another's sake.
func TestEvictionSparesWhatIsInUse(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{MaxConnections: 1})
	s.Behave("hanging", bustest.Behavior{Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	var hung action.Report
	var wg sync.WaitGroup
	wg.Go(func() { hung = a.Do(ctx, newDispatch(s.Address(), "hanging")) })
	eventually(t, func() error {
		if s.Links() < 1 {
			return errYet
		}
		return nil
	})
	for range 3 {
		deliver(t, a, newDispatch(s.Address(), "q"))
	}
	if n, _ := s.Connections(); n < 1 {
		t.Errorf("%d connections", n)
	}
	cancel()
	wg.Wait()
	if !strings.Contains(hung.Message, "RequestCanceled") {
		t.Errorf("%s", hung.Message)
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{IdleTimeout: 20 * time.Millisecond})
	for range 2 {
		deliver(t, a, newDispatch(s.Address(), "q"))
		open(t, s, 0)
	}
}

// Close lets attempts finish, and says goodbye.
func TestCloseWaitsForAttempts(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{Timeout: time.Second})
	s.Behave("hanging", bustest.Behavior{Hang: true})
	deliver(t, a, newDispatch(s.Address(), "q"))
	done := make(chan action.Report, 1)
	go func() { done <- a.Do(context.Background(), newDispatch(s.Address(), "hanging")) }()
	eventually(t, func() error {
		if s.Links() < 2 {
			return errYet
		}
		return nil
	})
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case r := <-done:
		if !strings.Contains(r.Message, "Timeout The operation has timed out") {
			t.Errorf("%s", r.Message)
		}
	case <-time.After(20 * time.Second):
		t.Error("closed before the attempt was over")
	}
	open(t, s, 0)
	fails(t, a, newDispatch(s.Address(), "q"), "RequestCanceled This worker is shutting down.")
	if err := a.Close(t.Context()); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

// Close breaks what does not finish in its time.
func TestCloseIsBounded(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{})
	s.Behave("hanging", bustest.Behavior{Hang: true})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			r := a.Do(context.Background(), newDispatch(s.Address(), "hanging"))
			if r.Outcome != job.Failed {
				t.Errorf("%s: %s", r.Outcome, r.Message)
			}
		})
	}
	eventually(t, func() error {
		if s.Links() < 1 {
			return errYet
		}
		return nil
	})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("enough"))
	defer cancel()
	start := time.Now()
	if err := a.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	wg.Wait()
	if took := time.Since(start); took > 10*time.Second {
		t.Error(fmt.Sprint("took ", took))
	}
	open(t, s, 0)
}
