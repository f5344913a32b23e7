package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// What the broker answers when it has no room: the error codes of JetStream for
// resources of account, server, memory and storage that are used up, and the one
// for a message that could not be stored, which says why in words.
var used = []jetstream.ErrorCode{10002, 10023, 10028, 10047} //nolint:gochecknoglobals // a constant

const notStored jetstream.ErrorCode = 10077

// condition is what a full stream is called on the board.
func condition(stream string) string { return "nats " + stream }

// refused marks the error of a message that found no room as [job.ErrFull],
// which goes on the board. Nothing was stored then.
func (q *Queue) refused(ctx context.Context, stream string, err error) error {
	e, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return err
	}
	advice := "give nats-server more storage (max_file_store, or the account's limit)"
	switch {
	case slices.Contains(used, e.ErrorCode):
	case e.ErrorCode == notStored && strings.HasPrefix(e.Description, "maximum "):
		advice = "raise the stream's max_bytes or max_msgs"
	default:
		return err
	}
	if stream == dispatches {
		advice += ", or start more workers"
	}
	q.cfg.Pressure.Met(ctx, condition(stream), "full, "+e.Description, advice+"; what it refuses is tried again")
	return fmt.Errorf("stream %s has %w: %w", stream, job.ErrFull, err)
}
