package client

import "time"

// The documents of the API, with the members that callers of this package read
// or write. Others are ignored in answers, and cannot be written but through a
// document of the caller's own. Times are UTC.
type (
	// Collection is a job collection.
	Collection struct {
		ID         string               `json:"id,omitempty"`
		Name       string               `json:"name,omitempty"`
		Location   string               `json:"location,omitempty"`
		Tags       map[string]string    `json:"tags,omitempty"`
		Properties CollectionProperties `json:"properties,omitzero"`

		ETag string `json:"-"` // of an answer to GET, PUT or PATCH
	}
	// CollectionProperties are what a collection is.
	CollectionProperties struct {
		SKU   *SKU   `json:"sku,omitempty"`
		State string `json:"state,omitempty"` // Enabled, Disabled or Suspended
		Quota *Quota `json:"quota,omitempty"`
	}
	// SKU is a plan.
	SKU struct {
		Name string `json:"name"`
	}
	// Quota is what a collection sets in place of its plan's limits.
	Quota struct {
		MaxJobCount   int            `json:"maxJobCount,omitempty"`
		MaxRecurrence *MaxRecurrence `json:"maxRecurrence,omitempty"`
	}
	// MaxRecurrence is the fastest recurrence of a collection's jobs.
	MaxRecurrence struct {
		Frequency string `json:"frequency"`
		Interval  int    `json:"interval"`
	}

	// Job is a job.
	Job struct {
		ID         string        `json:"id,omitempty"`
		Name       string        `json:"name,omitempty"` // collection/job
		Properties JobProperties `json:"properties"`

		ETag string `json:"-"` // of an answer to GET, PUT or PATCH
	}
	// JobProperties are what a job is.
	JobProperties struct {
		StartTime  time.Time   `json:"startTime,omitzero"`
		Action     *Action     `json:"action,omitempty"`
		Recurrence *Recurrence `json:"recurrence,omitempty"`
		State      string      `json:"state,omitempty"`  // enabled, disabled, completed or faulted
		Status     *Status     `json:"status,omitempty"` // never written
	}
	// Action is what a job does. Only HTTP actions can be told apart here.
	Action struct {
		Type        string       `json:"type,omitempty"`
		Request     *Request     `json:"request,omitempty"`
		RetryPolicy *RetryPolicy `json:"retryPolicy,omitempty"`
		ErrorAction *Action      `json:"errorAction,omitempty"`
	}
	// Request is an HTTP call.
	Request struct {
		URI     string            `json:"uri,omitempty"`
		Method  string            `json:"method,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
		Body    string            `json:"body,omitempty"`
	}
	// RetryPolicy says how a failed action is tried again.
	RetryPolicy struct {
		Type     string `json:"retryType,omitempty"`     // fixed or none
		Interval string `json:"retryInterval,omitempty"` // [d.]hh:mm:ss
		Count    *int   `json:"retryCount,omitempty"`
	}
	// Recurrence says how a job recurs.
	Recurrence struct {
		Frequency string    `json:"frequency,omitempty"`
		Count     int       `json:"count,omitempty"` // 0: no end
		EndTime   time.Time `json:"endTime,omitzero"`
		Interval  int       `json:"interval,omitempty"` // 0: 1
		Schedule  *Schedule `json:"schedule,omitempty"`
	}
	// Schedule chooses times within a recurrence.
	Schedule struct {
		Minutes            []int               `json:"minutes,omitempty"`
		Hours              []int               `json:"hours,omitempty"`
		WeekDays           []string            `json:"weekDays,omitempty"`
		MonthDays          []int               `json:"monthDays,omitempty"`
		MonthlyOccurrences []MonthlyOccurrence `json:"monthlyOccurrences,omitempty"`
		Months             []int               `json:"months,omitempty"`
	}
	// MonthlyOccurrence is a weekday of a month: the first of them, the last.
	MonthlyOccurrence struct {
		Day        string `json:"day"`
		Occurrence int    `json:"occurrence,omitempty"` // 0: each
	}
	// Status is how far a job is.
	Status struct {
		LastExecutionTime time.Time `json:"lastExecutionTime,omitzero"`
		NextExecutionTime time.Time `json:"nextExecutionTime,omitzero"`
		ExecutionCount    int       `json:"executionCount"`
		FailureCount      int       `json:"failureCount"`
		FaultedCount      int       `json:"faultedCount"`
	}

	// Row is a row of a job's history: an attempt, or what was skipped.
	Row struct {
		Name       string        `json:"name"`
		Properties RowProperties `json:"properties"`
	}
	// RowProperties are what a row says.
	RowProperties struct {
		StartTime             time.Time `json:"startTime"`
		EndTime               time.Time `json:"endTime"`
		ExpectedExecutionTime time.Time `json:"expectedExecutionTime"`
		Status                string    `json:"status"` // empty for a completed attempt; failed, postponed or skipped
		Message               string    `json:"message"`
		RetryCount            int       `json:"retryCount"`
		RepeatCount           int64     `json:"repeatCount"`
		ActionName            string    `json:"actionName"` // MainAction or ErrorAction
	}
)
