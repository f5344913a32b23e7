// Package arm serves the REST API as Azure Resource Manager served that of
// Azure Scheduler (api-version 2016-03-01): routes and statuses, conditional
// requests, lists, errors, and the rules by which a request changes a
// collection or a job.
//
// What a document looks like is for package wire to say, and what it must hold
// for package job. This package must not know of Redis or NATS: it stands on
// the small interfaces [Store], [Journal] and [History].
//
// A request is judged in this order, and the first objection is the answer
// (our decision): who asks (401, 403, 429), path (400, 404), method (405), query
// (400), size of the body (413), the body (400), the collection and the job
// (404; of a PATCH before the body), If-Match and If-None-Match (412), a job that
// is final (409), the definition (400), quotas (409). Only then is anything
// written.
//
// Where a behaviour has a source it is named: "recorded" (seen in traffic of
// the live service), "Azure documentation", "a shipped client", or "our
// decision" where these are silent or contradict each other.
package arm

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// What a Config leaves out.
const (
	defaultMaxPage = 100 // AZURE, lists: 100 jobs, 100 history rows
	defaultTimeout = 30 * time.Second
)

// Config is what an [API] stands on.
type Config struct {
	Store   Store        // required
	Journal Journal      // required
	History History      // required
	Log     *slog.Logger // required

	// Shards is the number of shards of the cluster, at least 1.
	Shards int
	// Ceilings are the operator's limits; the zero value leaves Azure's.
	Ceilings job.Ceilings
	// Sealer hides the secrets of definitions. Nil leaves them as they are, to
	// whoever gives the Store.
	Sealer Sealer
	// Admit decides who may ask: a request it returns an error for is answered
	// with that error, best an [*Error]. Nil admits everybody.
	Admit func(*http.Request) error
	// MaxPage is the most rows of an answer, 1 to 100; 0 means 100.
	MaxPage int
	// Timeout bounds a request's work after its body was read; 0 means 30 s.
	Timeout time.Duration
	// BaseURL is what clients reach this API at ("https://host:port"), for the
	// links it gives out. Empty: as the request says, which is wrong behind a
	// proxy that ends TLS.
	BaseURL string
}

// API is the REST API, an [http.Handler]. It starts nothing and is safe for
// concurrent use.
type API struct {
	cfg    Config
	routes []route
	locks  locks
	debts  debts
	gzips  gzips
}

// New returns an API.
func New(cfg Config) (*API, error) {
	var errs []error
	for _, need := range []struct {
		name    string
		missing bool
	}{
		{"Store", cfg.Store == nil},
		{"Journal", cfg.Journal == nil},
		{"History", cfg.History == nil},
		{"Log", cfg.Log == nil},
	} {
		if need.missing {
			errs = append(errs, errors.New("arm: "+need.name+" is required"))
		}
	}
	if cfg.Shards < 1 {
		errs = append(errs, errors.New("arm: Shards must be at least 1"))
	}
	cfg.MaxPage = cmp.Or(cfg.MaxPage, defaultMaxPage)
	if cfg.MaxPage < 1 || cfg.MaxPage > defaultMaxPage {
		errs = append(errs, errors.New("arm: MaxPage must be 1 to 100"))
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, defaultTimeout)
	if cfg.Timeout < 0 {
		errs = append(errs, errors.New("arm: Timeout must not be negative"))
	}
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	if u, err := url.Parse(cfg.BaseURL); cfg.BaseURL != "" && (err != nil || u.Scheme == "" || u.Host == "") {
		errs = append(errs, errors.New("arm: BaseURL must be an absolute URL"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	a := &API{cfg: cfg}
	a.routes = a.table()
	a.locks.init()
	return a, nil
}

// now returns the present in whole milliseconds, the grain of all that is kept.
func (a *API) now() time.Time { return job.Ceil(a.cfg.Store.Now()) }

// A handler answers a request, or says why it cannot.
type handler func(ctx context.Context, r *request) (*answer, error)
