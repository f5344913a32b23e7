package job

import (
	"cmp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxDefinitionBytes is the most that a job may take up on the wire (Azure
// documentation: Scheduler limits). The API server holds the request to it.
const MaxDefinitionBytes = 16 << 10

// maxMonthsAhead is the longest span of Azure Scheduler: how far ahead a job may
// start and end, and how far apart its occurrences may lie.
const maxMonthsAhead = 18

// Validate checks d against all that holds whatever the collection (AZURE,
// schedules and limits). It returns an [InvalidError] that names the first wrong
// field, in the order of the document, or nil. What an expired certificate is
// good for, and whether a body was too large, was judged when it was read.
//
// ceil says what shortest retry interval the operator allows; the zero value
// leaves Azure's.
func (d *Definition) Validate(now time.Time, ceil Ceilings) error {
	if err := validateTime("startTime", d.StartAt, now); err != nil {
		return err
	}
	if err := d.Action.validate("action", cmp.Or(ceil.MinRetry, minRetryInterval)); err != nil {
		return err
	}
	if err := d.validateRecurrence(now); err != nil {
		return err
	}
	if d.State != Enabled && d.State != Disabled {
		return Invalid("state", "must be %s or %s", Enabled, Disabled)
	}
	return nil
}

func (d *Definition) validateRecurrence(now time.Time) error {
	if d.Recurrence == nil {
		return nil
	}
	if err := d.Recurrence.Validate(); err != nil {
		return err
	}
	const field = "recurrence.endTime"
	end := d.Recurrence.EndAt
	if err := validateTime(field, end, now); err != nil {
		return err
	}
	switch {
	case end.IsZero():
	case end.Before(now):
		return Invalid(field, "must not be in the past")
	case end.Before(d.StartAt):
		return Invalid(field, "must not be before startTime")
	}
	anchor := d.StartAt
	if anchor.IsZero() {
		anchor = now
	}
	_, err := NewTimetable(d, anchor) // does it ever occur?
	return err
}

// validateTime checks a startTime or endTime, zero meaning that none was given.
func validateTime(field string, t, now time.Time) error {
	switch {
	case t.IsZero():
		return nil
	case t.After(now.AddDate(0, maxMonthsAhead, 0)):
		return Invalid(field, "must be at most %d months ahead", maxMonthsAhead)
	case t.UTC().Year() < 1:
		return Invalid(field, "must lie in the years 1 to 9999")
	}
	return nil
}

// maxName is the longest name of a resource in Azure Scheduler.
const maxName = 100

// ValidName checks the name of a resource; kind, such as "job", names the field
// in the error, which is an [InvalidError]. A name becomes part of ids, URLs and
// messages, so it has no characters that mean something there: Azure Resource
// Manager's <>*%&:?/\ and, for us, # + " and control characters.
func ValidName(kind, name string) error {
	const special = `<>*%&:?/\#+"`
	switch {
	case name == "" || utf8.RuneCountInString(name) > maxName:
		return Invalid(kind, "must have 1 to %d characters", maxName)
	case !utf8.ValidString(name) || hasControl(name) || strings.ContainsAny(name, special):
		return Invalid(kind, "must not hold control characters or any of %s", special)
	case strings.HasPrefix(name, " ") || strings.HasSuffix(name, " ") || strings.HasSuffix(name, "."):
		return Invalid(kind, "must not begin with a space, nor end with a space or a dot")
	}
	return nil
}

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }
