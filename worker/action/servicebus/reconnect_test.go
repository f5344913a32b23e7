package servicebus_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action/bustest"
	"github.com/carillon-scheduler/carillon/worker/action/servicebus"
)

// After a detach, or a connection that was dropped, the next attempt works: the
// same, as nothing was sent yet, and each message arrives once. (If it came
// before the client knew of the loss, it would fail; so it is tried until not.)
func TestLostWhileIdle(t *testing.T) {
	for name, start := range map[string]func(t testing.TB, secure bool) target{"bustest": startBustest, "rhea": startRhea} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := start(t, false)
			a := newAction(t, servicebus.Config{Endpoint: to.endpoint, Network: to.network})
			for _, lose := range []func(testing.TB){to.detach, to.drop} {
				eventually(t, func() error {
					deliver(t, a, newDispatch(to.address, "willing"))
					connected, delivered := to.connected(t), len(to.messages(t))
					lose(t)
					if r := do(t, a, newDispatch(to.address, "willing")); r.Outcome != job.Succeeded {
						return errors.New(r.Message)
					}
					if n := len(to.messages(t)) - delivered; n != 1 {
						t.Errorf("delivered %d times", n)
					}
					if to.connected(t) == connected {
						return errors.New("the message came before the loss")
					}
					return nil
				})
			}
		})
	}
}

// The service detaches what is idle, or everything when it is updated, with
// conditions of its own. They say nothing of what is sent later.
func TestConditionsOfLossDoNotMatter(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{})
	for _, condition := range []string{
		"amqp:link:detach-forced", "amqp:internal-error", "amqp:not-found", "com.microsoft:server-busy", "amqp:unauthorized-access",
		"com.microsoft:entity-disabled", "amqp:resource-limit-exceeded", "com.microsoft:something-new", "amqp:link:message-size-exceeded",
	} {
		eventually(t, func() error {
			deliver(t, a, newDispatch(s.Address(), "q"))
			before := len(s.Messages())
			s.Detach("q", condition)
			r := do(t, a, newDispatch(s.Address(), "q"))
			want := 0
			if r.Outcome == job.Succeeded {
				want = 1
			}
			if n := len(s.Messages()) - before; n != want {
				t.Errorf("%s: delivered %d times: %s", condition, n, r.Message)
			}
			if want == 0 {
				return fmt.Errorf("%s: %s", condition, r.Message)
			}
			return nil
		})
	}
}

// An attempt is performed once: where the link is lost after the message was
// sent, azservicebus would send it again by itself. The report says what is
// not known.
func TestWhatMayHaveBeenSentIsNotSentAgain(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{})
	s.Behave("q", bustest.Behavior{Lose: true})
	for i := range 3 {
		fails(t, a, newDispatch(s.Address(), "q"), "MessagingCommunication The service ended the link. The message may have been delivered all the same.")
		if n := len(s.Messages()); n != i+1 {
			t.Fatalf("delivered %d times in %d attempts", n, i+1)
		}
	}
	s.Behave("q", bustest.Behavior{})
	deliver(t, a, newDispatch(s.Address(), "q"))
}

// The same with many attempts on one link, each of which loses it for all.
func TestManyLoseTheirLinkAtOnce(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{})
	s.Behave("q", bustest.Behavior{Lose: true})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				if r := do(t, a, newDispatch(s.Address(), "q")); r.Outcome != job.Failed {
					t.Errorf("%s: %s", r.Outcome, r.Message)
				}
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, m := range s.Messages() {
		if seen[m.MessageID] {
			t.Errorf("delivered twice: %s", m.MessageID)
		}
		seen[m.MessageID] = true
	}
}

// A service that is gone fails the attempt, and is found again when it is back.
func TestServiceRestarts(t *testing.T) {
	first := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{})
	address := first.Address()
	deliver(t, a, newDispatch(address, "q"))
	first.Close()
	do(t, a, newDispatch(address, "q")) // the loss may be found in sending
	fails(t, a, newDispatch(address, "q"), "ConnectFailure Unable to connect to the remote server")
	second := newPeer(t, bustest.Config{Address: address})
	deliver(t, a, newDispatch(address, "q"))
	if n := len(second.Messages()); n != 1 {
		t.Errorf("%d messages", n)
	}
}

// A message that is refused is no reason to make a new connection.
func TestRejectedMessagesKeepTheConnection(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{})
	for _, condition := range []string{"com.microsoft:server-busy", "amqp:resource-limit-exceeded", "amqp:not-allowed"} {
		s.Behave("q", bustest.Behavior{Reject: condition})
		if r := do(t, a, newDispatch(s.Address(), "q")); r.Outcome == job.Succeeded || strings.Contains(r.Message, "may have been") {
			t.Errorf("%s: %+v", condition, r)
		}
	}
	s.Behave("q", bustest.Behavior{})
	deliver(t, a, newDispatch(s.Address(), "q"))
	if _, made := s.Connections(); made != 1 {
		t.Errorf("%d connections", made)
	}
}

// Set-ups that fail are not kept, and leave no connection behind.
func TestFailedSetUpsAreNotKept(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{})
	s.Missing("q")
	for range 3 {
		fails(t, a, newDispatch(s.Address(), "q"), "MessagingEntityNotFound The namespace has no queue of this name.")
	}
	s.Behave("q", bustest.Behavior{})
	deliver(t, a, newDispatch(s.Address(), "q"))
	eventually(t, func() error {
		if open, made := s.Connections(); open != 1 || made != 4 {
			return fmt.Errorf("%d of %d connections open", open, made)
		}
		return nil
	})
}

// open waits until so many connections are open.
func open(t *testing.T, s *bustest.Server, want int) {
	t.Helper()
	eventually(t, func() error {
		if n, _ := s.Connections(); n != want {
			return fmt.Errorf("%d connections open, want %d", n, want)
		}
		return nil
	})
}

var errYet = errors.New("not yet")
