package storagequeue_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	azlog "github.com/Azure/azure-sdk-for-go/sdk/azcore/log"
	"go.uber.org/goleak"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
	"github.com/carillon-scheduler/carillon/worker/action/actiontest"
	"github.com/carillon-scheduler/carillon/worker/action/storagequeue"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newAction(t testing.TB, cfg storagequeue.Config) *storagequeue.Action {
	t.Helper()
	a, err := storagequeue.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.CloseIdle)
	return a
}

// newDispatch returns the second of three attempts to send q.
func newDispatch(q job.QueueMessage) *job.Dispatch {
	d := &job.Dispatch{Action: job.Action{Type: job.StorageQueue, Queue: &q}}
	d.Tag = "e927cf76d24da9625608248ce654cfa7"
	d.At = time.Date(2015, 9, 10, 0, 0, 0, 0, time.UTC)
	d.Phase, d.RetryCount, d.Retries = job.MainAction, 1, 2
	d.Job, d.Collection, d.Location = "job", "collection", "West Europe"
	return d
}

// message returns a message that the peer accepts.
func message() job.QueueMessage {
	return job.QueueMessage{StorageAccount: account, QueueName: "queue", SASToken: job.Secret(token()), Message: "membership"}
}

// do performs d and checks what must hold of every report.
func do(t testing.TB, a action.Action, d *job.Dispatch) action.Report {
	t.Helper()
	r := a.Do(t.Context(), d)
	for _, form := range actiontest.Forms(sig) {
		if strings.Contains(r.Message, form) {
			t.Errorf("secret in message: %q", r.Message)
		}
	}
	if !strings.HasPrefix(r.Message, "StorageQueue Action - ") || !utf8.ValidString(r.Message) {
		t.Errorf("PowerShell does not know this message: %q", r.Message)
	}
	return r
}

// byMood performs an attempt with the action of the mood that its account names.
type byMood struct {
	account string
	actions map[string]action.Action
}

func (b byMood) Do(ctx context.Context, d *job.Dispatch) action.Report {
	if d.Action.Queue == nil {
		return b.actions[string(actiontest.Willing)].Do(ctx, d)
	}
	mood := d.Action.Queue.StorageAccount
	d.Action.Queue.StorageAccount = b.account
	defer func() { d.Action.Queue.StorageAccount = mood }() // the suite performs some twice
	return b.actions[mood].Do(ctx, d)
}

// runSuite runs the actions' suite against the service at an endpoint, which
// takes q and, with the token bad, does not. busy is where a busy one is, or
// empty.
func runSuite(t *testing.T, endpoint, busy string, q job.QueueMessage, bad string, delivered func() int) {
	t.Helper()
	moods := byMood{q.StorageAccount, map[string]action.Action{}}
	for mood, endpoint := range map[actiontest.Mood]string{
		actiontest.Willing:     endpoint,
		actiontest.Refusing:    endpoint,
		actiontest.Unreachable: "http://127.0.0.1:1/{account}",
		actiontest.Hanging:     raw(t, ""),
		actiontest.Breaking:    raw(t, "HTTP/1.1 403 x\r\nContent-Length: 100\r\n\r\n<"),
		actiontest.Busy:        busy,
		actiontest.Forbidden:   "http://169.254.169.254/{account}",
	} {
		moods.actions[string(mood)] = newAction(t, storagequeue.Config{Endpoint: endpoint, Timeout: actiontest.Timeout})
	}
	n := 0
	actiontest.Run(t, actiontest.Rig{
		Action: moods,
		Dispatch: func(_ *testing.T, m actiontest.Mood) *job.Dispatch {
			n++
			q := q
			q.StorageAccount = string(m)
			if m == actiontest.Refusing {
				q.SASToken = job.Secret(bad)
			}
			d := newDispatch(q)
			d.Tag, d.RetryCount = fmt.Sprintf("%032x", n), 0
			return d
		},
		Delivered: delivered,
		Secrets:   []string{signature(t, string(q.SASToken)), signature(t, bad)},
		Prefix:    "StorageQueue Action - ",
		NeverBusy: busy == "",
	})
}

// signature returns a token's secret part.
func signature(t *testing.T, token string) string {
	t.Helper()
	q, err := url.ParseQuery(strings.TrimPrefix(token, "?"))
	if err != nil || q.Get("sig") == "" {
		t.Fatalf("no token: %v", err)
	}
	return q.Get("sig")
}

func TestSuite(t *testing.T) {
	p, busy := newPeer(t), newPeer(t)
	busy.Answer = func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusServiceUnavailable, "ServerBusy") }
	runSuite(t, p.URL+"/{account}", busy.URL+"/{account}", message(), strings.Replace(token(), "Kq7", "Kq8", 1), p.delivered)
}

// What the service sees: the job's queue and token, and who calls. How long the
// message stays is left to the service.
func TestRequest(t *testing.T) {
	p := newPeer(t)
	a := newAction(t, storagequeue.Config{Endpoint: p.URL + "/base/{account}/", Agent: "Carillon/1.2.3"})
	p.Answer = func(w http.ResponseWriter, _ *http.Request) { accept(w) }
	d := newDispatch(message())
	if r := do(t, a, d); r.Outcome != job.Succeeded {
		t.Fatalf("report %+v", r)
	}
	r, _ := p.last()
	want, _ := url.ParseQuery(token())
	if got := r.URL.Query(); r.Method != http.MethodPost || r.URL.Path != "/base/"+account+"/queue/messages" || got.Encode() != want.Encode() {
		t.Errorf("%s %s", r.Method, r.URL)
	}
	for name, want := range map[string]string{
		"User-Agent": "Carillon/1.2.3", "X-Ms-Client-Request-Id": action.RequestID(d), "Content-Type": "application/xml",
		"Authorization": "", "Cookie": "", "Accept-Encoding": "", "Referer": "",
	} {
		if got := r.Header.Values(name); strings.Join(got, ",") != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// An attempt is performed once: neither the SDK nor net/http tries again, and
// no redirect is followed.
func TestOneAttemptIsOneRequest(t *testing.T) {
	for _, status := range []int{302, 307, 401, 403, 404, 408, 429, 500, 502, 503, 504} {
		p := newPeer(t)
		p.Answer = func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", r.URL.Path)
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(status)
		}
		if r := do(t, newAction(t, storagequeue.Config{Endpoint: p.URL + "/{account}"}), newDispatch(message())); r.Outcome == job.Succeeded {
			t.Errorf("%d: %+v", status, r)
		}
		if n := p.seen(); n != 1 {
			t.Errorf("%d: %d requests", status, n)
		}
	}
}

// A kept connection that breaks does not bring the message twice.
func TestBrokenKeptConnectionDoesNotRepeatTheCall(t *testing.T) {
	p := newPeer(t)
	a := newAction(t, storagequeue.Config{Endpoint: p.URL + "/{account}"})
	if r := do(t, a, newDispatch(message())); r.Outcome != job.Succeeded {
		t.Fatalf("first: %+v", r)
	}
	p.Answer = func(w http.ResponseWriter, _ *http.Request) {
		c, _, _ := http.NewResponseController(w).Hijack()
		c.Close()
	}
	if r := do(t, a, newDispatch(message())); r.Outcome != job.Failed || !strings.Contains(r.Message, "failed: ConnectionClosed ") {
		t.Errorf("second: %+v", r)
	}
	if n := p.seen(); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// With the status the message is in the queue. To fail for what follows it
// would bring it there twice.
func TestAcceptedIsASuccessWhateverFollows(t *testing.T) {
	for name, text := range map[string]string{
		"no body":      "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
		"no XML":       "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok",
		"half of it":   "HTTP/1.1 201 Created\r\nContent-Length: 99\r\n\r\n<Queue",
		"bad chunks":   "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"strange date": "HTTP/1.1 201 Created\r\nDate: today\r\nContent-Length: 0\r\n\r\n",
	} {
		if r := do(t, newAction(t, storagequeue.Config{Endpoint: raw(t, text)}), newDispatch(message())); r.Outcome != job.Succeeded {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// What the SDK tells those who listen to its logs, as AZURE_SDK_GO_LOGGING
// does, has no secret in it either.
func TestSDKLogsNoSecret(t *testing.T) {
	var mu sync.Mutex
	var all strings.Builder
	azlog.SetListener(func(e azlog.Event, s string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(&all, e, s)
	})
	defer azlog.SetListener(nil)
	p := newPeer(t)
	a := newAction(t, storagequeue.Config{Endpoint: p.URL + "/{account}"})
	q := message()
	do(t, a, newDispatch(q))
	q.QueueName = "missing"
	do(t, a, newDispatch(q))
	do(t, newAction(t, storagequeue.Config{Endpoint: "http://127.0.0.1:1/{account}"}), newDispatch(q))
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(all.String(), "QueueNotFound") {
		t.Errorf("nothing was logged:\n%s", all.String())
	}
	for _, form := range append(actiontest.Forms(sig), actiontest.Forms("membership")...) {
		if strings.Contains(all.String(), form) {
			t.Errorf("%q in the log:\n%s", form, all.String())
		}
	}
}

// The guard and TLS of the network apply.
func TestNetwork(t *testing.T) {
	p := newPeer(t)
	secure := httptest.NewUnstartedServer(p)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	guard, err := outbound.NewGuard(nil, []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	trusting := outbound.NetworkConfig{RootCAs: secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	for _, test := range []struct {
		name, url, want string
		network         outbound.NetworkConfig
	}{
		{"denied", p.URL, "failed: ConnectFailure Unable to connect to the remote server: the operator", outbound.NetworkConfig{Guard: guard}},
		{"untrusted", secure.URL, "failed: TrustFailure ", outbound.NetworkConfig{}},
		{"trusted", secure.URL, "succeeded.", trusting},
	} {
		a := newAction(t, storagequeue.Config{Endpoint: test.url + "/{account}", Network: outbound.NewNetwork(test.network)})
		if r := do(t, a, newDispatch(message())); !strings.Contains(r.Message, test.want) {
			t.Errorf("%s: %+v", test.name, r)
		}
	}
}

func TestShutdownCancelsTheCall(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	arrived := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
	}))
	defer s.Close()
	go func() { <-arrived; cancel(errors.New("shut down")) }()
	r := newAction(t, storagequeue.Config{Endpoint: s.URL + "/{account}"}).Do(ctx, newDispatch(message()))
	if r.Outcome != job.Failed || !strings.Contains(r.Message, "failed: RequestCanceled ") {
		t.Errorf("got %+v", r)
	}
}

func BenchmarkDo(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		accept(w)
	}))
	defer s.Close()
	a := newAction(b, storagequeue.Config{Endpoint: s.URL + "/{account}"})
	q := message()
	q.Message = strings.Repeat("x", 512)
	d := newDispatch(q)
	b.ReportAllocs()
	for b.Loop() {
		if r := a.Do(b.Context(), d); r.Outcome != job.Succeeded {
			b.Fatalf("report %+v", r)
		}
	}
}
