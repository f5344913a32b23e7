package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// outgoing is a message to publish, or why there is none.
type outgoing struct {
	subject string
	id      string // empty: duplicates are welcome
	data    []byte
	err     error
}

// publish publishes messages to a stream, all on their way at once, and blocks
// until each one's fate is known, at most for patience each or until ctx is
// done. It returns their sequences, 0 for those that were not acknowledged, and
// why those were not. They may have been stored all the same.
//
// A message whose id the stream remembers is not stored again; its sequence is
// that of the one stored before, even if that has been taken out since.
func (q *Queue) publish(ctx context.Context, stream string, list []outgoing) (sequences []uint64, errs []error) {
	sequences, errs = make([]uint64, len(list)), make([]error, len(list))
	missing := q.publishOnce(ctx, stream, list, sequences, errs)
	if missing {
		q.mend(ctx)
		q.publishOnce(ctx, stream, list, sequences, errs)
	}
	return sequences, errs
}

// publishOnce publishes those of the messages that have no sequence yet. It
// reports whether the stream was missing.
func (q *Queue) publishOnce(ctx context.Context, stream string, list []outgoing, sequences []uint64, errs []error) (missing bool) {
	acks := make([]jetstream.PubAckFuture, len(list))
	for i := range list {
		m := &list[i]
		if sequences[i] != 0 {
			continue
		}
		if errs[i] = m.err; m.err == nil {
			errs[i] = ctx.Err()
		}
		if errs[i] == nil {
			errs[i] = q.connected()
		}
		if errs[i] == nil {
			acks[i], errs[i] = q.send(stream, m)
		}
	}
	accepted := false
	for i, ack := range acks {
		if ack == nil {
			continue
		}
		select {
		case a := <-ack.Ok():
			sequences[i], accepted = a.Sequence, true
		case err := <-ack.Err():
			errs[i] = q.refused(ctx, stream, err)
			missing = missing || errors.Is(err, jetstream.ErrNoStreamResponse)
		case <-ctx.Done():
			errs[i] = context.Cause(ctx)
		}
	}
	if accepted {
		q.cfg.Pressure.Over(ctx, condition(stream))
	}
	return missing
}

func (q *Queue) send(stream string, m *outgoing) (jetstream.PubAckFuture, error) {
	header := nats.Header{jetstream.ExpectedStreamHeader: {stream}}
	if m.id != "" {
		header[jetstream.MsgIDHeader] = []string{m.id}
	}
	return q.js.PublishMsgAsync(&nats.Msg{Subject: m.subject, Header: header, Data: m.data},
		jetstream.WithStallWait(patience), // when too many are pending; the default gives up after 200 ms
		jetstream.WithRetryAttempts(0))    // publish does it
}

// publishAll publishes messages until all are acknowledged, or ctx is done. It
// gives up at once where trying again is of no use. stored is asked of messages
// that were tried so long ago that the stream may have forgotten their ids; it
// reports whether they were stored.
func (q *Queue) publishAll(ctx context.Context, what, stream string, list []outgoing, stored func(i int) (bool, error)) error {
	index := make([]int, len(list)) // of what is left
	for i := range index {
		index[i] = i
	}
	var b backoff
	var before error
	for began := time.Now(); ; {
		var last error
		if time.Since(began) > duplicates/2 {
			index, last = unstored(index, stored)
		}
		if last == nil {
			index, last = q.publishSome(ctx, stream, list, index)
		}
		switch {
		case len(index) == 0:
			q.publishing.over(ctx, what)
			return nil
		case hopeless(last):
			return last
		case ctx.Err() != nil && before != nil:
			return fmt.Errorf("%w (%w)", context.Cause(ctx), before)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		before = last
		if !errors.Is(last, job.ErrFull) { // which is said elsewhere
			q.publishing.met(ctx, what, last)
		}
		q.wait(ctx, &b)
	}
}

// publishSome publishes the messages with the given indices. It returns those
// of the ones that were not acknowledged, and why one was not.
func (q *Queue) publishSome(ctx context.Context, stream string, list []outgoing, index []int) (rest []int, err error) {
	some := make([]outgoing, len(index))
	for k, i := range index {
		some[k] = list[i]
	}
	sequences, errs := q.publish(ctx, stream, some)
	for k, i := range index {
		if sequences[k] != 0 {
			continue
		}
		rest = append(rest, i)
		if !hopeless(err) {
			err = errs[k]
		}
	}
	return rest, err
}

// unstored returns those of the indices whose messages were not stored. It
// fails if it cannot tell of one.
func unstored(index []int, stored func(i int) (bool, error)) (rest []int, err error) {
	for k, i := range index {
		ok, err := stored(i)
		if err != nil {
			return append(rest, index[k:]...), err
		}
		if !ok {
			rest = append(rest, i)
		}
	}
	return rest, nil
}

// hopeless reports whether publishing the same again fails the same way.
func hopeless(err error) bool {
	return errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrConnectionClosed)
}
