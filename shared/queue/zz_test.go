package queue_test

import (
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/queue"
)

func TestZZ(t *testing.T) {
	if os.Getenv("ZZ") == "" {
		t.Skip()
	}
	nc := connect(t)
	q := reopen(t, nc, queue.Config{Shards: 16})
	const n = 1_000_000
	began := time.Now()
	for at := 0; at < n; at += 2000 {
		list := make([]job.Entry, 2000)
		for i := range list {
			list[i] = jobEntry(uid(at+i), 1)
			list[i].Shard = (at + i) % 16
		}
		journal(t, q, list...)
	}
	t.Log("journal", time.Since(began))
	for range 3 {
		began = time.Now()
		c := 0
		_, err := q.Entries(t.Context(), 1, 0, func(job.Entry) error { c++; return nil })
		t.Log("entries of a shard", c, err, time.Since(began))
	}
	began = time.Now()
	_, err := q.JournalEnd(t.Context(), 1)
	t.Log("end", err, time.Since(began))
	s, _ := streams(t, nc).Stream(t.Context(), "DEFINITIONS")
	began = time.Now()
	con, err := s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, FilterSubject: "definitions.1.*.*"})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("consumer made", time.Since(began))
	it, _ := con.Messages(jetstream.PullMaxMessages(2000))
	for range n / 16 {
		if _, err := it.Next(); err != nil {
			t.Fatal(err)
		}
	}
	it.Stop()
	t.Log("consumer raw", time.Since(began))
}
