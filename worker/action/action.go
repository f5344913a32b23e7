// Package action defines what a worker can do when a job is due, and how what
// came of it reads in history. It knows the domain and nothing of networks,
// queues or stores; each kind of action is a package below it.
package action

import (
	"context"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// An Action performs one kind of action. It must be safe for concurrent use.
type Action interface {
	// Do performs d's action once and reports what came of it; trying again is
	// the planner's business. It blocks until the action is over and returns
	// soon after ctx is done. What is reported after ctx was done is
	// disregarded unless it is a success.
	Do(ctx context.Context, d *job.Dispatch) Report
}

// A Report is what came of performing an action.
type Report struct {
	Outcome job.Outcome // Succeeded, Failed or Postponed
	// Message is history's text, in Azure's format (AZURE, history): valid
	// UTF-8, at most [MaxMessage] long, and without any secret of the job.
	Message string
	// RetryAfter is how long a target that postponed asked to wait. 0: it did
	// not say.
	RetryAfter time.Duration
}

// Unsupported is the action of the types that this version cannot perform. It
// fails, and says so. Its zero value is ready to use.
type Unsupported struct{}

var _ Action = Unsupported{}

// Do fails.
func (Unsupported) Do(_ context.Context, d *job.Dispatch) Report {
	return Failure(&d.Action, "This version of Carillon cannot execute "+string(d.Action.Type)+" actions yet.")
}
