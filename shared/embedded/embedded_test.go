package embedded_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/carillon-scheduler/carillon/shared/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNATSKeepsStreams(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "nats")
	for _, want := range []uint64{1, 2, 3} {
		nc, stop, err := embedded.NATS(embedded.NATSConfig{Dir: dir, SyncInterval: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
			t.Fatal(err)
		}
		ack, err := js.Publish(t.Context(), "s", nil)
		if err != nil {
			t.Fatal(err)
		}
		if ack.Sequence != want {
			t.Errorf("sequence %d, want %d", ack.Sequence, want)
		}
		stop()
		stop() // a second call does nothing
		if !nc.IsClosed() {
			t.Error("connection is open after stop")
		}
	}
}

func TestNATSListens(t *testing.T) {
	b, err := embedded.Start(embedded.NATSConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Stop()
	nc, err := nats.Connect(b.URL)
	if err != nil {
		t.Fatalf("connect to %q: %v", b.URL, err)
	}
	defer nc.Close()
	sub, err := nc.SubscribeSync("hello")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := b.Conn.Publish("hello", []byte("there")); err != nil {
		t.Fatal(err)
	}
	if _, err := sub.NextMsg(10 * time.Second); err != nil {
		t.Errorf("message from the process's own connection: %v", err)
	}
}

func TestNATSDoesNotListenUnlessAsked(t *testing.T) {
	b, err := embedded.Start(embedded.NATSConfig{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Stop()
	if b.URL != "" {
		t.Errorf("URL is %q, want none", b.URL)
	}
}

func TestNATSHoldsItsDirectory(t *testing.T) {
	dir := t.TempDir()
	_, stop, err := embedded.NATS(embedded.NATSConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = embedded.NATS(embedded.NATSConfig{Dir: dir})
	if want := "start embedded nats-server: directory " + dir + " is in use by another carillon"; err == nil || err.Error() != want {
		t.Errorf("second server on the same directory: %v, want %s", err, want)
	}
	stop()
	_, stop, err = embedded.NATS(embedded.NATSConfig{Dir: dir})
	if err != nil {
		t.Fatalf("after the first stopped: %v", err)
	}
	stop()
}

func TestNATSConfigErrors(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		name string
		cfg  embedded.NATSConfig
		want string
	}{
		{"no directory", embedded.NATSConfig{}, "no directory given"},
		{"no port", embedded.NATSConfig{Dir: t.TempDir(), Listen: "localhost"}, "missing port"},
		{"bad port", embedded.NATSConfig{Dir: t.TempDir(), Listen: "localhost:nats"}, "port must be a number"},
		{"port taken", embedded.NATSConfig{Dir: t.TempDir(), Listen: taken.Addr().String()}, "address already in use"},
		{"directory cannot be made", embedded.NATSConfig{Dir: "/dev/null/x"}, "not a directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			began := time.Now()
			_, stop, err := embedded.NATS(tt.cfg)
			if err == nil {
				stop()
				t.Fatalf("no error, want %q", tt.want)
			}
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want one line with %q", err, tt.want)
			}
			if d := time.Since(began); d > 10*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

func TestRedisAnswers(t *testing.T) {
	addr, stop, err := embedded.Redis()
	if err != nil {
		t.Fatal(err)
	}
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, len("+PONG\r\n"))
	if _, err := c.Read(answer); err != nil || string(answer) != "+PONG\r\n" {
		t.Errorf("answer %q, %v", answer, err)
	}
	stop()
	if c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr); err == nil {
		c.Close()
		t.Error("stand-in still listens after stop")
	}
}
