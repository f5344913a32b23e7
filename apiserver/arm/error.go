package arm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// The codes of errors, as Azure Resource Manager and Azure Scheduler spelled
// them (AZURE, errors).
const (
	CodeAuthenticationFailed = "AuthenticationFailed"
	CodeAuthorizationFailed  = "AuthorizationFailed"
	CodeBadRequest           = "BadRequest"
	CodeConflict             = "Conflict"
	CodeInternal             = "InternalError"
	CodeInvalidAPIVersion    = "InvalidApiVersionParameter"
	CodeMethodNotAllowed     = "MethodNotAllowed"
	CodeMissingAPIVersion    = "MissingApiVersionParameter"
	CodeNotFound             = "NotFound"         // a job, or a path
	CodeResourceNotFound     = "ResourceNotFound" // a collection
	CodePreconditionFailed   = "PreconditionFailed"
	CodeRequestTimeout       = "RequestTimeout"
	CodeServerBusy           = "ServerBusy"
	CodeTooLarge             = "RequestEntityTooLarge"
	CodeTooManyRequests      = "TooManyRequests"
)

// Error is an answer that is an error. All of it but Cause is public.
type Error struct {
	Status  int
	Code    string
	Message string
	// RetryAfter, if positive, is sent in whole seconds.
	RetryAfter time.Duration
	// Header is sent too: Allow, WWW-Authenticate.
	Header http.Header
	// Cause is for the log.
	Cause error
}

// Error returns what the log needs.
func (e *Error) Error() string {
	s := fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message)
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// level returns how loudly the log is to tell of the error, if at all: what the
// client did wrong is the client's to know.
func (e *Error) level() (slog.Level, bool) {
	switch {
	case e.Status == http.StatusServiceUnavailable:
		return slog.LevelWarn, true
	case e.Status >= http.StatusInternalServerError:
		return slog.LevelError, true
	}
	return slog.LevelDebug, false
}

// problem turns any error into an answer. It is the only place that decides on
// a status for the domain's errors, and what of an error the public may read.
func problem(err error, requestID string) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*job.InvalidError](err); ok {
		return &Error{Status: http.StatusBadRequest, Code: CodeBadRequest, Message: e.Error()}
	}
	if e, ok := errors.AsType[*job.ConflictError](err); ok {
		return &Error{Status: http.StatusConflict, Code: CodeConflict, Message: e.Reason}
	}
	switch {
	case errors.Is(err, job.ErrNotReady):
		return busy("No planner has opened this shard yet. Start one (carillon planner), or wait for it to finish rebuilding, and repeat the request.", err)
	case errors.Is(err, job.ErrChanged):
		return busy("Others keep changing this resource. Repeat the request.", err)
	case errors.Is(err, job.ErrFull):
		return full("Redis is out of memory. Nothing was changed. Give it more (maxmemory) or delete jobs, and repeat the request.", err)
	case errors.Is(err, job.ErrUnavailable):
		return busy("A server that this one stands on does not answer; /readyz says which. Repeat the request.", err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return busy("The request took too long. It may have been carried out; repeat it.", err)
	}
	return &Error{
		Status: http.StatusInternalServerError, Code: CodeInternal, Cause: err,
		Message: "Internal error. The server's log says more under request id " + requestID + ".",
	}
}

// busy asks the client to try again in a second.
func busy(message string, cause error) *Error {
	return &Error{Status: http.StatusServiceUnavailable, Code: CodeServerBusy, Message: message, RetryAfter: time.Second, Cause: cause}
}

// fullRetryAfter is when to try again what found no room: somebody has to make
// some.
const fullRetryAfter = 10 * time.Second

// full is the answer when a server has no room. It is a 503, which every Azure
// client sends again by itself, and not a 507, which go-autorest does not (our
// decision).
func full(message string, cause error) *Error {
	e := busy(message, cause)
	e.RetryAfter = fullRetryAfter
	return e
}

// unjournaled is the answer when the store holds a change and the journal did
// not confirm it.
func unjournaled(cause error) *Error {
	return busy("The request may have been carried out, but the journal did not confirm it. Repeat the request.", cause)
}

func badRequest(message string) *Error {
	return &Error{Status: http.StatusBadRequest, Code: CodeBadRequest, Message: message}
}

// jobNotFound has the live service's words (recorded).
func jobNotFound(name string) *Error {
	return &Error{Status: http.StatusNotFound, Code: CodeNotFound, Message: "Job '" + name + "' cannot be found."}
}

// collectionNotFound has Azure Resource Manager's words (recorded).
func collectionNotFound(ref job.CollectionRef) *Error {
	return &Error{
		Status: http.StatusNotFound, Code: CodeResourceNotFound,
		Message: "The Resource '" + job.Provider + "/jobcollections/" + ref.Collection + "' under resource group '" + ref.ResourceGroup + "' was not found.",
	}
}
