package job_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// leaks fails the test if a text shows a secret in some form.
func leaks(t *testing.T, how, shown string) {
	t.Helper()
	secret := []byte("hunter2!")
	for _, form := range []string{string(secret), hex.EncodeToString(secret), base64.StdEncoding.EncodeToString(secret), fmt.Sprintf("%d", secret)} {
		if strings.Contains(strings.ToLower(shown), strings.ToLower(form)) {
			t.Errorf("%s shows the secret: %s", how, shown)
		}
	}
}

func TestSecretNeverPrints(t *testing.T) {
	const secret = job.Secret("hunter2!")
	a := &job.Action{
		Type: job.HTTPS,
		Request: &job.Request{Authentication: &job.Authentication{
			Type: job.Basic, Username: "u", Password: secret, PFX: secret, Secret: secret,
		}},
		Queue: &job.QueueMessage{SASToken: secret},
		Bus:   &job.ServiceBusMessage{SASKey: secret},
	}
	a.Error = &job.Action{Queue: &job.QueueMessage{SASToken: secret}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%T", "%10.3s", "%U", "%!"} {
		leaks(t, verb, fmt.Sprintf(verb, secret))
		leaks(t, verb+" of a pointer", fmt.Sprintf(verb, new(secret)))
		leaks(t, verb+" of a slice", fmt.Sprintf(verb, []job.Secret{secret}))
		leaks(t, verb+" of what holds it", fmt.Sprintf(verb, *a.Request.Authentication))
		leaks(t, verb+" of what holds it deeper", fmt.Sprintf(verb, []any{*a.Queue, *a.Bus}))
	}
	leaks(t, "String", secret.String())
	leaks(t, "Sprint", fmt.Sprint(secret, a))
	leaks(t, "error", fmt.Errorf("login with %s: %w", secret, errors.New(secret.String())).Error())

	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var b bytes.Buffer
		slog.New(handler(&b)).Info("login", "secret", secret, "pointer", new(secret), "group", slog.GroupValue(slog.Any("secret", secret)))
		leaks(t, name+" log", b.String())
		if !strings.Contains(b.String(), "[secret]") {
			t.Errorf("%s log says nothing: %s", name, b.String())
		}
	}
}

func TestSecretKeepsItsJSON(t *testing.T) {
	want := job.QueueMessage{StorageAccount: "a", QueueName: "q", SASToken: "hunter2!", Message: "m"}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got job.QueueMessage
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.SASToken != want.SASToken {
		t.Errorf("stored secret came back as another: %s", b)
	}
}

// AZURE.md §6: "none, or fixed with interval and count (0 = none); default 30 s
// × 4".
func TestRetries(t *testing.T) {
	for _, tt := range []struct {
		name     string
		policy   *job.RetryPolicy
		count    int
		interval time.Duration
	}{
		{"no policy", nil, 4, 30 * time.Second},
		{"none", &job.RetryPolicy{}, 0, 0},
		{"none, with what belongs to fixed", &job.RetryPolicy{Interval: time.Hour, Count: new(7)}, 0, 0},
		{"fixed", &job.RetryPolicy{Fixed: true}, 4, 30 * time.Second},
		{"fixed interval", &job.RetryPolicy{Fixed: true, Interval: time.Minute}, 4, time.Minute},
		{"fixed count", &job.RetryPolicy{Fixed: true, Count: new(20)}, 20, 30 * time.Second},
		{"count 0", &job.RetryPolicy{Fixed: true, Count: new(0), Interval: time.Minute}, 0, time.Minute},
	} {
		count, interval := tt.policy.Retries()
		if count != tt.count || interval != tt.interval {
			t.Errorf("%s: %d retries, each after %v; want %d, %v", tt.name, count, interval, tt.count, tt.interval)
		}
	}
}

// AZURE.md §6: "errorAction runs, under its own retryPolicy or else the
// action's".
func TestActionIn(t *testing.T) {
	own, mine := &job.RetryPolicy{Fixed: true, Count: new(1)}, &job.RetryPolicy{Fixed: true, Count: new(2)}
	fallback := &job.Action{Type: job.StorageQueue}
	a := &job.Action{Type: job.HTTP, Retry: mine, Error: fallback}
	check := func(what string, p job.Phase, act *job.Action, policy *job.RetryPolicy) {
		t.Helper()
		gotAct, gotPolicy := a.In(p)
		if gotAct != act || gotPolicy != policy {
			t.Errorf("%s: %v under %v", what, gotAct, gotPolicy)
		}
	}
	check("main action", job.MainAction, a, mine)
	check("error action without a policy", job.ErrorAction, fallback, mine)
	fallback.Retry = own
	check("error action with a policy", job.ErrorAction, fallback, own)
	fallback.Retry, a.Retry = nil, nil
	check("error action, no policy anywhere", job.ErrorAction, fallback, nil)
	a.Error = nil
	check("no error action", job.ErrorAction, nil, nil)
}

func TestClone(t *testing.T) {
	a := &job.Action{
		Type:    job.HTTPS,
		Request: &job.Request{URI: "https://h/", Headers: map[string]string{"a": "b"}, Authentication: &job.Authentication{Password: "p"}},
		Retry:   &job.RetryPolicy{Fixed: true, Count: new(3)},
		Error:   &job.Action{Type: job.ServiceBusQueue, Bus: &job.ServiceBusMessage{Custom: map[string]string{"k": "v"}}},
	}
	c := a.Clone()
	if diff := cmp.Diff(a, c); diff != "" {
		t.Errorf("clone (-want +got):\n%s", diff)
	}
	c.Request.Headers["a"], *c.Retry.Count, c.Error.Type = "c", 4, job.HTTP
	if a.Request.Headers["a"] != "b" || *a.Retry.Count != 3 || a.Error.Type != job.ServiceBusQueue {
		t.Error("a change of the clone changed the original")
	}
}

func TestHost(t *testing.T) {
	for uri, want := range map[string]string{
		"http://example.test":                         "example.test",
		"https://example.test:8443/a/b?c=d#e":         "example.test:8443",
		"https://user:pass@example.test/":             "example.test",
		"https://user:p@ss@example.test/":             "example.test",
		"https://example.test?sig=secret":             "example.test",
		"https://example.test?sig=secret/@other.test": "example.test",
		"https://example.test/@other.test":            "example.test",
		"https://[::1]:80/x":                          "[::1]:80",
		"example.test/x?sig=secret":                   "",
		"":                                            "",
	} {
		a := &job.Action{Request: &job.Request{URI: uri}}
		if got := a.Host(); got != want {
			t.Errorf("host of %s is %q, want %q", uri, got, want)
		}
	}
	if got := (&job.Action{Queue: &job.QueueMessage{StorageAccount: "acct", SASToken: "s"}}).Host(); got != "acct" {
		t.Errorf("host of a storage queue is %q", got)
	}
	if got := (&job.Action{Bus: &job.ServiceBusMessage{Namespace: "ns", SASKey: "s"}}).Host(); got != "ns" {
		t.Errorf("host of a service bus is %q", got)
	}
	if got := (&job.Action{}).Host(); got != "" {
		t.Errorf("host of nothing is %q", got)
	}
}
