package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/apiserver/client"
)

const (
	// perCollection is how many jobs a collection gets: as many as every plan but
	// the smallest allows, with room for a probe.
	perCollection = 45
	// lead is how long before the run begins its jobs are made up.
	lead = 200 * time.Millisecond
	// leastInMinutes is how long a run has to be whose jobs recur every minute at
	// most.
	leastInMinutes = 5 * time.Minute
)

// plan is what a run is going to do.
type plan struct {
	refs     []client.Ref // collections; the last one is switched off and on
	asked    int          // how many of them may exist
	canaries []*canary
	began    time.Time
	length   time.Duration
	longest  time.Duration // that an occurrence may take
}

// newPlan names the collections.
func newPlan(c *Checker) *plan {
	n := min(4, c.cfg.Jobs)
	n = max(n, (c.cfg.Jobs+perCollection-1)/perCollection) + 1
	p := &plan{length: c.cfg.For}
	for i := range n {
		p.refs = append(p.refs, client.Ref{Collection: fmt.Sprintf("%s-%d", c.name, i)})
	}
	return p
}

// switched is the collection that is switched off and on.
func (p *plan) switched() client.Ref { return p.refs[len(p.refs)-1] }

// home returns the collection of a canary. Only those to which nothing else is
// done are in the one that is switched.
func (p *plan) home(i int) client.Ref {
	if i%5 == 4 && len(p.canaries[i].steps) == 1 && i/5 < perCollection {
		return p.switched()
	}
	return p.refs[i%(len(p.refs)-1)]
}

// prepare makes the collections, finds out what the API allows, and makes up the
// jobs.
func (c *Checker) prepare(ctx context.Context, s *session, p *plan) error {
	if err := c.makeCollections(ctx, s, p); err != nil {
		return err
	}
	if err := c.probe(ctx, s, p.refs[0]); err != nil {
		return err
	}
	if s.beat >= time.Minute && p.length < leastInMinutes {
		p.length = leastInMinutes
		c.say("the API allows no recurrence faster than a minute: running for %v in place of %v", p.length, c.cfg.For)
	}
	p.began = instant(time.Now().Add(lead))
	s.until = p.began.Add(p.length)
	g := &generator{
		rng:   rand.New(rand.NewPCG(c.cfg.Seed, 1)), //nolint:gosec // to be repeated
		began: p.began, length: p.length, beat: s.beat, minRetry: s.minRetry,
	}
	var only func(string) bool
	if len(c.cfg.Forms) > 0 {
		only = func(name string) bool { return slices.Contains(c.cfg.Forms, name) }
	}
	p.canaries = g.canaries(c.cfg.Jobs, only)
	for _, k := range p.canaries {
		for _, st := range k.steps {
			if st.def != nil {
				p.longest = max(p.longest, st.def.longest())
			}
		}
	}
	return nil
}

// makeCollections makes the collections, with the fastest recurrence that the API
// allows.
func (c *Checker) makeCollections(ctx context.Context, s *session, p *plan) error {
	// There is none of that name. Who answers so is an API.
	if _, err := s.api.GetCollection(ctx, p.refs[0]); client.StatusOf(err) == 0 && err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	quotas := []*client.Quota{quota("second"), quota("minute"), nil}
	s.beat = time.Second
	for _, ref := range p.refs {
		p.asked++
		for {
			_, err := s.api.PutCollection(ctx, ref, client.Collection{
				Location: "westeurope", Tags: map[string]string{"carillon": "verify"},
				Properties: client.CollectionProperties{SKU: &client.SKU{Name: "Standard"}, Quota: quotas[0]},
			}, client.Retry(c.cfg.Settle))
			if client.StatusOf(err) == http.StatusBadRequest && len(quotas) > 1 {
				quotas, s.beat = quotas[1:], time.Minute
				continue
			}
			if err != nil {
				return fmt.Errorf("make collection: %w", err)
			}
			break
		}
	}
	return nil
}

func quota(frequency string) *client.Quota {
	return &client.Quota{MaxJobCount: perCollection + 1, MaxRecurrence: &client.MaxRecurrence{Frequency: frequency, Interval: 1}}
}

// probe finds out the shortest retry interval that the API allows.
func (c *Checker) probe(ctx context.Context, s *session, ref client.Ref) error {
	const job = "probe"
	for _, s.minRetry = range []time.Duration{time.Second, 15 * time.Second} {
		d := &definition{marker: "0-0", start: time.Now().Add(24 * time.Hour), disabled: true, retry: &policy{1, s.minRetry}}
		_, err := s.api.PutJob(ctx, ref, job, d.document(s.base(ref.Collection, job)), client.Retry(c.cfg.Settle))
		if client.StatusOf(err) == http.StatusBadRequest {
			continue
		}
		if err != nil {
			return fmt.Errorf("probe the API: %w", err)
		}
		if err := s.api.DeleteJob(ctx, ref, job, client.Retry(c.cfg.Settle)); err != nil && client.StatusOf(err) != http.StatusNotFound {
			return fmt.Errorf("probe the API: %w", err)
		}
		return nil
	}
	return errors.New("probe the API: it refuses a retry interval of 15 s")
}

// clean deletes what the run made, as well as it can within Settle.
func (c *Checker) clean(ctx context.Context, s *session, p *plan) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.Settle)
	defer cancel()
	left := 0
	var why error
	for _, ref := range p.refs[:p.asked] {
		err := s.api.DeleteCollection(ctx, ref, client.Retry(c.cfg.Settle))
		if err != nil && client.StatusOf(err) != http.StatusNotFound {
			left++
			why = cmp.Or(why, err)
		}
	}
	if left == 0 {
		return nil
	}
	return fmt.Errorf("left behind: %d collections named %s-*, delete them: %w", left, c.name, why)
}
