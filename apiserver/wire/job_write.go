package wire

import (
	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/recur"
)

// The members stand in the order in which the live service wrote them. Texts
// that were not given are left out.
type (
	jobResource struct {
		ID         string     `json:"id"`
		Type       string     `json:"type"`
		Name       string     `json:"name"`
		Properties definition `json:"properties"`
	}
	definition struct {
		StartTime  string      `json:"startTime,omitempty"`
		Action     *action     `json:"action,omitempty"`
		Recurrence *recurrence `json:"recurrence,omitempty"`
		Policy     job.Policy  `json:"policy,omitzero"` // ours; Azure's clients ignore it
		State      job.State   `json:"state"`
		Status     *status     `json:"status,omitempty"`
	}
	recurrence struct {
		Frequency string    `json:"frequency,omitempty"`
		Count     int       `json:"count,omitempty"`
		EndTime   string    `json:"endTime,omitempty"`
		Interval  int       `json:"interval"`
		Schedule  *schedule `json:"schedule,omitempty"`
	}
	schedule struct {
		Minutes            []int        `json:"minutes,omitzero"` // an empty array is not an absent one
		Hours              []int        `json:"hours,omitzero"`
		WeekDays           []string     `json:"weekDays,omitzero"`
		MonthDays          []int        `json:"monthDays,omitzero"`
		MonthlyOccurrences []occurrence `json:"monthlyOccurrences,omitzero"`
		Months             []int        `json:"months,omitzero"` // ours
	}
	occurrence struct {
		Day        string `json:"day"`
		Occurrence int    `json:"occurrence,omitempty"`
	}
	status struct {
		LastExecutionTime string `json:"lastExecutionTime,omitempty"`
		NextExecutionTime string `json:"nextExecutionTime,omitempty"`
		ExecutionCount    int64  `json:"executionCount"`
		FailureCount      int64  `json:"failureCount"`
		FaultedCount      int64  `json:"faultedCount"`
	}
)

// WriteJob returns the resource of a job, without its secrets. A disabled job
// that never ran has no status, as with the live service.
func WriteJob(j *job.Job) []byte {
	properties := writeDefinition(&j.Definition)
	if j.Status.State != "" {
		properties.State = j.Status.State
	}
	s := &j.Status
	if properties.State != job.Disabled || s.Counters != (job.Counters{}) || !s.LastExecutionAt.IsZero() {
		properties.Status = &status{
			LastExecutionTime: formatGiven(s.LastExecutionAt),
			NextExecutionTime: formatGiven(s.NextExecutionAt),
			ExecutionCount:    s.Executions,
			FailureCount:      s.Failures,
			FaultedCount:      s.Faults,
		}
	}
	return marshal(jobResource{
		ID:         j.ID(),
		Type:       job.Provider + "/jobCollections/jobs",
		Name:       j.Collection + "/" + j.Job,
		Properties: properties,
	})
}

func writeDefinition(d *job.Definition) definition {
	w := definition{StartTime: formatGiven(d.StartAt), State: d.State, Policy: d.Policy}
	if d.Action != (job.Action{}) {
		w.Action = writeAction(&d.Action)
	}
	if r := d.Recurrence; r != nil {
		w.Recurrence = &recurrence{
			Frequency: r.Frequency.String(),
			Count:     r.Count,
			EndTime:   formatGiven(r.EndAt),
			Interval:  max(r.Interval, 1),
			Schedule:  writeSchedule(r.Schedule),
		}
	}
	return w
}

func writeSchedule(s *recur.Schedule) *schedule {
	if s == nil {
		return nil
	}
	return &schedule{
		Minutes:   s.Minutes,
		Hours:     s.Hours,
		WeekDays:  convert(s.WeekDays, recur.WeekdayName),
		MonthDays: s.MonthDays,
		MonthlyOccurrences: convert(s.MonthlyOccurrences, func(o recur.MonthlyOccurrence) occurrence {
			return occurrence{recur.WeekdayName(o.Day), o.Occurrence}
		}),
		Months: s.Months,
	}
}

// convert converts each value. Nil stays nil.
func convert[T, U any](values []T, one func(T) U) []U {
	if values == nil {
		return nil
	}
	converted := make([]U, len(values))
	for i, v := range values {
		converted[i] = one(v)
	}
	return converted
}
