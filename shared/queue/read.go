package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// message is a message of a stream.
type message struct {
	subject  string
	sequence uint64
	storedAt time.Time
	data     []byte
}

// selection says which message of a stream, or from which on. It is the
// request of the broker's API.
type selection struct {
	Sequence  uint64     `json:"seq,omitempty"`
	Last      string     `json:"last_by_subj,omitempty"`
	Next      string     `json:"next_by_subj,omitempty"`
	StartTime *time.Time `json:"start_time,omitempty"`
	Batch     int        `json:"batch,omitempty"`
	MaxBytes  int        `json:"max_bytes,omitempty"`
}

// get asks the stream's leader for a message and blocks for a round trip. It
// returns nil if there is none. Other copies of a stream may be asked with less
// effort, but may not have the newest messages yet, and what is missing is
// taken for lost.
func (q *Queue) get(ctx context.Context, stream string, s selection) (*message, error) {
	m, err := q.getOnce(ctx, stream, s)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		q.mend(ctx)
		m, err = q.getOnce(ctx, stream, s)
	}
	return m, err
}

func (q *Queue) getOnce(ctx context.Context, stream string, s selection) (*message, error) {
	request, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var reply *nats.Msg
	err = q.ask(ctx, func(ctx context.Context) (err error) {
		reply, err = q.nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, request)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", stream, err)
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message *struct {
			Subject  string    `json:"subject"`
			Sequence uint64    `json:"seq"`
			Data     []byte    `json:"data"`
			Time     time.Time `json:"time"`
		} `json:"message"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return nil, fmt.Errorf("stream %s: %w", stream, err)
	}
	switch e, m := answer.Error, answer.Message; {
	case e != nil && e.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, nil
	case e != nil:
		return nil, fmt.Errorf("stream %s: %w", stream, e)
	case m == nil:
		return nil, fmt.Errorf("stream %s: answer without a message", stream)
	default:
		return &message{m.Subject, m.Sequence, m.Time, m.Data}, nil
	}
}

// info asks the stream's leader how it is and blocks for a round trip.
func (q *Queue) info(ctx context.Context, stream string) (*jetstream.StreamInfo, error) {
	var info *jetstream.StreamInfo
	once := func(ctx context.Context) error {
		s, err := q.js.Stream(ctx, stream)
		if err == nil {
			info = s.CachedInfo()
		}
		return err
	}
	err := q.ask(ctx, once)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		q.mend(ctx)
		err = q.ask(ctx, once)
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", stream, err)
	}
	return info, nil
}

// last returns the sequence of the newest message of a stream that matches
// filter, 0 if there is none.
func (q *Queue) last(ctx context.Context, stream, filter string) (uint64, error) {
	m, err := q.get(ctx, stream, selection{Last: filter})
	if m == nil {
		return 0, err
	}
	return m.sequence, nil
}

// scan calls visit for every message of a stream from the given one on that
// matches filter, in order, up to the newest when scan was called or a little
// further. It returns visit's error as it is. Messages that go away meanwhile may
// be left out.
func (q *Queue) scan(ctx context.Context, stream, filter string, from selection, visit func(*message) error) error {
	end, err := q.last(ctx, stream, filter)
	if err != nil {
		return err
	}
	from.Next = filter
	if from.StartTime == nil {
		from.Sequence = max(from.Sequence, 1)
	}
	for last := uint64(0); last < end && from.Sequence <= end; {
		list, more, err := q.batch(ctx, stream, from)
		if err != nil {
			return err
		}
		if !more && (len(list) == 0 || list[len(list)-1].sequence < end) {
			// The copy that answered has not heard of the rest yet, or the rest
			// is gone. The leader knows.
			if len(list) > 0 {
				from.Sequence, from.StartTime = list[len(list)-1].sequence+1, nil
			}
			m, err := q.get(ctx, stream, from)
			if err != nil {
				return err
			}
			if m == nil {
				end = 0
			} else {
				list = append(list, m)
			}
		}
		for _, m := range list {
			if err := visit(m); err != nil {
				return err
			}
			last = m.sequence
		}
		from.Sequence, from.StartTime = last+1, nil
	}
	return nil
}

// What one batch may hold. The broker prepares one at a time for a connection,
// and counts for each what is left of the shard.
const (
	batchMessages = 2048
	batchBytes    = 4 << 20
)

// batch returns messages of a stream in order, and whether there are more. Any
// copy of the stream may answer.
func (q *Queue) batch(ctx context.Context, stream string, from selection) (list []*message, more bool, err error) {
	err = q.ask(ctx, func(ctx context.Context) (err error) {
		list, more, err = q.batchOnce(ctx, stream, from)
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("stream %s: %w", stream, err)
	}
	return list, more, nil
}

func (q *Queue) batchOnce(ctx context.Context, stream string, from selection) (list []*message, more bool, err error) {
	from.Batch, from.MaxBytes = batchMessages, batchBytes
	request, err := json.Marshal(from)
	if err != nil {
		return nil, false, err
	}
	inbox := q.nc.NewInbox()
	sub, err := q.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := q.nc.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox, request); err != nil {
		return nil, false, err
	}
	for before := uint64(0); ; {
		reply, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, false, err
		}
		m, n, err := part(reply, before)
		switch {
		case errors.Is(err, errEnd):
			return list, n > 0, nil
		case err != nil:
			return nil, false, err
		}
		list, before = append(list, m), m.sequence
	}
}

// errEnd means that a batch is complete.
var errEnd = errors.New("end of batch")

// part reads a part of a batch: a message, or its end, with [errEnd], and then
// how many messages are left. before is the sequence of the message before it.
func part(reply *nats.Msg, before uint64) (m *message, left int, err error) {
	h := reply.Header
	if status := h.Get("Status"); status != "" {
		switch status {
		case "404":
			return nil, 0, errEnd
		case "503":
			return nil, 0, nats.ErrNoResponders
		case "204":
			left, err = strconv.Atoi(h.Get("Nats-Num-Pending"))
			if end := h.Get("Nats-Last-Sequence"); err != nil || end != strconv.FormatUint(before, 10) {
				return nil, 0, fmt.Errorf("batch ends at %s, not at %d", end, before)
			}
			return nil, left, errEnd
		}
		return nil, 0, fmt.Errorf("answer %s %s", status, h.Get("Description"))
	}
	m = &message{subject: h.Get(jetstream.SubjectHeader), data: reply.Data}
	if m.sequence, err = strconv.ParseUint(h.Get(jetstream.SequenceHeader), 10, 64); err != nil {
		return nil, 0, fmt.Errorf("answer without a sequence: %w", err)
	}
	if m.storedAt, err = time.Parse(time.RFC3339Nano, h.Get(jetstream.TimeStampHeaer)); err != nil {
		return nil, 0, fmt.Errorf("answer without a time: %w", err)
	}
	if b := h.Get("Nats-Last-Sequence"); b != strconv.FormatUint(before, 10) {
		return nil, 0, fmt.Errorf("batch goes from %d to %d, which follows %s: something was lost on the way", before, m.sequence, b)
	}
	return m, 0, nil
}
