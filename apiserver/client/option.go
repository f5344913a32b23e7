package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	firstWait = 50 * time.Millisecond
	maxWait   = 2 * time.Second
)

// Option says how a request is made.
type Option func(*options)

type options struct {
	header http.Header
	within time.Duration
}

func gather(list []Option) options {
	o := options{header: http.Header{}}
	for _, set := range list {
		set(&o)
	}
	return o
}

// Retry has a request that was not answered, or by a server that is busy or broken
// ([Unclear]), sent again until that much time has passed.
func Retry(within time.Duration) Option {
	return func(o *options) { o.within = within }
}

// IfMatch has a write refused with 412 unless the resource is still the one that
// was read with this entity tag.
func IfMatch(etag string) Option {
	return func(o *options) { o.header.Set("If-Match", etag) }
}

// IfNew has a write refused with 412 if the resource exists.
func IfNew() Option {
	return func(o *options) { o.header.Set("If-None-Match", "*") }
}

// RequestID names the request. A run that is asked for again under the same id,
// a GUID, happens once.
func RequestID(id string) Option {
	return func(o *options) { o.header.Set("X-Ms-Client-Request-Id", id) }
}

func withVersion(query url.Values) url.Values {
	if query == nil {
		query = url.Values{}
	}
	query.Set("api-version", apiVersion)
	return query
}

// failure returns an answer as the error that it is.
func failure(resp *http.Response, text []byte) error {
	e := &Error{Status: resp.StatusCode}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		e.RetryAfter = time.Duration(min(s, 3600)) * time.Second
	}
	var body struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal(text, &body); err == nil && body.Error.Code != "" {
		e.Code, e.Message = body.Error.Code, body.Error.Message
		return e
	}
	if len(text) > maxError {
		text = append(text[:maxError], "…"...)
	}
	e.Message = strings.TrimSpace(strings.ToValidUTF8(string(text), "?"))
	return e
}

// sleep waits. It reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
