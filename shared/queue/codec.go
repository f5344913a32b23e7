package queue

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// version is that of the JSON of messages. One that older processes would
// misread gets a higher one.
const version = 1

// errNewer means that a message was written by a newer carillon.
var errNewer = errors.New("message is of a newer version")

type (
	dispatchMessage struct {
		V int `json:"v"`
		*job.Dispatch
	}
	resultMessage struct {
		V int `json:"v"`
		*job.Result
	}
	entryMessage struct {
		V int `json:"v"`
		*job.Entry
	}
)

func encodeDispatch(d *job.Dispatch) ([]byte, error) {
	return encode("dispatch", dispatchMessage{version, d})
}

func encodeResult(r *job.Result) ([]byte, error) {
	return encode("result", resultMessage{version, r})
}

func encodeEntry(e *job.Entry) ([]byte, error) {
	return encode("journal entry", entryMessage{version, e})
}

func decodeDispatch(b []byte) (*job.Dispatch, error) {
	m := dispatchMessage{Dispatch: new(job.Dispatch)}
	if err := decode("dispatch", b, &m, &m.V); err != nil {
		return nil, err
	}
	return m.Dispatch, nil
}

func decodeResult(b []byte) (*job.Result, error) {
	m := resultMessage{Result: new(job.Result)}
	if err := decode("result", b, &m, &m.V); err != nil {
		return nil, err
	}
	return m.Result, nil
}

func decodeEntry(b []byte) (*job.Entry, error) {
	m := entryMessage{Entry: new(job.Entry)}
	if err := decode("journal entry", b, &m, &m.V); err != nil {
		return nil, err
	}
	return m.Entry, nil
}

func encode(what string, m any) ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", what, err)
	}
	return b, nil
}

// decode fills m, whose version is v, from b. A newer version may have any
// shape: what went wrong with the rest of it does not matter.
func decode(what string, b []byte, m any, v *int) error {
	err := json.Unmarshal(b, m)
	if err != nil {
		var only struct {
			V int `json:"v"`
		}
		_ = json.Unmarshal(b, &only)
		*v = only.V
	}
	switch {
	case *v > version:
		return fmt.Errorf("decode %s: %w: %d, and this carillon knows %d", what, errNewer, *v, version)
	case err != nil:
		return fmt.Errorf("decode %s: %w", what, err)
	case *v < 1:
		return fmt.Errorf("decode %s: it has no version", what)
	}
	return nil
}
