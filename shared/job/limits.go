package job

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/carillon-scheduler/carillon/shared/recur"
)

// Ceilings are the most that a quota may grant, as the operator set it. What is
// zero is the plan's own, as it always was with Azure, where a quota could only
// tighten. They bind what a quota does not set, too.
type Ceilings struct {
	MaxJobs int           // jobs in a collection
	Fastest time.Duration // shortest time between two occurrences
	// MinRetry is the shortest retry interval a job may ask for; Azure's was 15 s.
	MinRetry time.Duration
}

// limits returns what the plan grants (Azure documentation: Scheduler plans and
// billing).
func (s SKU) limits() Limits {
	switch s {
	case Free:
		return Limits{Jobs: 5, Fastest: time.Hour}
	case P20Premium:
		return Limits{Jobs: 1000, Fastest: time.Minute}
	default:
		return Limits{Jobs: 50, Fastest: time.Minute}
	}
}

// over returns the ceilings with the plan's own where none is set.
func (c Ceilings) over(plan Limits) Limits {
	return Limits{Jobs: cmp.Or(c.MaxJobs, plan.Jobs), Fastest: cmp.Or(c.Fastest, plan.Fastest)}
}

// Limits returns what holds for the collection's jobs: its quota, or where it
// sets none the plan's numbers, within the ceilings.
func (c *Collection) Limits(ceil Ceilings) Limits {
	plan := c.SKU.limits()
	limits, most := plan, ceil.over(plan)
	if q := c.Quota; q != nil {
		limits.Jobs = cmp.Or(q.MaxJobCount, plan.Jobs)
		if q.MaxRecurrence != nil {
			limits.Fastest = q.MaxRecurrence.spec().Fastest()
		}
	}
	return Limits{Jobs: min(limits.Jobs, most.Jobs), Fastest: max(limits.Fastest, most.Fastest)}
}

// spec is the recurrence that is just allowed. Measured by the same rule as a
// job's, an equal one passes, months of any length included.
func (r *MaxRecurrence) spec() recur.Spec {
	return recur.Spec{Frequency: r.Frequency, Interval: r.Interval}
}

// Bounds of a collection's texts (Azure Resource Manager's).
const (
	maxTags     = 50
	maxTagName  = 512
	maxTagValue = 256
	maxLocation = 90
)

// Validate checks what a collection's owner sets. It returns an [InvalidError]
// that names the first wrong field, or nil.
func (c *Collection) Validate(ceil Ceilings) error {
	switch {
	case c.Location == "":
		return Invalid("location", "must be given")
	case utf8.RuneCountInString(c.Location) > maxLocation || hasControl(c.Location):
		return Invalid("location", "must have at most %d characters, none of them a control character", maxLocation)
	case len(c.Tags) > maxTags:
		return Invalid("tags", "must be at most %d", maxTags)
	}
	for _, name := range sortedKeys(c.Tags) {
		switch {
		case name == "" || utf8.RuneCountInString(name) > maxTagName || hasControl(name):
			return Invalid("tags", "must have names of 1 to %d characters, none of them a control character", maxTagName)
		case utf8.RuneCountInString(c.Tags[name]) > maxTagValue:
			return Invalid("tags."+name, "must have at most %d characters", maxTagValue)
		}
	}
	switch c.SKU {
	case Free, Standard, P10Premium, P20Premium:
	default:
		return Invalid("sku.name", "must be %s, %s, %s or %s", Free, Standard, P10Premium, P20Premium)
	}
	switch c.State {
	case CollectionEnabled, CollectionDisabled, CollectionSuspended:
	default:
		return Invalid("state", "must be %s, %s or %s", CollectionEnabled, CollectionDisabled, CollectionSuspended)
	}
	return c.Quota.validate(ceil.over(c.SKU.limits()))
}

func (q *Quota) validate(most Limits) error {
	if q == nil {
		return nil
	}
	if q.MaxJobCount < 0 || q.MaxJobCount > most.Jobs {
		return Invalid("quota.maxJobCount", "must be between 1 and %d", most.Jobs)
	}
	r := q.MaxRecurrence
	if r == nil {
		return nil
	}
	if err := r.spec().Validate(); err != nil {
		return underField("quota.maxRecurrence", err)
	}
	if r.spec().Fastest() < most.Fastest {
		return Invalid("quota.maxRecurrence", "must not be faster than once in %s", spoken(most.Fastest))
	}
	return nil
}

// Allowed checks a valid definition against a collection, its plan and its
// limits. Every error is a [ConflictError]: there is nothing wrong with the
// definition itself, and in another collection it would do.
func (d *Definition) Allowed(c *Collection, l Limits) error {
	if d.Recurrence != nil && d.Recurrence.Fastest() < l.Fastest {
		return Conflict("The job's recurrence is faster than its collection allows, which is once in %s.", spoken(l.Fastest))
	}
	if c.SKU != Free {
		return nil
	}
	for i, a := range []*Action{&d.Action, d.Action.Error} {
		path := [...]string{"action", "action.errorAction"}[i]
		switch {
		case a == nil:
		case a.Request != nil && a.Request.Authentication != nil:
			return Conflict("A %s collection does not allow %s.request.authentication.", Free, path)
		case a.Retry != nil && a.Retry.Fixed && a.Retry.Interval > 0 && a.Retry.Interval < minFreeRetryInterval:
			return Conflict("A %s collection does not allow %s.retryPolicy.retryInterval to be under %s.",
				Free, path, spoken(minFreeRetryInterval))
		}
	}
	return nil
}

// minFreeRetryInterval is the shortest retry interval of a Free collection. The
// default, which is shorter, stays allowed: it is not the user's.
const minFreeRetryInterval = time.Hour

// spoken says how long d is: "1 hour", "28 days", "1m30s".
func spoken(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		n := d / unit.length
		switch {
		case d <= 0 || d%unit.length != 0:
		case n == 1:
			return "1 " + unit.name
		default:
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return d.String()
}

// underField returns an error of package recur as one of a field elsewhere.
func underField(field string, err error) error {
	invalid, ok := err.(*InvalidError) //nolint:errorlint // recur returns nothing else
	if !ok {
		return err
	}
	_, member, _ := strings.Cut(invalid.Field, ".")
	return Invalid(field+"."+member, "%s", invalid.Reason)
}
