package verify

import (
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/apiserver/client"
)

// definition is a job's definition as the checker asks for it, with what the
// target answers to its calls.
type definition struct {
	// marker names the definition among all of its job's. It stands in the URL
	// that the job calls, so that each request tells which one it comes from.
	marker string
	// start is zero if the definition has no startTime.
	start    time.Time
	rec      *client.Recurrence // nil: once
	disabled bool

	retry    *policy // nil: Azure's default
	fallback bool    // there is an error action
	own      *policy // of the error action; nil: the main one's

	main, error script
}

// policy is a retry policy. Its zero value is none.
type policy struct {
	count    int
	interval time.Duration
}

// script is what the target answers to the attempts of an occurrence.
type script struct {
	fails      int           // so many attempts fail, then the next succeeds
	retryAfter time.Duration // positive: they ask to be tried again after so long
	delay      time.Duration // before any answer
}

// always is more attempts than any policy allows.
const always = 1000

// phases, as history spells them.
const (
	mainAction  = "MainAction"
	errorAction = "ErrorAction"
)

// policyOf returns how a phase is retried: 4 times at 30 s unless said otherwise,
// an error action like the main one unless said otherwise (AZURE, schedules).
func (d *definition) policyOf(phase string) policy {
	p := d.retry
	if phase == errorAction && d.own != nil {
		p = d.own
	}
	if p == nil {
		return policy{4, 30 * time.Second}
	}
	return *p
}

func (d *definition) scriptOf(phase string) script {
	if phase == errorAction {
		return d.error
	}
	return d.main
}

// longest is the longest that an occurrence may take from its first attempt to
// its end, if everything goes its way.
func (d *definition) longest() time.Duration {
	phase := func(name string) time.Duration {
		p, s := d.policyOf(name), d.scriptOf(name)
		n := min(p.count, s.fails)
		return time.Duration(n+1)*s.delay + time.Duration(n)*max(p.interval, s.retryAfter)
	}
	if d.fallback && d.main.fails > d.policyOf(mainAction).count {
		return phase(mainAction) + phase(errorAction)
	}
	return phase(mainAction)
}

// document is the definition as the API wants it. base is the job's URL at the
// target.
func (d *definition) document(base string) *client.Job {
	j := &client.Job{Properties: client.JobProperties{StartTime: d.start, Recurrence: d.rec, Action: d.action(base)}}
	if d.disabled {
		j.Properties.State = stateDisabled
	}
	return j
}

func (d *definition) action(base string) *client.Action {
	a := post(base+"/"+d.marker+"/main", d.retry)
	if d.fallback {
		a.ErrorAction = post(base+"/"+d.marker+"/error", d.own)
	}
	return a
}

// bodyText is what the jobs send.
const bodyText = "carillon verify"

func post(uri string, p *policy) *client.Action {
	a := &client.Action{Type: "Http", Request: &client.Request{URI: uri, Method: "POST", Body: bodyText}}
	switch {
	case p == nil:
	case p.count == 0:
		a.RetryPolicy = &client.RetryPolicy{Type: "none"}
	default:
		a.RetryPolicy = &client.RetryPolicy{Type: "fixed", Interval: span(p.interval), Count: new(p.count)}
	}
	return a
}

// span writes whole seconds, less than a day of them, as the API does.
func span(d time.Duration) string {
	s := int(d / time.Second)
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

// The states of a job.
const (
	stateEnabled   = "enabled"
	stateDisabled  = "disabled"
	stateCompleted = "completed"
	stateFaulted   = "faulted"
)

// instant cuts t to whole milliseconds, the grain of nominal times.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
