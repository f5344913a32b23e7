package job

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/recur"
)

// AZURE §7: "Sku (jobs, fastest): Free 5 / 1 h …; Standard 50 / 1 min;
// P10Premium 50 / 1 min; P20Premium 1000 / 1 min. A quota overrides the sku's
// numbers; the live service only let it tighten them, ours lets the operator's
// configuration set the ceilings".
func TestLimits(t *testing.T) {
	every := func(f recur.Frequency, interval int) *MaxRecurrence { return &MaxRecurrence{f, interval} }
	high := Ceilings{MaxJobs: 10_000, Fastest: time.Second}
	for _, c := range []struct {
		name  string
		sku   SKU
		quota *Quota
		ceil  Ceilings
		want  Limits
	}{
		{"Free", Free, nil, Ceilings{}, Limits{5, time.Hour}},
		{"Standard", Standard, nil, Ceilings{}, Limits{50, time.Minute}},
		{"P10Premium", P10Premium, nil, Ceilings{}, Limits{50, time.Minute}},
		{"P20Premium", P20Premium, nil, Ceilings{}, Limits{1000, time.Minute}},
		{"an empty quota", P20Premium, &Quota{}, Ceilings{}, Limits{1000, time.Minute}},
		{"tighter jobs", Standard, &Quota{MaxJobCount: 3}, Ceilings{}, Limits{3, time.Minute}},
		{"tighter recurrence", Standard, &Quota{MaxRecurrence: every(recur.Day, 2)}, Ceilings{}, Limits{50, 48 * time.Hour}},
		{"looser than the plan", Free, &Quota{50, every(recur.Minute, 1)}, Ceilings{}, Limits{5, time.Hour}},
		{"ceilings alone grant nothing", Standard, nil, high, Limits{50, time.Minute}},
		{"a quota up to the ceilings", Standard, &Quota{10_000, every(recur.Second, 1)}, high, Limits{10_000, time.Second}},
		{"a quota beyond the ceilings", Standard, &Quota{10_001, every(recur.Second, 1)}, Ceilings{MaxJobs: 10_000, Fastest: 2 * time.Second}, Limits{10_000, 2 * time.Second}},
		{"ceilings under the plan", P20Premium, nil, Ceilings{MaxJobs: 10, Fastest: time.Hour}, Limits{10, time.Hour}},
		{"one ceiling", Standard, &Quota{100, every(recur.Second, 1)}, Ceilings{MaxJobs: 100}, Limits{100, time.Minute}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := (&Collection{SKU: c.sku, Quota: c.quota}).Limits(c.ceil)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestValidateCollection(t *testing.T) {
	every := func(f recur.Frequency, interval int) func(c *Collection) {
		return func(c *Collection) { c.Quota = &Quota{MaxRecurrence: &MaxRecurrence{f, interval}} }
	}
	jobs := func(n int) func(c *Collection) { return func(c *Collection) { c.Quota = &Quota{MaxJobCount: n} } }
	tags := func(n int) func(c *Collection) {
		return func(c *Collection) {
			c.Tags = make(map[string]string)
			for i := range n {
				c.Tags[fmt.Sprint(i)] = ""
			}
		}
	}
	tag := func(name, value string) func(c *Collection) {
		return func(c *Collection) { c.Tags = map[string]string{name: value} }
	}
	for _, c := range []struct {
		name   string
		change func(c *Collection)
		ceil   Ceilings
		field  string
	}{
		{"plain", func(*Collection) {}, Ceilings{}, ""},
		{"no location", func(c *Collection) { c.Location = "" }, Ceilings{}, "location"},
		{"location of 90", func(c *Collection) { c.Location = strings.Repeat("é", 90) }, Ceilings{}, ""},
		{"location of 91", func(c *Collection) { c.Location = strings.Repeat("é", 91) }, Ceilings{}, "location"},
		{"location with NUL", func(c *Collection) { c.Location = "\x00" }, Ceilings{}, "location"},
		{"50 tags", tags(50), Ceilings{}, ""},
		{"51 tags", tags(51), Ceilings{}, "tags"},
		{"tag name of 512", tag(strings.Repeat("é", 512), ""), Ceilings{}, ""},
		{"tag name of 513", tag(strings.Repeat("é", 513), ""), Ceilings{}, "tags"},
		{"no tag name", tag("", "x"), Ceilings{}, "tags"},
		{"tag value of 256", tag("a", strings.Repeat("é", 256)), Ceilings{}, ""},
		{"tag value of 257", tag("a", strings.Repeat("é", 257)), Ceilings{}, "tags.a"},
		{"no sku", func(c *Collection) { c.SKU = "" }, Ceilings{}, "sku.name"},
		{"no state", func(c *Collection) { c.State = "Deleted" }, Ceilings{}, "state"},
		{"suspended", func(c *Collection) { c.State = CollectionSuspended }, Ceilings{}, ""},
		{"jobs of the plan", jobs(50), Ceilings{}, ""},
		{"jobs over the plan", jobs(51), Ceilings{}, "quota.maxJobCount"},
		{"negative jobs", jobs(-1), Ceilings{}, "quota.maxJobCount"},
		{"jobs of the ceiling", jobs(51), Ceilings{MaxJobs: 51}, ""},
		{"jobs over the ceiling", jobs(52), Ceilings{MaxJobs: 51}, "quota.maxJobCount"},
		{"recurrence of the plan", every(recur.Minute, 1), Ceilings{}, ""},
		{"recurrence faster than the plan", every(recur.Second, 59), Ceilings{}, "quota.maxRecurrence"},
		{"recurrence of the ceiling", every(recur.Second, 30), Ceilings{Fastest: 30 * time.Second}, ""},
		{"recurrence faster than the ceiling", every(recur.Second, 29), Ceilings{Fastest: 30 * time.Second}, "quota.maxRecurrence"},
		{"no frequency", every(0, 1), Ceilings{}, "quota.maxRecurrence.frequency"},
		{"interval 0 is 1", every(recur.Month, 0), Ceilings{}, ""},
		{"19 months", every(recur.Month, 19), Ceilings{}, "quota.maxRecurrence.interval"},
	} {
		t.Run(c.name, func(t *testing.T) {
			collection := &Collection{Location: "West US", SKU: Standard, State: CollectionEnabled}
			c.change(collection)
			wantInvalid(t, collection.Validate(c.ceil), c.field)
		})
	}
}

// AZURE §4: 409 for what is "faster than maxRecurrence"; §6 and §7: a Free
// collection has no HTTP authentication and retries after an hour at least.
func TestAllowed(t *testing.T) {
	authenticated := func(a *Action) { a.Request.Authentication = &Authentication{Type: Basic} }
	for _, c := range []struct {
		name   string
		sku    SKU
		change func(d *Definition)
		reason string // part of it; empty: allowed
	}{
		{"Free, every hour", Free, func(d *Definition) { d.Recurrence = &recur.Spec{Frequency: recur.Hour} }, ""},
		{"Free, every 59 minutes", Free, func(d *Definition) { d.Recurrence = &recur.Spec{Frequency: recur.Minute, Interval: 59} }, "once in 1 hour"},
		{"Free, twice a day but close", Free, func(d *Definition) {
			d.Recurrence.Schedule = &recur.Schedule{Hours: []int{1}, Minutes: []int{0, 30}}
		}, "once in 1 hour"},
		{"Standard, every minute", Standard, func(d *Definition) { d.Recurrence = &recur.Spec{Frequency: recur.Minute} }, ""},
		{"Standard, every 59 seconds", Standard, func(d *Definition) { d.Recurrence = &recur.Spec{Frequency: recur.Second, Interval: 59} }, "once in 1 minute"},
		{"once", Free, func(d *Definition) { d.Recurrence = nil }, ""},
		{"Free, default retry", Free, func(d *Definition) { d.Action.Retry = nil }, ""},
		{"Free, retry without interval", Free, func(d *Definition) { d.Action.Retry = &RetryPolicy{Fixed: true} }, ""},
		{"Free, no retry", Free, func(d *Definition) { d.Action.Retry = &RetryPolicy{Interval: time.Minute} }, ""},
		{"Free, retry after 1 h", Free, func(d *Definition) { d.Action.Retry.Interval = time.Hour }, ""},
		{"Free, retry after less", Free, func(d *Definition) { d.Action.Retry.Interval = time.Hour - 1 }, "action.retryPolicy.retryInterval"},
		{"Free, error action's retry", Free, func(d *Definition) { d.Action.Error.Retry = &RetryPolicy{Fixed: true, Interval: time.Minute} }, "action.errorAction.retryPolicy.retryInterval"},
		{"Standard, retry after less", Standard, func(d *Definition) { d.Action.Retry.Interval = time.Minute }, ""},
		{"Free, authentication", Free, func(d *Definition) { authenticated(&d.Action) }, "action.request.authentication"},
		{"Free, error action's authentication", Free, func(d *Definition) { authenticated(d.Action.Error) }, "action.errorAction.request.authentication"},
		{"Standard, authentication", Standard, func(d *Definition) { authenticated(&d.Action) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := sample(HTTP)
			c.change(d)
			collection := &Collection{SKU: c.sku}
			err := d.Allowed(collection, collection.Limits(Ceilings{}))
			var conflict *ConflictError
			switch {
			case c.reason == "" && err != nil:
				t.Errorf("not allowed: %v", err)
			case c.reason != "" && (!errors.As(err, &conflict) || !strings.Contains(conflict.Reason, c.reason)):
				t.Errorf("error %v, want a ConflictError with %q", err, c.reason)
			}
		})
	}
}

// A job just as fast as the quota passes, whatever the unit: a month is not 30
// days when it is one's own.
func TestAllowedEqual(t *testing.T) {
	for f, most := range map[recur.Frequency]int{
		recur.Second: 1000, recur.Minute: 1000, recur.Hour: 1000, recur.Day: 548, recur.Week: 78, recur.Month: 18, recur.Year: 1,
	} {
		for interval := 1; interval <= most; interval++ {
			c := &Collection{SKU: Standard, Quota: &Quota{MaxRecurrence: &MaxRecurrence{f, interval}}}
			l := c.Limits(Ceilings{Fastest: time.Second})
			d := sample(HTTP)
			d.Recurrence = &recur.Spec{Frequency: f, Interval: interval}
			if err := d.Allowed(c, l); err != nil {
				t.Errorf("%d %s: %v", interval, f, err)
			}
			if d.Recurrence.Interval--; interval > 1 && d.Allowed(c, l) == nil {
				t.Errorf("%d %s: allowed under a quota of %d", interval-1, f, interval)
			}
		}
	}
}

func TestSpoken(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour: "1 hour", time.Minute: "1 minute", 48 * time.Hour: "2 days", 90 * time.Minute: "90 minutes",
		59 * time.Second: "59 seconds", 1500 * time.Millisecond: "1.5s", 0: "0s",
	} {
		if got := spoken(d); got != want {
			t.Errorf("spoken(%v) = %q, want %q", d, got, want)
		}
	}
}

// The operator's ceilings may allow retries sooner than Azure's 15 s (our
// decision).
func TestMinRetryCeiling(t *testing.T) {
	d := sample(HTTP)
	d.Action.Retry = &RetryPolicy{Fixed: true, Interval: 2 * time.Second}
	for _, c := range []struct {
		name  string
		ceil  Ceilings
		field string
	}{
		{"Azure's own", Ceilings{}, "action.retryPolicy.retryInterval"},
		{"shorter", Ceilings{MinRetry: time.Second}, ""},
		{"just so", Ceilings{MinRetry: 2 * time.Second}, ""},
		{"longer", Ceilings{MinRetry: time.Minute}, "action.retryPolicy.retryInterval"},
	} {
		t.Run(c.name, func(t *testing.T) { wantInvalid(t, d.Validate(today(), c.ceil), c.field) })
	}
}
