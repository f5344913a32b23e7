package arm

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// A route is a path with what may be done there. net/http's ServeMux will not
// do: it is case-sensitive, and clients send "resourcegroups" and
// "jobcollections" (a shipped client).
type route struct {
	pattern string // for the log
	// segments of the path: a fixed one, or a name in braces.
	segments []string
	methods  map[string]handler
	// foreign marks what is not Azure Scheduler's own, so that the api-version
	// is that of another provider.
	foreign bool
}

// What a path can name.
const (
	nameSubscription  = "{subscription}"
	nameResourceGroup = "{resourceGroup}"
	nameCollection    = "{jobCollection}"
	nameJob           = "{job}"
)

// table returns the routes (AZURE, routes and statuses).
func (a *API) table() []route {
	const (
		subscription = "subscriptions/" + nameSubscription
		group        = subscription + "/resourceGroups/" + nameResourceGroup
		provider     = "/providers/" + job.Provider
		list         = group + provider + "/jobCollections"
		collection   = list + "/" + nameCollection
		jobs         = collection + "/jobs"
		one          = jobs + "/" + nameJob
	)
	table := []route{
		{pattern: subscription + provider, methods: map[string]handler{http.MethodGet: a.getProvider}, foreign: true},
		{pattern: group, methods: map[string]handler{http.MethodHead: a.headResourceGroup}, foreign: true},
		{pattern: subscription + provider + "/jobCollections", methods: map[string]handler{http.MethodGet: a.listCollections}},
		{pattern: list, methods: map[string]handler{http.MethodGet: a.listCollections}},
		{pattern: collection, methods: map[string]handler{
			http.MethodGet: a.getCollection, http.MethodPut: a.putCollection,
			http.MethodPatch: a.patchCollection, http.MethodDelete: a.deleteCollection,
		}},
		{pattern: collection + "/enable", methods: map[string]handler{http.MethodPost: a.switchCollection(job.CollectionEnabled)}},
		{pattern: collection + "/disable", methods: map[string]handler{http.MethodPost: a.switchCollection(job.CollectionDisabled)}},
		{pattern: jobs, methods: map[string]handler{http.MethodGet: a.listJobs}},
		{pattern: one, methods: map[string]handler{
			http.MethodGet: a.getJob, http.MethodPut: a.putJob,
			http.MethodPatch: a.patchJob, http.MethodDelete: a.deleteJob,
		}},
		{pattern: one + "/run", methods: map[string]handler{http.MethodPost: a.runJob}},
		{pattern: one + "/history", methods: map[string]handler{http.MethodGet: a.listHistory}},
	}
	for i := range table {
		table[i].segments = strings.Split(table[i].pattern, "/")
		if get, ok := table[i].methods[http.MethodGet]; ok {
			table[i].methods[http.MethodHead] = get // without the body, which net/http leaves out
		}
	}
	return table
}

// allow lists the methods of a route.
func (t *route) allow() []string {
	list := make([]string, 0, len(t.methods))
	for m := range t.methods {
		list = append(list, m)
	}
	slices.Sort(list)
	return list
}

// find returns the route of a URL, and the job that its names name, as far as
// they go. Fixed segments match in any case. A slash at the end and slashes
// doubled at the beginning, which clients make by joining URLs, do not count
// (our decision); an empty segment elsewhere matches nothing.
func find(table []route, u *url.URL) (*route, job.Ref, error) {
	path := strings.TrimLeft(u.EscapedPath(), "/")
	segments := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, s := range segments {
		var err error
		if segments[i], err = unescape(s); err != nil {
			return nil, job.Ref{}, err
		}
	}
	for i := range table {
		if ref, ok := table[i].match(segments); ok {
			return &table[i], ref, validNames(&table[i], ref)
		}
	}
	return nil, job.Ref{}, &Error{Status: http.StatusNotFound, Code: CodeNotFound, Message: "There is nothing at this path."}
}

// unescape decodes a segment of a path once, and refuses what could be taken
// for more than a name by anything that reads it later.
func unescape(segment string) (string, error) {
	s, err := url.PathUnescape(segment)
	switch {
	case err != nil:
		return "", badRequest("The path is not well escaped.")
	case !utf8.ValidString(s):
		return "", badRequest("The path must be UTF-8.")
	case strings.ContainsAny(s, `/\`):
		return "", badRequest("A name in the path must not hold a slash or backslash.")
	case strings.ContainsFunc(s, unicode.IsControl):
		return "", badRequest("A name in the path must not hold control characters.")
	case s == "." || s == "..":
		return "", badRequest("The path must not hold '.' or '..'.")
	}
	return s, nil
}

func (t *route) match(segments []string) (job.Ref, bool) {
	var ref job.Ref
	if len(segments) != len(t.segments) {
		return ref, false
	}
	for i, s := range segments {
		switch t.segments[i] {
		case nameSubscription:
			ref.Subscription = s
		case nameResourceGroup:
			ref.ResourceGroup = s
		case nameCollection:
			ref.Collection = s
		case nameJob:
			ref.Job = s
		default:
			if !strings.EqualFold(s, t.segments[i]) {
				return ref, false
			}
			continue
		}
		if s == "" {
			return ref, false
		}
	}
	return ref, true
}

// validNames checks the names that a path of the route holds.
func validNames(t *route, ref job.Ref) error {
	for _, s := range t.segments {
		value := ""
		switch s {
		case nameSubscription:
			value = ref.Subscription
		case nameResourceGroup:
			value = ref.ResourceGroup
		case nameCollection:
			value = ref.Collection
		case nameJob:
			value = ref.Job
		default:
			continue
		}
		if err := job.ValidName(strings.Trim(s, "{}"), value); err != nil {
			return err
		}
	}
	return nil
}
