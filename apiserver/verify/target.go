package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The headers that say what a request is for (AZURE, outbound).
const (
	headerJob         = "X-Ms-Scheduler-Jobid"
	headerCollection  = "X-Ms-Scheduler-Jobcollection"
	headerExpected    = "X-Ms-Scheduler-Expected-Execution-Time"
	headerAttempt     = "X-Ms-Scheduler-Attempt"
	headerTag         = "X-Ms-Execution-Tag"
	headerIdempotency = "Idempotency-Key"
)

// target is what the jobs call: it notes each request and answers as the script
// of its definition says.
type target struct {
	path string // that all of the run's URLs begin with

	mu       sync.Mutex
	scripts  map[string]*definition // by collection/job/marker
	arrivals []arrival
	strays   int
}

func newTarget(run string) *target {
	return &target{path: "/" + run + "/", scripts: make(map[string]*definition)}
}

// expect tells the target of a definition, before its job is.
func (t *target) expect(collection, job string, d *definition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.scripts[collection+"/"+job+"/"+d.marker] = d
}

// received returns what has arrived so far.
func (t *target) received() []arrival {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.arrivals)
}

// ServeHTTP takes a call of a job.
func (t *target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, s, ok := t.take(r)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	timer := time.NewTimer(s.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		t.done(a.id, true)
		return
	}
	if a.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(a.retryAfter/time.Second)))
	}
	// It is over before the answer is out: whatever follows from the answer comes
	// later than this.
	t.done(a.id, false)
	w.WriteHeader(a.status)
	fmt.Fprintf(w, answerText+"%d\n", a.id)
}

// take notes a call, POST <path><collection>/<job>/<marker>/<phase>, and decides
// on the answer. It reports false for one that is of no job of this run.
func (t *target) take(r *http.Request) (arrival, script, bool) {
	a := arrival{at: time.Now(), phase: mainAction, status: http.StatusOK}
	rest, ours := strings.CutPrefix(r.URL.Path, t.path)
	parts := strings.Split(rest, "/")
	if ours && len(parts) == 4 {
		a.collection, a.job, a.marker = parts[0], parts[1], parts[2]
		if parts[3] == "error" {
			a.phase = errorAction
		}
		a.read(r)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.scripts[a.collection+"/"+a.job+"/"+a.marker]
	if d == nil {
		t.strays++
		return arrival{}, script{}, false
	}
	s := d.scriptOf(a.phase)
	if a.attempt <= s.fails {
		a.status = http.StatusInternalServerError
		if s.retryAfter > 0 {
			a.status, a.retryAfter = http.StatusServiceUnavailable, s.retryAfter
		}
	}
	a.id = int64(len(t.arrivals)) + 1
	t.arrivals = append(t.arrivals, a)
	return a, s, true
}

func (t *target) done(id int64, aborted bool) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.arrivals[id-1].doneAt, t.arrivals[id-1].aborted = now, aborted
}

// read reads what a request says that it is for.
func (a *arrival) read(r *http.Request) {
	var err error
	h := r.Header
	a.tag = h.Get(headerTag)
	a.attempt, err = strconv.Atoi(h.Get(headerAttempt))
	if err != nil || a.attempt < 1 {
		a.wrong = fmt.Sprintf("%s is %q", headerAttempt, h.Get(headerAttempt))
	}
	if a.nominal, err = time.Parse(time.RFC3339Nano, h.Get(headerExpected)); err != nil {
		a.wrong = fmt.Sprintf("%s is %q", headerExpected, h.Get(headerExpected))
	}
	a.nominal = a.nominal.UTC()
	switch {
	case h.Get(headerJob) != a.job:
		a.wrong = fmt.Sprintf("%s is %q", headerJob, h.Get(headerJob))
	case h.Get(headerCollection) != a.collection:
		a.wrong = fmt.Sprintf("%s is %q", headerCollection, h.Get(headerCollection))
	case len(a.tag) != 32 || strings.Trim(a.tag, "0123456789abcdef") != "":
		a.wrong = fmt.Sprintf("%s is %q", headerTag, a.tag)
	case h.Get(headerIdempotency) != a.tag:
		a.wrong = fmt.Sprintf("%s is %q, the tag %q", headerIdempotency, h.Get(headerIdempotency), a.tag)
	case r.Method != http.MethodPost:
		a.wrong = "its method is " + r.Method
	}
	// The server notices that a caller went away only once its body is read.
	if body, err := io.ReadAll(io.LimitReader(r.Body, 1<<16)); err != nil || string(body) != bodyText {
		a.wrong = "its body is not that of the definition"
	}
}

// serve serves the target until ctx is done, and then a moment longer, so that
// workers that are at it can finish.
func (t *target) serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{Handler: t, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve target: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if srv.Shutdown(last) != nil {
		_ = srv.Close() // somebody takes longer
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve target: %w", err)
	}
	return nil
}
