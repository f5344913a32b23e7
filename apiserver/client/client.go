// Package client is a client of the REST API: collections, jobs and their
// history, as small types that hold what a caller needs and ignore what they do
// not know. It must not know how a server works, nor decide on anything for its
// caller: it repeats a request only when told to.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	apiVersion = "2016-03-01"
	// maxAnswer bounds an answer: a hundred jobs of 16 KiB, and then some.
	maxAnswer = 16 << 20
	// maxError bounds the text of an error that is not the API's own.
	maxError = 500
)

// Config configures a Client. BaseURL is required.
type Config struct {
	BaseURL string // of the API server: http://127.0.0.1:8080
	Token   string // bearer token; empty: none is sent
	// Timeout is how long one try of a request may take; default 30 s.
	Timeout time.Duration
	// Transport carries requests; default a new one of package http.
	Transport http.RoundTripper
}

// Client calls one API. Create one with New; it may be used by several
// goroutines at once.
type Client struct {
	cfg  Config
	base *url.URL
	http *http.Client
}

// New returns a Client. It sends nothing yet.
func New(cfg Config) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(cfg.BaseURL, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("client config: base url must be such as http://127.0.0.1:8080")
	}
	if cfg.Timeout < 0 {
		return nil, errors.New("client config: timeout must not be negative")
	}
	if strings.ContainsAny(cfg.Token, "\r\n") {
		return nil, errors.New("client config: token must be one line")
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, 30*time.Second)
	if cfg.Transport == nil {
		cfg.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute}
	}
	// The API redirects nobody, and a token must not follow to another host.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{cfg: cfg, base: base, http: &http.Client{Transport: cfg.Transport, CheckRedirect: stay}}, nil
}

// CloseIdle closes connections that no request uses.
func (c *Client) CloseIdle() { c.http.CloseIdleConnections() }

// Error is an answer that is an error.
type Error struct {
	Status     int
	Code       string // the API's: NotFound, Conflict …; empty if the answer was not the API's own
	Message    string
	RetryAfter time.Duration // that the server asks to wait; 0: it says nothing
}

// Error returns status, code and message.
func (e *Error) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s: %s", e.Status, cmp.Or(e.Code, http.StatusText(e.Status)), e.Message))
}

// StatusOf returns the HTTP status of an error, or 0 if it is no answer of the
// server.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}

// Unclear reports whether a request that ended with err may have been carried
// out, or would be if it were sent again: the server is busy, has broken down,
// or did not answer.
func Unclear(err error) bool {
	switch status := StatusOf(err); {
	case err == nil:
		return false
	case status == 0, status >= http.StatusInternalServerError:
		return true
	default:
		return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
	}
}

// send sends a request, as often as the options say, and reads its answer into
// answer unless that is nil. It returns the entity tag.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, body, answer any, options []Option) (etag string, err error) {
	o := gather(options)
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return "", fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	query = withVersion(query)
	deadline := time.Now().Add(o.within)
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		etag, err = c.try(ctx, method, path, query, text, answer, o.header)
		if !Unclear(err) || ctx.Err() != nil {
			break
		}
		pause := wait
		if e, ok := errors.AsType[*Error](err); ok {
			pause = max(pause, e.RetryAfter)
		}
		if time.Now().Add(pause).After(deadline) || !sleep(ctx, pause) {
			break
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", method, path, err)
	}
	return etag, nil
}

// try sends a request once.
func (c *Client) try(ctx context.Context, method, path string, query url.Values, body []byte, answer any, header http.Header) (etag string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, fmt.Errorf("no answer within %v", c.cfg.Timeout))
	defer cancel()
	u := c.base.JoinPath(path)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	maps.Copy(req.Header, header)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.cfg.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return "", plain(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read, or is given up
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read answer: %w", plain(ctx, err))
	case len(text) > maxAnswer:
		return "", &Error{Status: http.StatusInsufficientStorage, Message: fmt.Sprintf("an answer of more than %d bytes is refused", maxAnswer)}
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return "", failure(resp, text)
	case answer == nil:
		return resp.Header.Get("ETag"), nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return "", fmt.Errorf("read answer: %w", err)
	}
	return resp.Header.Get("ETag"), nil
}

// plain returns an error of package http without the URL, whose query is nobody's
// business, and names what ended ctx.
func plain(ctx context.Context, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
