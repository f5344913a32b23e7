package job

import "time"

// ValidateSchedule checks startTime and recurrence alone, as [Definition.Validate]
// does. It returns an [InvalidError] or nil.
func (d *Definition) ValidateSchedule(now time.Time) error {
	if err := validateTime("startTime", d.StartAt, now); err != nil {
		return err
	}
	return d.validateRecurrence(now)
}
