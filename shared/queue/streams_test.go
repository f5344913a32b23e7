package queue_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/shared/queue"
)

func TestOpenMakesStreams(t *testing.T) {
	_, nc := open(t)
	js := streams(t, nc)
	type bounds struct {
		Subjects   []string
		Retention  jetstream.RetentionPolicy
		Discard    jetstream.DiscardPolicy
		MaxBytes   int64
		PerSubject int64
		MaxAge     time.Duration
		Duplicates time.Duration
		Direct     bool
		Layout     string
		Shards     string
	}
	want := map[string]bounds{
		"DISPATCH":    {[]string{"dispatch.*.*"}, jetstream.WorkQueuePolicy, jetstream.DiscardNew, 1 << 30, -1, 0, 30 * time.Second, true, "1", "4"},
		"HISTORY":     {[]string{"history.*.*"}, jetstream.LimitsPolicy, jetstream.DiscardNew, -1, 1000, 60 * 24 * time.Hour, 30 * time.Second, true, "1", "4"},
		"DEFINITIONS": {[]string{"definitions.*.*.*"}, jetstream.LimitsPolicy, jetstream.DiscardNew, -1, 8, 0, 30 * time.Second, true, "1", "4"},
	}
	got := make(map[string]bounds)
	for name := range want {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		c := s.CachedInfo().Config
		got[name] = bounds{
			c.Subjects, c.Retention, c.Discard, c.MaxBytes, c.MaxMsgsPerSubject, c.MaxAge, c.Duplicates, c.AllowDirect,
			c.Metadata["carillon-layout"], c.Metadata["carillon-shards"],
		}
		if c.Storage != jetstream.FileStorage {
			t.Errorf("%s is not kept in files", name)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	c, err := js.Consumer(t.Context(), "DISPATCH", "workers")
	if err != nil {
		t.Fatal(err)
	}
	if c := c.CachedInfo().Config; c.AckWait != 30*time.Second || c.MaxDeliver != -1 || c.MaxAckPending != 65536 || c.AckPolicy != jetstream.AckExplicitPolicy {
		t.Errorf("consumer is %+v", c)
	}
}

func TestOpenManyTimesAtOnce(t *testing.T) {
	nc := connect(t)
	for range 2 { // streams are made, then exist
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				q, err := queue.Open(t.Context(), nc, queue.Config{Shards: 4})
				if err == nil {
					err = q.Ready(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

func TestOpenErrors(t *testing.T) {
	nc := connect(t)
	js := streams(t, nc)
	if _, err := queue.Open(t.Context(), nc, queue.Config{}); err == nil {
		t.Error("no shards: no error")
	}
	if _, err := queue.Open(t.Context(), nc, queue.Config{Shards: 1, AckWait: -1}); err == nil {
		t.Error("negative AckWait: no error")
	}

	foreign := jetstream.StreamConfig{Name: "HISTORY", Subjects: []string{"theirs"}}
	if _, err := js.CreateStream(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	fails(t, nc, "open queue: stream HISTORY: it exists and is not carillon's")
	for _, name := range []string{"HISTORY", "DISPATCH"} {
		if err := js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}

	reopen(t, nc, queue.Config{Shards: 16})
	fails(t, nc, "open queue: stream DISPATCH: it was made for 16 shards, and 4 are asked for")

	s, err := js.Stream(t.Context(), "DISPATCH")
	if err != nil {
		t.Fatal(err)
	}
	newer := s.CachedInfo().Config
	newer.Metadata["carillon-layout"] = "2"
	if _, err := js.UpdateStream(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	fails(t, nc, "open queue: stream DISPATCH: it has layout 2, of a newer carillon; this one knows 1")
}

func fails(t *testing.T, nc *nats.Conn, want string) {
	t.Helper()
	_, err := queue.Open(t.Context(), nc, queue.Config{Shards: 4})
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("open: %v, want one line: %s", err, want)
	}
}

func TestOpenTakesNothingAway(t *testing.T) {
	q, nc := open(t)
	js := streams(t, nc)
	for _, name := range []string{"DISPATCH", "HISTORY"} {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		c := s.CachedInfo().Config
		c.Duplicates = time.Second // ours to set
		c.MaxAge = 0               // the operator's: for ever
		c.MaxBytes = 4 << 30
		if _, err := js.UpdateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	sequences := send(t, q, dispatch(uid(1), 1))
	q = reopen(t, nc, queue.Config{DispatchMaxBytes: 1 << 20, AckWait: time.Second})
	for _, name := range []string{"DISPATCH", "HISTORY"} {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if c := s.CachedInfo().Config; c.Duplicates != 30*time.Second || c.MaxAge != 0 || c.MaxBytes != 4<<30 {
			t.Errorf("%s: duplicates %v, age %v, bytes %d", name, c.Duplicates, c.MaxAge, c.MaxBytes)
		}
	}
	c, err := js.Consumer(t.Context(), "DISPATCH", "workers")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.CachedInfo().Config.AckWait; got != time.Second {
		t.Errorf("ack wait is %v", got)
	}
	if there, err := q.Present(t.Context(), sequences); err != nil || !there[0] {
		t.Errorf("dispatch is there: %v, %v", there, err)
	}
}

// TestOpenAgainstServersThatDoNotServe speaks the protocol of an old server, and
// of one without JetStream.
func TestOpenAgainstServersThatDoNotServe(t *testing.T) {
	for _, tt := range []struct{ name, version, want string }{
		{"old", "2.10.27", "open queue: nats-server 2.10.27 is too old: 2.11 or newer is needed"},
		{"without JetStream", "2.15.2", "open queue: JetStream is not enabled on the nats-server (nats-server -js)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			wg.Go(func() { serveNothing(l, tt.version) })
			defer wg.Wait()
			defer l.Close()
			nc, err := nats.Connect("nats://" + l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			fails(t, nc, tt.want)
		})
	}
}

// serveNothing accepts one client, and tells it that nobody answers requests.
func serveNothing(l net.Listener, version string) {
	c, err := l.Accept()
	if err != nil {
		return
	}
	defer c.Close()
	fmt.Fprintf(c, "INFO {\"version\":%q,\"headers\":true,\"max_payload\":1048576}\r\n", version)
	for lines := bufio.NewScanner(c); lines.Scan(); {
		switch f := strings.Fields(lines.Text()); {
		case len(f) == 1 && f[0] == "PING":
			fmt.Fprint(c, "PONG\r\n")
		case len(f) == 4 && f[0] == "PUB": // subject, reply, size
			fmt.Fprintf(c, "HMSG %s 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n", f[2])
		}
	}
}

func TestReady(t *testing.T) {
	q, nc := open(t)
	if err := q.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if err := streams(t, nc).DeleteStream(t.Context(), "DEFINITIONS"); err != nil {
		t.Fatal(err)
	}
	if err := q.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "DEFINITIONS") {
		t.Errorf("without definitions: %v", err)
	}
	nc.Close()
	if err := q.Ready(t.Context()); err == nil {
		t.Error("without a connection: no error")
	}
}
