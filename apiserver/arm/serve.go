package arm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/carillon-scheduler/carillon/shared/job"
)

const (
	// maxBody is the most bytes of a body that are read. What a definition may
	// measure is much less, and an error of its own.
	maxBody = 256 << 10
	// maxEcho is the longest id of a client's that is sent back.
	maxEcho = 256
	// What is left of Azure Resource Manager's hourly allowances. Clients look
	// for the headers; nothing is counted here (our decision).
	remainingReads, remainingWrites = "14999", "1199"
)

// A request is what a handler answers.
type request struct {
	http  *http.Request
	id    string // x-ms-request-id
	ref   job.Ref
	route string // pattern of its path
	query query
	body  []byte // of PUT and PATCH
}

func (r *request) reads() bool {
	return r.http.Method == http.MethodGet || r.http.Method == http.MethodHead
}

// errTimeout is why a request's context ended.
var errTimeout = fmt.Errorf("request took longer than allowed: %w", context.DeadlineExceeded)

// ServeHTTP answers a request.
func (a *API) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	started := time.Now()
	r := &request{http: hr, id: uuid.NewString()}
	r.headers(w.Header())
	ctx := hr.Context()
	ans, err := a.handle(w, r)
	if err != nil {
		e := problem(err, r.id)
		if level, ok := e.level(); ok && ctx.Err() == nil { // else the client has gone
			a.cfg.Log.Log(ctx, level, "request failed", "request_id", r.id, "method", hr.Method, "route", r.route, "status", e.Status, "err", err)
		}
		ans = e.answer()
	}
	a.send(w, hr, ans)
	a.cfg.Log.DebugContext(ctx, "request", "request_id", r.id, "method", hr.Method, "route", r.route,
		"api_version", r.query[paramAPIVersion], "status", ans.status, "took", time.Since(started))
}

// headers sets what every answer carries (recorded).
func (r *request) headers(h http.Header) {
	client := r.http.Header.Get("X-Ms-Client-Request-Id")
	if client != "" && len(client) <= maxEcho {
		h.Set("X-Ms-Client-Request-Id", client)
	}
	correlation := r.http.Header.Get("X-Ms-Correlation-Request-Id")
	if correlation == "" || len(correlation) > maxEcho {
		correlation = r.id
	}
	h.Set("X-Ms-Request-Id", r.id)
	h.Set("X-Ms-Correlation-Request-Id", correlation)
	if r.reads() {
		h.Set("X-Ms-Ratelimit-Remaining-Subscription-Reads", remainingReads)
	} else {
		h.Set("X-Ms-Ratelimit-Remaining-Subscription-Writes", remainingWrites)
	}
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
}

// handle finds out what is asked for and has it done. A panic is an error like
// any other.
func (a *API) handle(w http.ResponseWriter, r *request) (ans *answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler { //nolint:errorlint // it is that value that net/http looks for
				panic(p)
			}
			ans, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if a.cfg.Admit != nil {
		if err := a.cfg.Admit(r.http); err != nil {
			return nil, err
		}
	}
	t, ref, err := find(a.routes, r.http.URL)
	if err != nil {
		return nil, err
	}
	r.ref, r.route = ref, t.pattern
	do, ok := t.methods[r.http.Method]
	if !ok {
		allow := strings.Join(t.allow(), ", ")
		return nil, &Error{
			Status: http.StatusMethodNotAllowed, Code: CodeMethodNotAllowed, Header: http.Header{"Allow": {allow}},
			Message: "This method is not allowed here. Allowed: " + allow + ".",
		}
	}
	if r.query, err = parseQuery(r.http.URL.RawQuery); err != nil {
		return nil, err
	}
	if err := r.query.checkVersion(t.foreign); err != nil {
		return nil, err
	}
	if r.http.Method == http.MethodPut || r.http.Method == http.MethodPatch {
		if r.body, err = readBody(w, r.http); err != nil {
			return nil, err
		}
	}
	ctx := r.http.Context()
	if !r.reads() {
		// What has reached the store has to reach the journal, even if nobody
		// waits for the answer any more.
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, a.cfg.Timeout, errTimeout)
	defer cancel()
	ans, err = do(ctx, r)
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = errors.Join(err, context.Cause(ctx)) // drivers do not always say so
	}
	return ans, err
}

// readBody reads a body, up to maxBody bytes and not one more.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var body []byte
	var err error
	if r.ContentLength <= maxBody {
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	}
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLarge || r.ContentLength > maxBody:
		return nil, &Error{
			Status: http.StatusRequestEntityTooLarge, Code: CodeTooLarge, Header: http.Header{"Connection": {"close"}},
			Message: fmt.Sprintf("The body must not be larger than %d bytes; a job may measure %d.", maxBody, job.MaxDefinitionBytes),
		}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &Error{Status: http.StatusRequestTimeout, Code: CodeRequestTimeout, Message: "The body took too long to arrive.", Cause: err}
	case err != nil:
		return nil, &Error{Status: http.StatusBadRequest, Code: CodeBadRequest, Message: "The body could not be read to its end.", Cause: err}
	}
	return body, nil
}
