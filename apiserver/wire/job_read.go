package wire

import (
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/recur"
)

// ReadJob reads the body of a PUT: a whole resource, or as much of it as a
// client keeps. What only the service sets (id, name, type, status, a
// certificate's thumbprint …) is ignored, so that a document read back goes in
// again, once its secrets are put back in: one that is absent is an error that
// names its field.
//
// The error is a [job.InvalidError], of field "body" if the body is not a JSON
// object. Whether the definition is valid is for [job.Definition.Validate] to
// say.
func ReadJob(body []byte) (job.Definition, error) {
	o, err := parse(body)
	if err != nil {
		return job.Definition{}, err
	}
	properties := node{v: o}.get("properties")
	properties.doc = new(document)
	if !properties.given() {
		properties.fail("must be given")
	}
	properties.isObject()
	properties.path = "" // fields are named from here down
	return properties.definition(job.Definition{})
}

// PatchJob returns was with the body of a PATCH merged into it (RFC 7396):
// objects merge, null removes, everything else replaces. A patch that sets the
// status, or a state other than enabled and disabled, is refused. Errors are as
// in [ReadJob].
//
// A secret that the patch does not give stays, as long as it belongs to the same
// authentication: of the same type and for the same user name, certificate
// thumbprint, tenant with audience and client id, SAS key name with namespace,
// or storage account with queue. A patch that changes these must give it anew.
func PatchJob(was job.Definition, body []byte) (job.Definition, error) {
	o, err := parse(body)
	if err != nil {
		return job.Definition{}, err
	}
	doc := new(document)
	patch := node{doc: doc, v: o}.get("properties")
	patch.isObject()
	patch.path = ""
	if status := patch.get("status"); status.given() {
		status.fail("must not be given: only the service sets it")
	}
	if doc.err != nil {
		return job.Definition{}, doc.err
	}
	merged, err := parse(marshal(writeDefinition(&was)))
	if err != nil {
		return job.Definition{}, err
	}
	if changes, ok := patch.v.(object); ok {
		gather(changes)
		merge(merged, changes)
	}
	return node{doc: doc, v: merged}.definition(was)
}

// definition reads properties. Secrets that they leave out are taken from was.
func (n node) definition(was job.Definition) (job.Definition, error) {
	if o, ok := n.v.(object); ok {
		gather(o)
	}
	d := job.Definition{
		StartAt:    n.get("startTime").time(),
		Action:     n.get("action").action(&was.Action),
		Recurrence: n.get("recurrence").recurrence(),
		State:      choice(n.get("state"), job.Enabled, job.Disabled),
		Policy:     n.get("policy").policy(),
	}
	if d.State == "" {
		d.State = job.Enabled
	}
	if n.doc.err != nil {
		return job.Definition{}, n.doc.err
	}
	return d, nil
}

// gather moves retryPolicy and errorAction from the other places where the
// documentation shows them into action, which comes first: a retryPolicy in
// request or in properties, an errorAction in properties.
func gather(properties object) {
	action, ok := properties["action"].value.(object)
	if !ok {
		if _, given := properties["action"]; given {
			return
		}
		action = object{}
	}
	move(action, "retrypolicy", inner(action, "request"), properties)
	move(action, "erroraction", properties)
	fallback := inner(action, "erroraction")
	move(fallback, "retrypolicy", inner(fallback, "request"))
	if len(action) > 0 {
		properties["action"] = member{"action", action}
	}
}

// move moves a member to where it belongs from the first place that gives it,
// unless it is given there. A null gives it only if no place has more.
func move(to object, key string, places ...object) {
	for _, from := range places {
		m, ok := from[key]
		if !ok || to == nil {
			continue
		}
		delete(from, key)
		if to[key].value == nil {
			to[key] = m
		}
	}
}

// inner returns a member of o that is an object, or nil.
func inner(o object, key string) object {
	found, _ := o[key].value.(object)
	return found
}

func (n node) policy() job.Policy {
	if !n.isObject() {
		return job.Policy{}
	}
	return job.Policy{
		Missed:  choice(n.get("missed"), job.MissedLatest, job.MissedAll, job.MissedSkip),
		Overlap: choice(n.get("overlap"), job.OverlapAllow, job.OverlapSkip, job.OverlapQueue),
	}
}

func (n node) recurrence() *recur.Spec {
	if !n.isObject() {
		return nil
	}
	spec := &recur.Spec{
		Frequency: n.get("frequency").frequency(),
		Interval:  1,
		Count:     n.get("count").positive(),
		EndAt:     n.get("endTime").time(),
		Schedule:  n.get("schedule").schedule(),
	}
	if interval := n.get("interval"); interval.given() {
		spec.Interval = interval.positive()
	}
	return spec
}

func (n node) frequency() recur.Frequency {
	f, ok := recur.ParseFrequency(n.text())
	if !ok && n.given() {
		n.fail("must be second, minute, hour, day, week, month or year")
	}
	return f
}

func (n node) schedule() *recur.Schedule {
	if !n.isObject() {
		return nil
	}
	hours := wholes(n.get("hours"))
	for i, hour := range hours {
		if hour == 24 {
			hours[i] = 0
		}
	}
	return &recur.Schedule{
		Minutes:            wholes(n.get("minutes")),
		Hours:              hours,
		WeekDays:           each(n.get("weekDays"), node.weekday),
		MonthDays:          wholes(n.get("monthDays")),
		MonthlyOccurrences: each(n.get("monthlyOccurrences"), node.occurrence),
		Months:             wholes(n.get("months")),
	}
}

func (n node) occurrence() recur.MonthlyOccurrence {
	if !n.isObject() {
		n.fail("must be an object with day and occurrence")
	}
	day := n.get("day")
	if !day.given() {
		day.fail("must be given")
	}
	return recur.MonthlyOccurrence{Day: day.weekday(), Occurrence: n.get("occurrence").whole()}
}

func (n node) weekday() time.Weekday {
	d, ok := recur.ParseWeekday(n.text())
	if !ok && n.given() {
		n.fail("must be sunday, monday, tuesday, wednesday, thursday, friday or saturday")
	}
	return d
}

func wholes(n node) []int { return each(n, node.whole) }

// each reads the items of an array. The result is nil only if the array is
// absent: an empty one is for [recur.Spec.Validate] to refuse.
func each[T any](n node, read func(node) T) []T {
	if !n.given() {
		return nil
	}
	items := n.list()
	values := make([]T, len(items))
	for i, item := range items {
		values[i] = read(item)
	}
	return values
}
