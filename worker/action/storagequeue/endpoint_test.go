package storagequeue_test

import (
	"strings"
	"testing"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action/storagequeue"
)

func TestEndpoint(t *testing.T) {
	for _, test := range []struct{ endpoint, want string }{
		{"", ""}, // the default
		{"https://{account}.queue.core.windows.net", ""},
		{"https://{account}.queue.core.windows.net/", ""},
		{"http://127.0.0.1:10001/{account}", ""},
		{"http://[::1]:10001/a/{account}/b", ""},
		{"https://queue.example", "must hold {account} once"},
		{"https://{account}.example/{account}", "must hold {account} once"},
		{"{account}.queue.core.windows.net", "must be a URL such as"},
		{"https:///{account}", "must be a URL such as"},
		{"https://h:{account}", "must be a URL such as"},
		{"ftp://{account}.example", "must begin with https:// or http://"},
		{"{account}://example", "must begin with https:// or http://"},
		{"https://u:s3cret@{account}.example", "must not hold a user, a query or a fragment"},
		{"https://{account}:s3cret@example", "must not hold a user"},
		{"https://{account}.example?s3cret", "must not hold a user, a query or a fragment"},
		{"https://{account}.example#s3cret", "must not hold a user, a query or a fragment"},
		{"https://example?{account}", "must not hold a user, a query or a fragment"},
	} {
		_, err := storagequeue.New(storagequeue.Config{Endpoint: test.endpoint})
		switch {
		case test.want == "" && err != nil, test.want != "" && err == nil:
			t.Errorf("%q: %v", test.endpoint, err)
		case err != nil && (!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "s3cret")):
			t.Errorf("%q: %v", test.endpoint, err)
		}
	}
}

// Definitions are validated, but the token does not go to another host even if
// one was not.
func TestNamesDoNotLeadElsewhere(t *testing.T) {
	p := newPeer(t)
	host := strings.TrimPrefix(p.URL, "http://")
	for _, endpoint := range []string{"http://{account}.queue.invalid", p.URL + "/{account}"} {
		for _, names := range [][2]string{
			{host + "/x", "queue"},
			{host + "/?", "queue"},
			{"u@" + host, "queue"},
			{"", "queue"},
			{account, "../other/queue"},
			{account, "queue?x"},
			{account, "que%75e"},
			{account, ""},
		} {
			q := message()
			q.StorageAccount, q.QueueName = names[0], names[1]
			r := do(t, newAction(t, storagequeue.Config{Endpoint: endpoint}), newDispatch(q))
			if r.Outcome != job.Failed || !strings.Contains(r.Message, "is not valid.") {
				t.Errorf("%q: %+v", names, r)
			}
		}
	}
	if n := p.seen(); n != 0 {
		t.Errorf("%d requests", n)
	}
}
