package webhook

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

const (
	// How many tokens are kept, and for how long after a job last used one.
	maxTokens = 1024
	tokenIdle = time.Hour

	// tokenTimeout bounds one call to the authority, unless the action's own
	// timeout is shorter.
	tokenTimeout = 30 * time.Second

	// pause is how long after a failure the authority is not asked again for
	// the same token: hundreds of jobs may want it.
	pause = 5 * time.Second

	// Bounds of what an authority says about a token's life, in place of which
	// unsaidLife stands where it says nothing.
	minLife    = 10 * time.Second
	maxLife    = 24 * time.Hour
	unsaidLife = 5 * time.Minute
)

// A token is what an authority gave for a while.
type token struct {
	value   string
	renewAt time.Time // when to ask for the next, while this one is still good
	endsAt  time.Time // when to use it no more
	// conceal returns what hides the token and the secret that it was had for.
	// To make that takes as long as a short call.
	conceal func() func(string) string
}

// newToken returns a token whose life, as its authority says, began at from. It
// is renewed five minutes before its end, or after four fifths of a short life,
// and is not used in its last moments, in which it might end on its way.
func newToken(value string, life time.Duration, from time.Time) *token {
	life = min(max(life, minLife), maxLife)
	return &token{
		value:   value,
		renewAt: from.Add(life - min(5*time.Minute, life/5)),
		endsAt:  from.Add(life - min(30*time.Second, life/10)),
	}
}

// tokens fetches tokens and keeps them. For one token at most one call is made
// at a time, however many attempts wait for it.
type tokens struct {
	fetch   func(ctx context.Context, auth *job.Authentication) (*token, error)
	timeout time.Duration // of a call to the authority
	grants  cache[*grant]

	mu      sync.Mutex // of every grant's fields, and of stops
	stops   map[*call]context.CancelFunc
	closed  bool
	working sync.WaitGroup
}

func newTokens(fetch func(context.Context, *job.Authentication) (*token, error), timeout time.Duration) *tokens {
	return &tokens{
		fetch: fetch, timeout: min(timeout, tokenTimeout), stops: map[*call]context.CancelFunc{},
		grants: cache[*grant]{size: maxTokens, idle: tokenIdle, drop: func(*grant) {}},
	}
}

// A grant is what one client may have for one audience.
type grant struct {
	token *token // nil: none
	call  *call  // under way; nil: none
	// After a failure the authority is left alone for a while.
	err    error
	paused time.Time // until
}

// A call is one made to the authority. When done is closed, token or err is set.
type call struct {
	done  chan struct{}
	token *token
	err   error
}

// errSlow is why a call to the authority is given up.
var errSlow = errors.New("authority is slow")

// use returns a token for auth. It blocks while there is none and one is
// fetched, until ctx is done. The call to the authority goes on then: others may
// wait for it. A token that nears its end is renewed meanwhile.
func (s *tokens) use(ctx context.Context, auth *job.Authentication) (*token, error) {
	g, done := s.grants.use(grantOf(auth), func() *grant { return new(grant) })
	defer done()
	t, c, err := s.look(ctx, g, auth)
	if c == nil {
		return t, err
	}
	select {
	case <-c.done:
		return c.token, c.err
	case <-ctx.Done():
	}
	if err := context.Cause(ctx); !errors.Is(err, outbound.ErrTimeout) {
		return nil, err
	}
	return nil, errNoAnswer
}

// look returns g's token or why there is none, or else the call to wait for.
func (s *tokens) look(ctx context.Context, g *grant, auth *job.Authentication) (*token, *call, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	good := g.token != nil && now.Before(g.token.endsAt)
	if good && now.Before(g.token.renewAt) {
		return g.token, nil, nil
	}
	if g.call == nil && !now.Before(g.paused) && !s.closed {
		s.begin(ctx, g, auth)
	}
	switch {
	case good:
		return g.token, nil, nil
	case g.call != nil:
		return nil, g.call, nil
	case s.closed:
		return nil, nil, context.Canceled
	}
	return nil, nil, g.err
}

// begin calls the authority, in the background. s.mu is held.
func (s *tokens) begin(ctx context.Context, g *grant, auth *job.Authentication) {
	c := &call{done: make(chan struct{})}
	g.call = c
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), s.timeout, errSlow)
	s.stops[c] = cancel
	_, release := s.grants.use(grantOf(auth), func() *grant { return g })
	s.working.Go(func() {
		defer release()
		defer cancel()
		t, err := s.fetch(ctx, auth)
		if err == nil {
			secrets := []string{string(auth.Secret), t.value}
			t.conceal = sync.OnceValue(func() func(string) string { return concealer(secrets) })
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		c.token, c.err = t, err
		g.call = nil
		delete(s.stops, c)
		if err == nil {
			g.token, g.err, g.paused = t, nil, time.Time{}
		} else {
			g.err, g.paused = err, time.Now().Add(pause)
		}
		close(c.done)
	})
}

// reject forgets a token that a target did not accept, so that the next attempt
// fetches another.
func (s *tokens) reject(auth *job.Authentication, t *token) {
	g, done := s.grants.use(grantOf(auth), func() *grant { return new(grant) })
	defer done()
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.token == t {
		g.token = nil
	}
}

// close ends the calls under way, waits for their end and forgets all tokens.
func (s *tokens) close() {
	s.mu.Lock()
	s.closed = true
	for _, stop := range s.stops {
		stop()
	}
	s.mu.Unlock()
	s.working.Wait()
	s.grants.close()
}

// grantOf returns the key of a grant. Whoever has not the secret does not get
// what it opens.
func grantOf(auth *job.Authentication) hash {
	return digest(auth.Tenant, auth.ClientID, auth.Audience, string(auth.Secret))
}
