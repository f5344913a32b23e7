package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// The jobs of the demo. Those of the collection "examples" are the ones that
// Microsoft's pages showed; they are disabled.
//
//go:embed demo/*.json
var demoJobs embed.FS

// demoGroup is where the demo's collections are.
const demoGroup = "/subscriptions/demo/resourceGroups/demo/providers/" + job.Provider + "/jobCollections/"

// demo is a small HTTP target, and jobs that call it.
type demo struct {
	api    string // URL of the API server
	target net.Listener
	out    io.Writer

	mu     sync.Mutex // of out and failed
	failed map[string]bool
}

func newDemo(address, api string, out io.Writer) (*demo, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for the demo's target: %w. Name another address with --demo-listen or CARILLON_DEMO_LISTEN", err)
	}
	return &demo{api: api, target: ln, out: out, failed: make(map[string]bool)}, nil
}

// Run creates what is missing of the demo's jobs, then serves their target
// until ctx is done.
func (d *demo) Run(ctx context.Context) error {
	srv := &http.Server{Handler: d, ReadHeaderTimeout: 5 * time.Second}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(d.target) }()
	defer func() { _ = srv.Close() }() // whoever calls it is stopping too

	if err := d.create(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("create the demo's jobs: %w", err)
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-done:
		return fmt.Errorf("demo's target: %w", err)
	}
}

// ServeHTTP answers the demo's jobs. /flaky fails for the first attempt of each
// occurrence, /broken always.
func (d *demo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fail := r.URL.Path == "/broken"
	if r.URL.Path == "/flaky" {
		tag := r.Header.Get("x-ms-execution-tag")
		d.mu.Lock()
		fail = !d.failed[tag]
		if len(d.failed) > 1000 {
			clear(d.failed)
		}
		d.failed[tag] = true
		d.mu.Unlock()
	}
	if fail {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, "this target fails on purpose\n") // nobody to tell
		return
	}
	_, _ = io.WriteString(w, "done\n")
}

// create puts the demo's collections and jobs in place, as any client would.
// What is there already, from an earlier demo, stays as it is.
func (d *demo) create(ctx context.Context) error {
	now := time.Now().UTC()
	values := map[string]string{
		"Target": "http://" + d.target.Addr().String(),
		"Start":  now.Truncate(time.Minute).Format(time.RFC3339),
		"End":    now.AddDate(1, 0, 0).Format(time.DateOnly),
	}
	for _, c := range []struct {
		name, quota string
		jobs        []string
	}{
		{"bells", `"quota":{"maxJobCount":100,"maxRecurrence":{"frequency":"second","interval":1}}`, []string{"heartbeat", "flaky", "broken"}},
		{"examples", `"state":"Enabled"`, []string{"http-job", "storage-queue", "service-bus-queue", "service-bus-topic"}},
	} {
		body := `{"location":"westeurope","properties":{"sku":{"name":"Standard"},` + c.quota + `}}`
		if err := d.put(ctx, demoGroup+c.name, []byte(body)); err != nil {
			return err
		}
		for _, name := range c.jobs {
			t, err := template.ParseFS(demoJobs, "demo/"+name+".json")
			if err != nil {
				return err
			}
			var b bytes.Buffer
			if err := t.Execute(&b, values); err != nil {
				return err
			}
			if err := d.put(ctx, demoGroup+c.name+"/jobs/"+name, b.Bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

// put creates a resource, unless there is one.
func (d *demo) put(ctx context.Context, path string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, d.api+path+"?api-version=2016-03-01", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("If-None-Match", "*")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // read to the end
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 && resp.StatusCode != http.StatusPreconditionFailed {
		return errors.New(resp.Status + ": " + string(answer))
	}
	return nil
}

// observe prints a line for a result.
func (d *demo) observe(r *job.Result) {
	what := "attempt " + fmt.Sprint(r.RetryCount+1)
	if r.Phase == job.ErrorAction {
		what = "error action"
	} else if r.RetryCount > 0 {
		what = fmt.Sprintf("retry %d", r.RetryCount)
	}
	_, answer, _ := strings.Cut(r.Message, " - ")
	answer, _, _ = strings.Cut(answer, " Response Headers")
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintf(d.out, "%s  %-16s #%-5d %-13s %4d ms late  %-9s  %s\n",
		r.StartedAt.Local().Format("15:04:05.000"), r.Collection+"/"+r.Ref.Job, r.Repeat, what,
		r.StartedAt.Sub(r.DueAt).Milliseconds(), r.Outcome, answer)
}
