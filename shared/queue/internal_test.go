package queue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestRecent(t *testing.T) {
	for version, want := range map[string]bool{
		"2.11.0": true, "2.15.2": true, "2.12.0-preview.1": true, "3.0.0": true, "2.11": true,
		"2.10.29": false, "2.9.10": false, "1.99.0": false, "": false, "2": false, "dev": false, "2.x.1": false,
	} {
		if got := recent(version); got != want {
			t.Errorf("version %q serves: %v, want %v", version, got, want)
		}
	}
}

func TestViewOf(t *testing.T) {
	state := func(first, last, n uint64) jetstream.StreamState {
		return jetstream.StreamState{FirstSeq: first, LastSeq: last, Msgs: n}
	}
	const yes, no, ask = "yes", "no", "ask"
	for _, tt := range []struct {
		name               string
		state              jetstream.StreamState
		delivered, pending uint64
		want               map[uint64]string
	}{
		{"new stream", state(0, 0, 0), 0, 0, map[uint64]string{0: no, 1: no}},
		{"empty", state(8, 7, 0), 7, 0, map[uint64]string{0: no, 6: no, 7: no, 8: no}},
		{"whole", state(5, 9, 5), 0, 0, map[uint64]string{4: no, 5: yes, 9: yes, 10: no}},
		{"some done", state(5, 19, 12), 9, 10, map[uint64]string{4: no, 5: ask, 9: ask, 10: yes, 19: yes, 20: no}},
		{"all delivered", state(5, 19, 12), 19, 0, map[uint64]string{5: ask, 19: ask, 20: no}},
		{"some of the new purged", state(5, 19, 12), 9, 8, map[uint64]string{5: ask, 10: ask, 19: ask}},
		{"more came in meanwhile", state(5, 25, 18), 9, 10, map[uint64]string{5: ask, 10: ask, 25: ask}},
		{"no consumer", state(5, 19, 12), 0, 0, map[uint64]string{5: ask, 19: ask, 20: no}},
	} {
		v := viewOf(tt.state, tt.delivered, tt.pending)
		for sequence, want := range tt.want {
			got := ask
			if there, known := v.present(sequence); known && there {
				got = yes
			} else if known {
				got = no
			}
			if got != want {
				t.Errorf("%s: %d is there: %s, want %s", tt.name, sequence, got, want)
			}
		}
	}
}

// TestBatchPartsAreChecked has parts of a batch go missing.
func TestBatchPartsAreChecked(t *testing.T) {
	header := func(pairs ...string) nats.Header {
		h := make(nats.Header)
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	good := []string{"Nats-Sequence", "7", "Nats-Time-Stamp", "2026-03-01T12:00:00.5Z", "Nats-Subject", "s", "Nats-Last-Sequence", "5"}
	for _, tt := range []struct {
		name   string
		header nats.Header
		before uint64
		want   string // of the error
	}{
		{"message", header(good...), 5, ""},
		{"one before it is missing", header(good...), 4, "something was lost"},
		{"no sequence", header(good[2:]...), 5, "without a sequence"},
		{"no time", header(append(good[4:], good[:2]...)...), 5, "without a time"},
		{"end", header("Status", "204", "Nats-Num-Pending", "3", "Nats-Last-Sequence", "5"), 5, "end of batch"},
		{"one before the end is missing", header("Status", "204", "Nats-Num-Pending", "3", "Nats-Last-Sequence", "5"), 4, "batch ends at 5, not at 4"},
		{"end without a count", header("Status", "204", "Nats-Last-Sequence", "5"), 5, "batch ends"},
		{"nothing", header("Status", "404"), 0, "end of batch"},
		{"no stream", header("Status", "503"), 0, "no responders"},
		{"refused", header("Status", "408", "Description", "Bad Request"), 0, "408 Bad Request"},
	} {
		m, _, err := part(&nats.Msg{Header: tt.header}, tt.before)
		if tt.want == "" && (err != nil || m.sequence != 7) {
			t.Errorf("%s: %+v, %v", tt.name, m, err)
		}
		if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestInboxNoticesGaps has messages of a consumer go missing.
func TestInboxNoticesGaps(t *testing.T) {
	put := func(b *inbox, stream, consumer uint64) {
		b.put(&nats.Msg{
			Sub: new(nats.Subscription), Subject: "history.1.u",
			Reply: fmt.Sprintf("$JS.ACK.HISTORY.c.1.%d.%d.1700000000000000000.0", stream, consumer),
		})
	}
	for _, tt := range []struct {
		name string
		sent [][2]uint64 // sequences in stream and consumer
		good int
	}{
		{"all", [][2]uint64{{12, 1}, {15, 2}, {16, 3}}, 3},
		{"first missing", [][2]uint64{{15, 2}, {16, 3}}, 0},
		{"one missing", [][2]uint64{{12, 1}, {16, 3}, {17, 4}}, 1},
		{"one twice", [][2]uint64{{12, 1}, {12, 1}, {15, 2}}, 1},
		{"from before the place", [][2]uint64{{10, 1}}, 0},
	} {
		b := &inbox{last: 10, more: make(chan struct{}, 1), gap: make(chan error, 1)}
		for _, s := range tt.sent {
			put(b, s[0], s[1])
		}
		if got := len(b.take(9)); got != tt.good || len(b.gap) == 1 != (tt.good < len(tt.sent)) {
			t.Errorf("%s: %d taken, gaps %d; want %d of %d", tt.name, got, len(b.gap), tt.good, len(tt.sent))
		}
	}
	b := &inbox{more: make(chan struct{}, 1), gap: make(chan error, 1)}
	b.put(&nats.Msg{Sub: new(nats.Subscription)})
	if len(b.gap) != 1 {
		t.Error("message from nowhere was taken")
	}
}

// TestUnstored shows that of what was tried long ago, only what is known not to
// be stored is published again.
func TestUnstored(t *testing.T) {
	stored := map[int]bool{1: true, 4: true}
	look := func(i int) (bool, error) {
		if i == 9 {
			return false, errSlow
		}
		return stored[i], nil
	}
	rest, err := unstored([]int{0, 1, 4, 5}, look)
	if err != nil || len(rest) != 2 || rest[0] != 0 || rest[1] != 5 {
		t.Errorf("left: %v, %v", rest, err)
	}
	rest, err = unstored([]int{1, 2, 9, 4}, look) // nothing is published before it is known
	if err == nil || len(rest) != 3 || rest[0] != 2 || rest[1] != 9 || rest[2] != 4 {
		t.Errorf("left: %v, %v", rest, err)
	}
}
