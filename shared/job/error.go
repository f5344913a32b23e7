package job

import (
	"errors"
	"fmt"

	"github.com/carillon-scheduler/carillon/shared/recur"
)

// What can go wrong with a resource. Stores and roles return these, wrapped, so
// that a caller can tell them apart with [errors.Is].
var (
	// ErrNotFound means that the job or collection does not exist.
	ErrNotFound = errors.New("not found")
	// ErrChanged means that the resource was changed since it was read. Read it
	// again and decide anew.
	ErrChanged = errors.New("changed meanwhile")
	// ErrNotReady means that a shard holds no state yet, or lost it: its planner
	// has to rebuild it first. Nothing was written; try again later.
	ErrNotReady = errors.New("shard is not ready")
	// ErrUnavailable means that a server that this one stands on cannot be
	// reached or cannot answer now. What was asked may have been done; try again
	// later.
	ErrUnavailable = errors.New("unavailable")
	// ErrFull means that a server has no room. Nothing was written; try again
	// when there is some.
	ErrFull = errors.New("no room")
	// ErrLeaseLost means that another planner owns the shard now, so nothing was
	// written.
	ErrLeaseLost = errors.New("lease lost")
	// ErrBehind means that the shard's position in the history is not what the
	// caller believed: Redis came back older. Nothing was written.
	ErrBehind = errors.New("store is behind")
)

// InvalidError says which field of a definition is wrong, and what is allowed.
// Field is spelled as on the wire, from properties down: "action.request.uri".
type InvalidError = recur.InvalidError

// Invalid returns an [InvalidError].
func Invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// ConflictError says why a valid request cannot be met in the present state: a
// quota is full, the job is finished. Reason is a sentence for the user.
type ConflictError struct{ Reason string }

// Error returns the reason.
func (e *ConflictError) Error() string { return e.Reason }

// Conflict returns a [ConflictError].
func Conflict(format string, args ...any) error {
	return &ConflictError{Reason: fmt.Sprintf(format, args...)}
}
