package storagequeue_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/sas"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
	"github.com/carillon-scheduler/carillon/worker/action/storagequeue"
)

// Azurite's account, which its documentation gives.
const (
	azuriteAccount = "devstoreaccount1"
	azuriteKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// azuriteProgram returns the path of Azurite's queue service, or "" where it is
// absent. In CI it may not be absent.
func azuriteProgram(t *testing.T) string {
	t.Helper()
	const name = "azurite-queue"
	root, err := filepath.Abs(".")
	for err == nil && root != filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		root = filepath.Dir(root)
	}
	for _, p := range []string{filepath.Join(root, "tools", "peers", "node_modules", ".bin", name), name} {
		if path, err := exec.LookPath(p); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed: npm ci in tools/peers", name)
	}
	t.Logf("%s is not installed (npm ci in tools/peers): using the in-process peer only", name)
	return ""
}

// azurite is a running Azurite.
type azurite struct {
	*testing.T
	endpoint string
	key      *azqueue.SharedKeyCredential
}

// startAzurite starts Azurite on a free port, or skips.
func startAzurite(t *testing.T) *azurite {
	t.Helper()
	path := azuriteProgram(t)
	if path == "" {
		t.SkipNow()
	}
	cmd := exec.Command(path, "--queueHost", "127.0.0.1", "--queuePort", "0", "--inMemoryPersistence",
		"--disableTelemetry", "--silent", "--skipApiVersionCheck")
	cmd.Dir = t.TempDir()
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, all := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(all)
		defer close(said)
		listens := regexp.MustCompile(`successfully listens on (http://\S+)`)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Fprintln(t.Output(), lines.Text())
			if m := listens.FindStringSubmatch(lines.Text()); m != nil {
				said <- m[1]
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-all
		cmd.Wait()
	})
	key, err := azqueue.NewSharedKeyCredential(azuriteAccount, azuriteKey)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case at := <-said:
		if at == "" {
			t.Fatal("Azurite ended")
		}
		return &azurite{t, at + "/{account}", key}
	case <-time.After(time.Minute):
		t.Fatal("Azurite does not listen")
		return nil
	}
}

// queue makes a queue and returns its owner's client.
func (z *azurite) queue(name string) *azqueue.QueueClient {
	z.Helper()
	at := strings.Replace(z.endpoint, "{account}", azuriteAccount, 1)
	transport := new(http.Transport)
	z.Cleanup(transport.CloseIdleConnections)
	client, err := azqueue.NewQueueClientWithSharedKeyCredential(at+"/"+name, z.key, &azqueue.ClientOptions{
		ClientOptions: policy.ClientOptions{Transport: &http.Client{Transport: transport}},
	})
	if err != nil {
		z.Fatal(err)
	}
	if _, err := client.Create(z.Context(), nil); err != nil {
		z.Fatal(err)
	}
	return client
}

// token signs a token of the queue's, valid until end.
func (z *azurite) token(queue string, may sas.QueuePermissions, end time.Time) string {
	z.Helper()
	q, err := sas.QueueSignatureValues{
		Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: end, QueueName: queue, Permissions: may.String(),
	}.SignWithSharedKey(z.key)
	if err != nil {
		z.Fatal(err)
	}
	return q.Encode()
}

// accountToken signs a token of the account's.
func (z *azurite) accountToken() string {
	z.Helper()
	q, err := sas.AccountSignatureValues{
		Protocol: sas.ProtocolHTTPSandHTTP, ExpiryTime: time.Now().Add(time.Hour),
		Permissions: new(sas.AccountPermissions{Add: true}).String(), ResourceTypes: new(sas.AccountResourceTypes{Object: true}).String(),
	}.SignWithSharedKey(z.key)
	if err != nil {
		z.Fatal(err)
	}
	return q.Encode()
}

// take returns the oldest text of a queue, which is then gone.
func (z *azurite) take(c *azqueue.QueueClient) string {
	z.Helper()
	got, err := c.DequeueMessage(z.Context(), nil)
	if err != nil {
		z.Fatal(err)
	}
	if len(got.Messages) != 1 {
		z.Fatalf("%d messages", len(got.Messages))
	}
	return *got.Messages[0].MessageText
}

var add = sas.QueuePermissions{Add: true}

func TestAzuriteSuite(t *testing.T) {
	z := startAzurite(t)
	owner := z.queue("suite")
	q := job.QueueMessage{StorageAccount: azuriteAccount, QueueName: "suite", SASToken: job.Secret(z.token("suite", add, time.Now().Add(time.Hour)))}
	runSuite(t, z.endpoint, "", q, z.token("another", add, time.Now().Add(time.Hour)), func() int {
		p, err := owner.GetProperties(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return int(*p.ApproximateMessagesCount)
	})
}

func TestAzurite(t *testing.T) {
	z := startAzurite(t)
	owner := z.queue("queue")
	hour := time.Now().Add(time.Hour)
	good := z.token("queue", add, hour)
	a := newAction(t, storagequeue.Config{Endpoint: z.endpoint})
	send := func(t *testing.T, q job.QueueMessage) action.Report {
		t.Helper()
		q.StorageAccount = azuriteAccount
		r := do(t, a, newDispatch(q))
		if s := signature(t, string(q.SASToken)); strings.Contains(r.Message, s) {
			t.Errorf("secret in message: %q", r.Message)
		}
		return r
	}

	t.Run("arrives", func(t *testing.T) {
		for _, test := range []struct{ name, token, format, message, want string }{
			{"text", good, job.QueueText, " <Grüße>&\t\r\n'\"]]>日😀 ", " <Grüße>&\t\r\n'\"]]>日😀 "},
			{"with a question mark", "?" + good, job.QueueText, "m", "m"},
			{"the account's token", z.accountToken(), job.QueueText, "m", "m"},
			{"nothing", good, job.QueueText, "", ""},
			{"base64", good, job.QueueBase64, "\x00Grüße", base64.StdEncoding.EncodeToString([]byte("\x00Grüße"))},
			// Only ASCII: Azurite decodes the parts of a large body one by one.
			{"64 KiB", good, job.QueueText, strings.Repeat("x", 64<<10), strings.Repeat("x", 64<<10)},
		} {
			r := send(t, job.QueueMessage{QueueName: "queue", SASToken: job.Secret(test.token), Format: test.format, Message: test.message})
			if r.Outcome != job.Succeeded {
				t.Errorf("%s: %+v", test.name, r)
				continue
			}
			if got := z.take(owner); got != test.want {
				t.Errorf("%s: %q", test.name, got)
			}
		}
	})
	t.Run("envelope", func(t *testing.T) {
		r := send(t, job.QueueMessage{QueueName: "queue", SASToken: job.Secret(good), Message: "membership & more"})
		got, err := base64.StdEncoding.DecodeString(z.take(owner))
		if r.Outcome != job.Succeeded || err != nil || !strings.Contains(string(got), "\r\n  <Message>membership &amp; more</Message>\r\n") {
			t.Errorf("%+v: %v: %s", r, err, got)
		}
	})
	t.Run("fails", func(t *testing.T) {
		for _, test := range []struct {
			name  string
			queue string
			token string
			text  string
			want  string
		}{
			{"expired", "queue", z.token("queue", add, time.Now().Add(-time.Hour)), "m", "failed: The SAS token expired at "},
			{"for another queue", "queue", z.token("other", add, hour), "m", "failed: The service refused the SAS token (403 AuthenticationFailed). "},
			{"not permitted to add", "queue", z.token("queue", sas.QueuePermissions{Read: true}, hour), "m", "failed: The service refused the SAS token (403 AuthorizationPermissionMismatch). "},
			{"forged", "queue", strings.Replace(good, "sig=", "sig=A", 1), "m", "failed: The service refused the SAS token (403 AuthenticationFailed). "},
			{"no such queue", "missing", z.token("missing", add, hour), "m", "- Queue 'missing' does not exist in storage account '" + azuriteAccount + "'."},
			{"no such queue, the account's token", "missing", z.accountToken(), "m", "- Queue 'missing' does not exist in storage account '" + azuriteAccount + "'."},
			{"64 KiB + 1", "queue", good, strings.Repeat("x", 64<<10+1), "failed: The message is too large: as it is sent it has 65537 bytes, and a queue takes 65536."},
		} {
			r := send(t, job.QueueMessage{QueueName: test.queue, SASToken: job.Secret(test.token), Format: job.QueueText, Message: test.text})
			if r.Outcome != job.Failed || !strings.Contains(r.Message, test.want) {
				t.Errorf("%s: %+v", test.name, r)
			}
		}
	})
}
