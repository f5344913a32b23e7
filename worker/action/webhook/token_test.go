package webhook

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// An office answers calls for tokens, each after a while. Its tokens are "1",
// "2" and so on.
type office struct {
	takes time.Duration
	life  time.Duration
	mu    sync.Mutex
	err   error
	calls int
}

func (o *office) fetch(ctx context.Context, _ *job.Authentication) (*token, error) {
	o.mu.Lock()
	o.calls++
	name, err := strconv.Itoa(o.calls), o.err
	o.mu.Unlock()
	select {
	case <-time.After(o.takes):
	case <-ctx.Done():
		return nil, why(ctx, ctx.Err())
	}
	if err != nil {
		return nil, err
	}
	return newToken(name, o.life, time.Now()), nil
}

func (o *office) fails(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = err
}

func (o *office) want(t *testing.T, calls int) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calls != calls {
		t.Errorf("%d calls to the authority, want %d", o.calls, calls)
	}
}

func anAuth() *job.Authentication {
	return &job.Authentication{Type: job.ActiveDirectoryOAuth, Tenant: "t", ClientID: "c", Audience: "a", Secret: "s"}
}

// inBubble runs a test on an office.
func inBubble(t *testing.T, o *office, run func(t *testing.T, s *tokens)) {
	synctest.Test(t, func(t *testing.T) {
		s := newTokens(o.fetch, time.Minute)
		defer s.close()
		run(t, s)
	})
}

// wantToken uses a token and returns it.
func wantToken(t *testing.T, s *tokens, want string) *token {
	t.Helper()
	got, err := s.use(t.Context(), anAuth())
	if err != nil || got.value != want {
		t.Errorf("got %+v, %v; want %s", got, err, want)
	}
	return got
}

func TestOneCallForAllWhoWait(t *testing.T) {
	o := &office{takes: time.Second, life: time.Hour}
	inBubble(t, o, func(t *testing.T, s *tokens) {
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { wantToken(t, s, "1") })
		}
		wg.Wait()
		wantToken(t, s, "1") // kept
		o.want(t, 1)
	})
}

// A token is for who has the secret, and for what it was asked.
func TestTokensAreNotShared(t *testing.T) {
	o := &office{life: time.Hour}
	inBubble(t, o, func(t *testing.T, s *tokens) {
		seen := map[string]bool{}
		for _, change := range []func(*job.Authentication){
			func(*job.Authentication) {},
			func(a *job.Authentication) { a.Tenant = "x" },
			func(a *job.Authentication) { a.ClientID = "x" },
			func(a *job.Authentication) { a.Audience = "x" },
			func(a *job.Authentication) { a.Secret = "x" },
		} {
			auth := anAuth()
			change(auth)
			got, err := s.use(t.Context(), auth)
			if err != nil || seen[got.value] {
				t.Fatalf("%+v: %v, %v", auth, got, err)
			}
			seen[got.value] = true
		}
	})
}

func TestAWaiterMayLeaveWhileOthersStay(t *testing.T) {
	o := &office{takes: 10 * time.Second, life: time.Hour}
	inBubble(t, o, func(t *testing.T, s *tokens) {
		cause := errors.New("shut down")
		ctx, cancel := context.WithCancelCause(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { // it comes first, so that the call is made for it
			if _, err := s.use(ctx, anAuth()); !errors.Is(err, cause) {
				t.Errorf("the one who left: %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() { wantToken(t, s, "1") })
		time.Sleep(time.Second)
		cancel(cause)
		wg.Wait()
		o.want(t, 1)
	})
}

// A call goes on when nobody waits for it any more: the next attempt finds what
// it brought.
func TestACallOutlivesItsWaiters(t *testing.T) {
	o := &office{takes: 10 * time.Second, life: time.Hour}
	inBubble(t, o, func(t *testing.T, s *tokens) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, outbound.ErrTimeout)
		defer cancel()
		if _, err := s.use(ctx, anAuth()); !errors.Is(err, errNoAnswer) {
			t.Errorf("out of time: %v", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		wantToken(t, s, "1")
		o.want(t, 1)
	})
}

func TestACallIsBounded(t *testing.T) {
	o := &office{takes: time.Hour}
	inBubble(t, o, func(t *testing.T, s *tokens) {
		start := time.Now()
		if _, err := s.use(t.Context(), anAuth()); !errors.Is(err, errNoAnswer) || time.Since(start) != tokenTimeout {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newTokens(o.fetch, time.Second) // the action's own is shorter
		defer s.close()
		start := time.Now()
		if _, err := s.use(t.Context(), anAuth()); !errors.Is(err, errNoAnswer) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// A failure is that of all who waited, and the authority is left alone for a
// few seconds.
func TestFailureIsSharedAndPauses(t *testing.T) {
	o := &office{takes: time.Second, life: time.Hour, err: errors.New("no")}
	inBubble(t, o, func(t *testing.T, s *tokens) {
		wantFailure := func() {
			if got, err := s.use(t.Context(), anAuth()); !errors.Is(err, o.err) {
				t.Errorf("got %+v, %v", got, err)
			}
		}
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(wantFailure)
		}
		wg.Wait()
		o.want(t, 1)
		time.Sleep(pause - 1)
		wantFailure()
		o.want(t, 1)
		time.Sleep(time.Nanosecond)
		wantFailure()
		o.want(t, 2)
		o.fails(nil)
		time.Sleep(pause)
		wantToken(t, s, "3")
	})
}

func TestTokenIsRenewedBeforeItsEnd(t *testing.T) {
	o := &office{takes: time.Second, life: time.Hour}
	inBubble(t, o, func(t *testing.T, s *tokens) {
		wantToken(t, s, "1")
		time.Sleep(55*time.Minute - 1)
		wantToken(t, s, "1")
		synctest.Wait()
		o.want(t, 1)
		time.Sleep(time.Nanosecond)
		for range 10 {
			wantToken(t, s, "1") // nobody waits for the next
		}
		synctest.Wait()
		o.want(t, 2)
		time.Sleep(time.Second)
		synctest.Wait()
		wantToken(t, s, "2")
		o.want(t, 2)
	})
}

// While the authority fails the old token serves until its end, and no longer.
func TestTokenServesWhileItsRenewalFails(t *testing.T) {
	o := &office{life: time.Hour}
	inBubble(t, o, func(t *testing.T, s *tokens) {
		wantToken(t, s, "1")
		o.fails(errors.New("no"))
		time.Sleep(55 * time.Minute)
		for range 10 {
			wantToken(t, s, "1")
			synctest.Wait()
		}
		o.want(t, 2) // it pauses then, too
		time.Sleep(pause)
		wantToken(t, s, "1")
		synctest.Wait()
		o.want(t, 3)
		time.Sleep(5*time.Minute - 30*time.Second)
		if got, err := s.use(t.Context(), anAuth()); err == nil {
			t.Errorf("a token at its end: %+v", got)
		}
	})
}

func TestARejectedTokenIsFetchedAnew(t *testing.T) {
	o := &office{life: time.Hour}
	inBubble(t, o, func(t *testing.T, s *tokens) {
		first := wantToken(t, s, "1")
		s.reject(anAuth(), first)
		wantToken(t, s, "2")
		s.reject(anAuth(), first) // another's answer comes late
		wantToken(t, s, "2")
		o.want(t, 2)
	})
}

func TestCloseEndsCalls(t *testing.T) {
	o := &office{takes: time.Hour}
	synctest.Test(t, func(t *testing.T) {
		s := newTokens(o.fetch, time.Minute)
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			if got, err := s.use(t.Context(), anAuth()); err == nil {
				t.Errorf("got %+v", got)
			}
		})
		synctest.Wait()
		s.close()
		wg.Wait()
		if time.Since(start) != 0 {
			t.Errorf("took %v", time.Since(start))
		}
		if _, err := s.use(t.Context(), &job.Authentication{}); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// What an authority says about a token's life is bounded.
func TestLifeOfAToken(t *testing.T) {
	from := time.Unix(0, 0)
	for _, c := range []struct{ life, renew, end time.Duration }{
		{time.Hour, 55 * time.Minute, time.Hour - 30*time.Second},
		{10 * time.Minute, 8 * time.Minute, 10*time.Minute - 30*time.Second},
		{time.Minute, 48 * time.Second, 54 * time.Second},
		{0, 8 * time.Second, 9 * time.Second},
		{-time.Hour, 8 * time.Second, 9 * time.Second},
		{1e6 * time.Hour, 24*time.Hour - 5*time.Minute, 24*time.Hour - 30*time.Second},
	} {
		got := newToken("", c.life, from)
		if got.renewAt.Sub(from) != c.renew || got.endsAt.Sub(from) != c.end {
			t.Errorf("%v: renewed after %v, used for %v", c.life, got.renewAt.Sub(from), got.endsAt.Sub(from))
		}
	}
}
