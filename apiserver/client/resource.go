package client

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// Ref names a collection. Subscription and ResourceGroup are "carillon" unless
// given.
type Ref struct{ Subscription, ResourceGroup, Collection string }

func (r Ref) group() string {
	return "/subscriptions/" + url.PathEscape(cmp.Or(r.Subscription, "carillon")) +
		"/resourceGroups/" + url.PathEscape(cmp.Or(r.ResourceGroup, "carillon")) +
		"/providers/Microsoft.Scheduler/jobCollections"
}

func (r Ref) path() string { return r.group() + "/" + url.PathEscape(r.Collection) }

func (r Ref) job(name string) string { return r.path() + "/jobs/" + url.PathEscape(name) }

// PutCollection creates or replaces a collection. doc is a [Collection], or
// anything that is one in JSON.
func (c *Client) PutCollection(ctx context.Context, r Ref, doc any, o ...Option) (*Collection, error) {
	return c.collection(ctx, http.MethodPut, r, doc, o)
}

// PatchCollection merges doc into a collection.
func (c *Client) PatchCollection(ctx context.Context, r Ref, doc any, o ...Option) (*Collection, error) {
	return c.collection(ctx, http.MethodPatch, r, doc, o)
}

// GetCollection reads a collection.
func (c *Client) GetCollection(ctx context.Context, r Ref, o ...Option) (*Collection, error) {
	return c.collection(ctx, http.MethodGet, r, nil, o)
}

func (c *Client) collection(ctx context.Context, method string, r Ref, doc any, o []Option) (*Collection, error) {
	var answer Collection
	etag, err := c.send(ctx, method, r.path(), nil, doc, &answer, o)
	if err != nil {
		return nil, err
	}
	answer.ETag = etag
	return &answer, nil
}

// DeleteCollection deletes a collection with its jobs.
func (c *Client) DeleteCollection(ctx context.Context, r Ref, o ...Option) error {
	_, err := c.send(ctx, http.MethodDelete, r.path(), nil, nil, nil, o)
	return err
}

// EnableCollection lets a collection's jobs run.
func (c *Client) EnableCollection(ctx context.Context, r Ref, o ...Option) error {
	_, err := c.send(ctx, http.MethodPost, r.path()+"/enable", nil, nil, nil, o)
	return err
}

// DisableCollection stops all jobs of a collection.
func (c *Client) DisableCollection(ctx context.Context, r Ref, o ...Option) error {
	_, err := c.send(ctx, http.MethodPost, r.path()+"/disable", nil, nil, nil, o)
	return err
}

// PutJob creates or replaces a job. doc is a [Job], or anything that is one in
// JSON.
func (c *Client) PutJob(ctx context.Context, r Ref, name string, doc any, o ...Option) (*Job, error) {
	return c.job(ctx, http.MethodPut, r, name, doc, o)
}

// PatchJob merges doc into a job.
func (c *Client) PatchJob(ctx context.Context, r Ref, name string, doc any, o ...Option) (*Job, error) {
	return c.job(ctx, http.MethodPatch, r, name, doc, o)
}

// GetJob reads a job.
func (c *Client) GetJob(ctx context.Context, r Ref, name string, o ...Option) (*Job, error) {
	return c.job(ctx, http.MethodGet, r, name, nil, o)
}

func (c *Client) job(ctx context.Context, method string, r Ref, name string, doc any, o []Option) (*Job, error) {
	var answer Job
	etag, err := c.send(ctx, method, r.job(name), nil, doc, &answer, o)
	if err != nil {
		return nil, err
	}
	answer.ETag = etag
	return &answer, nil
}

// DeleteJob deletes a job.
func (c *Client) DeleteJob(ctx context.Context, r Ref, name string, o ...Option) error {
	_, err := c.send(ctx, http.MethodDelete, r.job(name), nil, nil, nil, o)
	return err
}

// RunJob has a job run once more, now.
func (c *Client) RunJob(ctx context.Context, r Ref, name string, o ...Option) error {
	_, err := c.send(ctx, http.MethodPost, r.job(name)+"/run", nil, nil, nil, o)
	return err
}

// Query chooses what is listed. Its zero value is everything.
type Query struct {
	Filter string // state eq 'disabled', status eq 'failed'
	Top    int    // rows of a page, 1 to 100; 0: the server's default
}

func (q Query) values() url.Values {
	v := url.Values{}
	if q.Filter != "" {
		v.Set("$filter", q.Filter)
	}
	if q.Top > 0 {
		v.Set("$top", strconv.Itoa(q.Top))
	}
	return v
}

// Collections lists the collections of a resource group by name, page by page. It
// ends after the first error.
func (c *Client) Collections(ctx context.Context, r Ref, o ...Option) iter.Seq2[*Collection, error] {
	return pages[Collection](ctx, c, r.group(), url.Values{}, o)
}

// Jobs lists a collection's jobs by name, page by page. It ends after the first
// error.
func (c *Client) Jobs(ctx context.Context, r Ref, q Query, o ...Option) iter.Seq2[*Job, error] {
	return pages[Job](ctx, c, r.path()+"/jobs", q.values(), o)
}

// History lists a job's history, newest first, page by page. It ends after the
// first error.
func (c *Client) History(ctx context.Context, r Ref, job string, q Query, o ...Option) iter.Seq2[*Row, error] {
	return pages[Row](ctx, c, r.job(job)+"/history", q.values(), o)
}

// pages follows a list. Of a link to the next page it takes the query only: the
// host may be known by another name here.
func pages[T any](ctx context.Context, c *Client, path string, query url.Values, o []Option) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for {
			var page struct {
				Value    []T
				NextLink string
			}
			if _, err := c.send(ctx, http.MethodGet, path, query, nil, &page, o); err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Value {
				if !yield(&page.Value[i], nil) {
					return
				}
			}
			if page.NextLink == "" {
				return
			}
			next, err := url.Parse(page.NextLink)
			if err != nil {
				yield(nil, &Error{Status: http.StatusBadGateway, Message: "the link to the next page is no URL"})
				return
			}
			query = next.Query()
		}
	}
}
