package gosdk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler"
	"github.com/Azure/go-autorest/autorest"
	"github.com/Azure/go-autorest/autorest/azure"
	"github.com/Azure/go-autorest/autorest/date"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// secret is a part of every secret that the tests send. No answer may hold it.
const secret = "hush-3f9a41c7"

// Names that most tests use, each in a subscription of its own.
const (
	group      = "rg"
	collection = "jc"
)

// azureClient is the SDK's clients, and the subscription they work in.
type azureClient struct {
	t            *testing.T
	subscription string
	collections  scheduler.JobCollectionsClient
	jobs         scheduler.JobsClient
}

var subscriptions atomic.Int64

// connect returns clients for an empty subscription.
func connect(t *testing.T) *azureClient {
	id := fmt.Sprintf("5ca1ab1e-0000-4000-8000-%012d", subscriptions.Add(1))
	c := &azureClient{
		t: t, subscription: id,
		collections: scheduler.NewJobCollectionsClientWithBaseURI(server, id),
		jobs:        scheduler.NewJobsClientWithBaseURI(server, id),
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	for _, base := range []*scheduler.BaseClient{&c.collections.BaseClient, &c.jobs.BaseClient} {
		base.Authorizer = autorest.NewBearerAuthorizer(token("any"))
		base.Sender = &http.Client{Transport: witness{t, transport}}
	}
	return c
}

// connected is connect with a Standard collection to put jobs into.
func connected(t *testing.T) *azureClient {
	t.Helper()
	c := connect(t)
	c.putCollection(collection, scheduler.JobCollectionDefinition{Location: new("West Europe")})
	return c
}

type token string

// OAuthToken returns the token.
func (t token) OAuthToken() string { return string(t) }

// witness sees the answers as they come, and fails the test for one that is not
// as every answer must be.
type witness struct {
	t    *testing.T
	next http.RoundTripper
}

var guid = regexp.MustCompile(`^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`)

// RoundTrip performs a request.
func (w witness) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	for _, c := range []struct {
		rule string
		ok   bool
	}{
		{"no secret", !bytes.Contains(body, []byte(secret))},
		{"x-ms-request-id is a GUID", guid.MatchString(azure.ExtractRequestID(resp))},
		{"JSON is called so", len(body) == 0 || resp.Header.Get("Content-Type") == "application/json; charset=utf-8"},
		{"nothing is asynchronous", resp.Header.Get("Azure-AsyncOperation")+resp.Header.Get("Location") == ""},
	} {
		if !c.ok {
			w.t.Errorf("%s %s: not so: %s; header %v, body %s", req.Method, req.URL.Path, c.rule, resp.Header, body)
		}
	}
	return resp, nil
}

func (c *azureClient) putCollection(name string, d scheduler.JobCollectionDefinition) scheduler.JobCollectionDefinition {
	c.t.Helper()
	got, err := c.collections.CreateOrUpdate(c.t.Context(), group, name, d)
	return checked(c.t, got, err)
}

func (c *azureClient) getCollection(name string) scheduler.JobCollectionDefinition {
	c.t.Helper()
	got, err := c.collections.Get(c.t.Context(), group, name)
	return checked(c.t, got, err)
}

func (c *azureClient) put(name string, p scheduler.JobProperties) scheduler.JobDefinition {
	c.t.Helper()
	got, err := c.jobs.CreateOrUpdate(c.t.Context(), group, collection, name, scheduler.JobDefinition{Properties: &p})
	return checked(c.t, got, err)
}

func (c *azureClient) patch(name string, p scheduler.JobProperties) scheduler.JobDefinition {
	c.t.Helper()
	got, err := c.jobs.Patch(c.t.Context(), group, collection, name, scheduler.JobDefinition{Properties: &p})
	return checked(c.t, got, err)
}

func (c *azureClient) get(name string) scheduler.JobDefinition {
	c.t.Helper()
	got, err := c.jobs.Get(c.t.Context(), group, collection, name)
	return checked(c.t, got, err)
}

func (c *azureClient) run(name string) {
	c.t.Helper()
	got, err := c.jobs.Run(c.t.Context(), group, collection, name)
	checked(c.t, got, err)
	wantStatus(c.t, got, http.StatusOK)
}

// history returns all rows that a filter lets through, the newest first.
func (c *azureClient) history(name, filter string) []scheduler.JobHistoryDefinition {
	c.t.Helper()
	it, err := c.jobs.ListJobHistoryComplete(c.t.Context(), group, collection, name, nil, nil, filter)
	checked(c.t, it, err)
	return all(c.t, &it)
}

// id is the path of a resource in the subscription.
func (c *azureClient) id(parts ...string) *string {
	return new("/subscriptions/" + c.subscription + "/resourceGroups/" + group +
		"/providers/Microsoft.Scheduler/jobCollections/" + strings.Join(parts, "/"))
}

// checked returns v unless there was an error.
func checked[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// all returns what an iterator of the SDK finds, on however many pages.
func all[T any, I interface {
	NotDone() bool
	Value() T
	Next() error
}](t *testing.T, it I,
) []T {
	t.Helper()
	var values []T
	for it.NotDone() {
		values = append(values, it.Value())
		if err := it.Next(); err != nil {
			t.Fatal(err)
		}
	}
	return values
}

// same compares what the SDK has read, but for the HTTP response that it keeps
// beside.
func same(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(autorest.Response{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("wanted (-), got (+):\n%s", diff)
	}
}

func wantStatus(t *testing.T, r autorest.Response, want int) {
	t.Helper()
	if r.Response == nil || r.StatusCode != want {
		t.Errorf("answer %v, want status %d", r.Response, want)
	}
}

// wantError checks an error as the SDK makes it of an answer.
func wantError(t *testing.T, err error, status int, code, message string) {
	t.Helper()
	var detailed autorest.DetailedError
	if !errors.As(err, &detailed) || detailed.StatusCode != status {
		t.Fatalf("error %v, want one of status %d", err, status)
	}
	var said azure.RequestError // 409: by value, since the SDK has parsed it to see whether to register
	if pointer := new(azure.RequestError); errors.As(err, &pointer) {
		said = *pointer
	} else if !errors.As(err, &said) {
		t.Fatalf("%T is not Azure's error: %v", detailed.Original, err)
	}
	same(t, said.ServiceError, &azure.ServiceError{Code: code, Message: message})
}

// wantServiceError checks what of an error the SDK keeps of a long operation.
func wantServiceError(t *testing.T, name string, err error, code, message string) {
	t.Helper()
	var said *azure.ServiceError
	if !errors.As(err, &said) {
		t.Fatalf("%s: error %v is not Azure's", name, err)
	}
	same(t, said, &azure.ServiceError{Code: code, Message: message})
}

// eventually waits until check returns nil.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for err := check(); err != nil; err = check() {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// at is a time as the SDK holds it.
func at(t time.Time) *date.Time { return &date.Time{Time: t} }
