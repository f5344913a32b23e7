package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// TestWaitingDespiteALaggingCopy has a copy of the stream answer that holds only
// the first dispatches yet, or none, as copies in a cluster may for a while.
func TestWaitingDespiteALaggingCopy(t *testing.T) {
	for _, has := range []int{0, 2, 5} {
		q, nc := open(t)
		js := streams(t, nc)
		sequences := send(t, q, dispatchesOf(uid(1), 5)...)
		s, err := js.Stream(t.Context(), "DISPATCH")
		if err != nil {
			t.Fatal(err)
		}
		c := s.CachedInfo().Config
		first := s.CachedInfo().State.FirstSeq
		c.AllowDirect = false // so that this test is the only copy that answers
		if s, err = js.UpdateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		sub, err := nc.Subscribe("$JS.API.DIRECT.GET.DISPATCH", func(m *nats.Msg) {
			var from struct {
				Sequence uint64 `json:"seq"`
			}
			if err := json.Unmarshal(m.Data, &from); err != nil {
				t.Error(err)
			}
			last := uint64(0)
			for sequence := max(from.Sequence, first); sequence < first+uint64(has); sequence++ {
				raw, err := s.GetMsg(context.Background(), sequence)
				if err != nil {
					t.Error(err)
					return
				}
				_ = m.RespondMsg(&nats.Msg{Data: raw.Data, Header: nats.Header{
					"Nats-Subject": {raw.Subject}, "Nats-Sequence": {fmt.Sprint(sequence)},
					"Nats-Time-Stamp": {noon.Format(time.RFC3339Nano)}, "Nats-Last-Sequence": {fmt.Sprint(last)},
				}})
				last = sequence
			}
			end := nats.Header{"Status": {"404"}}
			if last != 0 {
				end = nats.Header{"Status": {"204"}, "Nats-Num-Pending": {"0"}, "Nats-Last-Sequence": {fmt.Sprint(last)}}
			}
			_ = m.RespondMsg(&nats.Msg{Header: end})
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		err = q.Waiting(t.Context(), 1, func(_ *job.Dispatch, sequence uint64) error {
			got = append(got, sequence)
			return nil
		})
		if d := cmp.Diff(sequences, got); d != "" || err != nil {
			t.Errorf("copy has %d: %v, %s", has, err, d)
		}
		if err := sub.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
	}
}
