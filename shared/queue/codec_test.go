package queue

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// full returns a dispatch with as many fields set as a real one has.
func full() *job.Dispatch {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123e6, time.UTC)
	return &job.Dispatch{
		Attempt: job.Attempt{
			Run: job.Run{
				Tag: job.Tag("0123456789abcdef0123456789abcdef", at), UID: "0123456789abcdef0123456789abcdef",
				Revision: 3, At: at, Repeat: 12, Manual: true, Phase: job.ErrorAction, RetryCount: 2,
			},
			Shard: 7, Ref: job.Ref{CollectionRef: job.CollectionRef{Subscription: "s", ResourceGroup: "r", Collection: "c"}, Job: "j"},
			Location: "West US", DueAt: at.Add(time.Second), Retries: 4, Interval: 30 * time.Second, Fallback: true,
			Planned: job.Planned{Series: 2, Count: 11, NextAt: at.Add(time.Minute), Counters: job.Counters{Executions: 10, Failures: 3, Faults: 1}},
		},
		Resend: 1,
		Action: job.Action{Type: job.HTTPS, Request: &job.Request{
			URI: "https://example.com/a?b=c&d", Method: "POST", Headers: map[string]string{"Content-Type": "application/json"},
			Body: strings.Repeat(`{"text":"<ä>"}`, 30), Authentication: &job.Authentication{Type: job.Basic, Username: "u", Password: "sealed"},
		}},
	}
}

func TestCodec(t *testing.T) {
	d := full()
	b, err := encodeDispatch(d)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeDispatch(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, got); diff != "" {
		t.Error(diff)
	}

	r := &job.Result{Attempt: d.Attempt, Performance: "p", StartedAt: d.At, EndedAt: d.DueAt, Outcome: job.Postponed, Message: "€", RetryAfter: 1, Missed: 2, From: d.At, Waiting: []time.Time{d.DueAt}}
	if b, err = encodeResult(r); err != nil {
		t.Fatal(err)
	}
	if got, err := decodeResult(b); err != nil || !cmp.Equal(r, got) {
		t.Errorf("%v: %s", err, cmp.Diff(r, got))
	}

	e := &job.Entry{Shard: 1, UID: "u", Revision: 2, Deleted: true, Job: &job.Job{UID: "u", Ref: d.Ref, Definition: job.Definition{Action: d.Action}}}
	if b, err = encodeEntry(e); err != nil {
		t.Fatal(err)
	}
	if got, err := decodeEntry(b); err != nil || !cmp.Equal(e, got) {
		t.Errorf("%v: %s", err, cmp.Diff(e, got))
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, tt := range []struct {
		text  string
		newer bool
	}{
		{`{"v":2}`, true},
		{`{"v":3,"tag":{"is":"an object now"}}`, true},
		{`{"v":2,"at":12}`, true},
		{`{"v":1,"tag":7}`, false},
		{`{"v":0}`, false},
		{`{"v":-1}`, false},
		{`{"tag":"a"}`, false},
		{`{"v":"1"}`, false},
		{`[]`, false},
		{`null`, false},
		{``, false},
		{`{"v":1}{`, false},
	} {
		_, err := decodeDispatch([]byte(tt.text))
		if err == nil || errors.Is(err, errNewer) != tt.newer {
			t.Errorf("%s: %v, want an error, newer: %v", tt.text, err, tt.newer)
		}
		_, err = decodeEntry([]byte(tt.text))
		if tt.newer && !errors.Is(err, errNewer) {
			t.Errorf("%s as an entry: %v", tt.text, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	b, err := encodeDispatch(full())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"v":2}`))
	f.Add([]byte(`{"v":1,"job":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if d, err := decodeDispatch(b); err == nil {
			again, err := encodeDispatch(d)
			if err != nil {
				t.Skip() // years that JSON has no form for
			}
			if _, err := decodeDispatch(again); err != nil {
				t.Errorf("decoded, encoded and not decoded again: %v", err)
			}
		}
		_, _ = decodeResult(b)
		_, _ = decodeEntry(b)
	})
}

func BenchmarkEncodeDispatch(b *testing.B) {
	d := full()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := encodeDispatch(d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeDispatch(b *testing.B) {
	text, err := encodeDispatch(full())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeDispatch(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeEntry(b *testing.B) {
	d := full()
	text, err := encodeEntry(&job.Entry{Shard: 1, UID: "u", Job: &job.Job{UID: "u", Ref: d.Ref, Definition: job.Definition{Action: d.Action}}})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeEntry(text); err != nil {
			b.Fatal(err)
		}
	}
}
