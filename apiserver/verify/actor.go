package verify

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/carillon-scheduler/carillon/apiserver/client"
)

// actor does to a job what its canary says, and notes what the API answers.
type actor struct {
	*session
	canary *canary
	ref    client.Ref
	life   *life
	newest *definition
	etag   string
	over   bool // the job is completed or faulted, or must not be touched any more
}

// act goes through the steps that come before the run's end.
func (a *actor) act(ctx context.Context) {
	for i := range a.canary.steps {
		s := &a.canary.steps[i]
		if !s.at.Before(a.until) || !waitUntil(ctx, s.at) || a.over && s.kind != deleted {
			return
		}
		a.step(ctx, s)
	}
}

func (a *actor) step(ctx context.Context, s *step) {
	if s.def != nil {
		a.newest = s.def
		a.target.expect(a.ref.Collection, a.canary.job, s.def)
	}
	name, base := a.canary.job, a.base(a.ref.Collection, a.canary.job)
	c := change{kind: s.kind, def: s.def}
	patch := func(doc any) func(context.Context, client.Option) (*client.Job, error) {
		return func(ctx context.Context, o client.Option) (*client.Job, error) {
			return a.api.PatchJob(ctx, a.ref, name, doc, o)
		}
	}
	put := func(ctx context.Context, o client.Option) (*client.Job, error) {
		return a.api.PutJob(ctx, a.ref, name, a.newest.document(base), o)
	}
	switch s.kind {
	case created:
		a.life = a.ledger.add(&life{collection: a.ref.Collection, job: name, form: a.canary.form})
		a.etag = ""
		a.ask(ctx, c, put)
	case replaced, repeated:
		a.ask(ctx, c, put)
	case rescheduled:
		a.ask(ctx, c, patch(whole(s.def, base)))
	case redirected:
		a.ask(ctx, c, patch(client.Job{Properties: client.JobProperties{Action: s.def.action(base)}}))
	case enabled:
		a.ask(ctx, c, patch(client.Job{Properties: client.JobProperties{State: stateEnabled}}))
	case disabled:
		a.ask(ctx, c, patch(client.Job{Properties: client.JobProperties{State: stateDisabled}}))
	case deleted:
		a.ask(ctx, c, func(ctx context.Context, o client.Option) (*client.Job, error) {
			return nil, a.api.DeleteJob(ctx, a.ref, name, o)
		})
	case ran:
		id := client.RequestID(uuid.NewString())
		a.ask(ctx, c, func(ctx context.Context, _ client.Option) (*client.Job, error) {
			return nil, a.api.RunJob(ctx, a.ref, name, id)
		})
	}
}

// whole is a patch after which nothing is left of the schedule before.
func whole(d *definition, base string) any {
	rec := map[string]any{"count": nil, "endTime": nil, "schedule": nil}
	text, err := json.Marshal(d.rec)
	if err == nil {
		err = json.Unmarshal(text, &rec)
	}
	if err != nil {
		panic("verify: recurrence: " + err.Error()) // numbers and strings
	}
	properties := map[string]any{"startTime": nil, "recurrence": rec, "action": d.action(base)}
	if !d.start.IsZero() {
		properties["startTime"] = d.start
	}
	return map[string]any{"properties": properties}
}

// ask asks until there is an answer that says something, or ctx ends. Each
// request names the version of the job that it is for, so that one that is late,
// on a way that nobody knows, changes nothing any more.
func (a *actor) ask(ctx context.Context, c change, send func(context.Context, client.Option) (*client.Job, error)) {
	finish := func(change) {}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		match := client.IfMatch(a.etag)
		if a.etag == "" {
			match = client.IfNew()
		}
		j, err := call(ctx, a.session, func(ctx context.Context) (*client.Job, error) {
			if c.tries++; c.tries == 1 {
				c.sentAt = time.Now()
				finish = a.ledger.begin(a.life, c)
			}
			return send(ctx, match)
		})
		c.answeredAt = time.Now()
		if err == nil {
			a.accept(&c, j)
			break
		}
		a.failed(err)
		// 412: it was carried out before, and its answer lost.
		if !client.Unclear(err) && client.StatusOf(err) != http.StatusPreconditionFailed {
			a.refuse(ctx, &c, err)
			break
		}
		if !pauseFor(ctx, pause) || !a.look(ctx, &c) {
			break
		}
	}
	a.over = a.over || c.outcome != acknowledged
	finish(c)
	if c.kind == deleted {
		a.etag = ""
	}
}

// accept notes an answer that says yes.
func (a *actor) accept(c *change, j *client.Job) {
	c.outcome = acknowledged
	if j == nil {
		return
	}
	a.etag = j.ETag
	if c.tries == 1 && j.Properties.Status != nil {
		c.next = j.Properties.Status.NextExecutionTime
	}
}

// refuse notes an answer that says no. If it is that to the first request, nothing
// has happened. Else one before may have been carried out.
func (a *actor) refuse(ctx context.Context, c *change, err error) {
	if c.kind == deleted && c.tries > 1 && client.StatusOf(err) == http.StatusNotFound {
		c.outcome = acknowledged // what was asked before was done meanwhile
		return
	}
	c.reason = err.Error()
	if c.tries == 1 {
		c.outcome = refused
	}
	if rec := c.recurrence(); rec != nil && !rec.EndTime.IsZero() && rec.EndTime.Before(c.answeredAt.Add(2*a.beat)) {
		c.excused = true
	}
	if client.StatusOf(err) == http.StatusConflict {
		j, err := a.read(ctx)
		c.excused = c.excused || err == nil && j != nil && final(j)
	}
}

// look finds out what became of a request that was not answered. It reports
// whether to ask again.
func (a *actor) look(ctx context.Context, c *change) bool {
	j, err := a.read(ctx)
	switch {
	case err != nil:
		return false
	case j == nil && c.kind == deleted:
		c.outcome, c.answeredAt = acknowledged, time.Now()
		return false
	case j == nil:
		a.etag = ""
		if c.kind != created {
			c.reason = "there is no such job any more"
		}
		return c.kind == created
	}
	a.etag = j.ETag
	if !final(j) || c.kind == deleted {
		return true
	}
	a.over = true
	if c.def != nil && j.Properties.Action != nil && strings.Contains(j.Properties.Action.Request.URI, "/"+c.def.marker+"/") {
		c.outcome, c.answeredAt = acknowledged, time.Now()
	}
	return false
}

// read reads the job; nil if there is none. It fails only if ctx ends.
func (a *actor) read(ctx context.Context) (*client.Job, error) {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		j, err := call(ctx, a.session, func(ctx context.Context) (*client.Job, error) {
			return a.api.GetJob(ctx, a.ref, a.canary.job)
		})
		if err == nil {
			return j, nil
		}
		if client.StatusOf(err) == http.StatusNotFound {
			return nil, nil
		}
		a.failed(err)
		if !pauseFor(ctx, pause) {
			return nil, context.Cause(ctx)
		}
	}
}

// final reports whether a job is over.
func final(j *client.Job) bool {
	return j.Properties.State == stateCompleted || j.Properties.State == stateFaulted
}
