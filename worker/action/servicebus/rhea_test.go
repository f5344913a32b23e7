package servicebus_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/worker/action/bustest"
	"github.com/carillon-scheduler/carillon/worker/action/servicebus"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// rhea returns the command that runs testdata/peer.js, or skips where it cannot
// be run. In CI nothing may be absent.
func rhea(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	modules, err := filepath.Abs("../../../tools/peers/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(modules, "rhea"))
	}
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatalf("node and tools/peers are needed in CI: %v", err)
	default:
		t.Skipf("without node, or npm ci in tools/peers, only bustest is sent to: %v", err)
	}
	cmd := exec.Command(node, append([]string{"testdata/peer.js"}, args...)...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	return cmd
}

// startRhea starts a Service Bus that shares no code with the Go client.
func startRhea(t testing.TB, secure bool) target {
	t.Helper()
	to := target{endpoint: plain, network: outbound.NewNetwork(outbound.NetworkConfig{})}
	args := []string{keyName, secret}
	if secure {
		cert, pool := certificate(t)
		to.endpoint = servicebus.DefaultEndpoint
		to.network = outbound.NewNetwork(outbound.NetworkConfig{RootCAs: pool})
		args = append(args, writePEM(t, cert)...)
	}
	cmd := rhea(t, args...)
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		stdin.Close() // it ends with that
		if err := cmd.Wait(); err != nil {
			t.Errorf("peer.js: %v", err)
		}
	})
	var ports struct{ AMQP, HTTP int }
	if line, err := bufio.NewReader(stdout).ReadBytes('\n'); err != nil || json.Unmarshal(line, &ports) != nil {
		t.Fatalf("peer.js said %q, %v", line, err)
	}
	to.address = "127.0.0.1:" + strconv.Itoa(ports.AMQP)
	control := "http://127.0.0.1:" + strconv.Itoa(ports.HTTP)
	post := func(t testing.TB, path string) {
		resp, err := client.Post(control+path, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	state := func(t testing.TB) (s rheaState) {
		resp, err := client.Get(control + "/state")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	to.messages = func(t testing.TB) []bustest.Message { return state(t).seen() }
	to.connected = func(t testing.TB) int { return state(t).Made }
	to.drop = func(t testing.TB) { post(t, "/drop") }
	to.detach = func(t testing.TB) { post(t, "/detach") }
	return to
}

func writePEM(t testing.TB, cert tls.Certificate) (files []string) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i, block := range []pem.Block{{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}, {Type: "PRIVATE KEY", Bytes: key}} {
		file := filepath.Join(dir, fmt.Sprint(i, ".pem"))
		if err := os.WriteFile(file, pem.EncodeToMemory(&block), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// rheaState is what peer.js says of itself; its messages under rhea's names.
type rheaState struct {
	Made     int
	Messages []struct {
		Entity, Host, Audience string
		TTL                    *int64
		MessageID              string    `json:"message_id"`
		To                     string    `json:"to"`
		Subject                string    `json:"subject"`
		ReplyTo                string    `json:"reply_to"`
		CorrelationID          string    `json:"correlation_id"`
		ContentType            string    `json:"content_type"`
		ExpiresAt              time.Time `json:"absolute_expiry_time"`
		CreatedAt              time.Time `json:"creation_time"`
		SessionID              string    `json:"group_id"`
		ReplyToSessionID       string    `json:"reply_to_group_id"`

		Annotations map[string]any `json:"message_annotations"`
		Properties  map[string]any `json:"application_properties"`
		Body        []byte
		Data        int
	}
}

// seen returns the messages as bustest shows its own.
func (s rheaState) seen() []bustest.Message {
	seen := make([]bustest.Message, len(s.Messages))
	for i, m := range s.Messages {
		seen[i] = bustest.Message{
			Entity: m.Entity, Host: m.Host, Audience: m.Audience,
			MessageID: m.MessageID, To: m.To, Subject: m.Subject, ReplyTo: m.ReplyTo, CorrelationID: m.CorrelationID,
			ContentType: m.ContentType, ExpiresAt: m.ExpiresAt, CreatedAt: m.CreatedAt,
			SessionID: m.SessionID, ReplyToSessionID: m.ReplyToSessionID,
			Annotations: m.Annotations, Properties: m.Properties, Body: bytes.Clone(m.Body), Sections: m.Data,
		}
		if m.TTL != nil {
			seen[i].Header, seen[i].TimeToLive = true, time.Duration(*m.TTL)*time.Millisecond
		}
		if text, ok := m.Annotations["x-opt-scheduled-enqueue-time"].(string); ok {
			if at, err := time.Parse(time.RFC3339, text); err == nil {
				m.Annotations["x-opt-scheduled-enqueue-time"] = at
			}
		}
	}
	return seen
}
