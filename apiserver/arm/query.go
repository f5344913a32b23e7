package arm

import (
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// apiVersions returns the api-versions that are understood, all alike: the newest
// is what clients send, the older differ in nothing that was recorded.
func apiVersions() []string { return []string{"2016-03-01", "2016-01-01", "2014-08-01-preview"} }

// Query parameters.
const (
	paramAPIVersion = "api-version"
	paramFilter     = "$filter"
	paramSkip       = "$skip"
	paramSkipToken  = "$skiptoken"
	paramTop        = "$top"
)

// A query holds the parameters of a URL by the lower case of their names. Of a
// parameter that is there twice the first counts.
type query map[string]string

func parseQuery(raw string) (query, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, badRequest("The query string is not well formed.")
	}
	q := make(query, len(values))
	for name, list := range values {
		name = strings.ToLower(name)
		if _, ok := q[name]; !ok {
			q[name] = list[0]
		}
	}
	return q, nil
}

// checkVersion checks the api-version, which every request must name (Azure
// documentation). What is not Azure Scheduler's own is asked for with the
// versions of other providers, so any will do there (a shipped client:
// PowerShell).
func (q query) checkVersion(foreign bool) error {
	version := q[paramAPIVersion]
	if version == "" {
		return &Error{
			Status: http.StatusBadRequest, Code: CodeMissingAPIVersion,
			Message: "The api-version query parameter (?api-version=) is required for all requests.",
		}
	}
	if foreign || slices.ContainsFunc(apiVersions(), func(v string) bool { return strings.EqualFold(v, version) }) {
		return nil
	}
	return &Error{
		Status: http.StatusBadRequest, Code: CodeInvalidAPIVersion,
		Message: "The api-version " + strconv.QuoteToASCII(version) + " is not supported. Supported are " + strings.Join(apiVersions(), ", ") + ".",
	}
}

// number returns a whole number from least to most, or zero if the parameter is
// not there.
func (q query) number(name string, least, most int) (int, error) {
	s, ok := q[name]
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, job.Invalid(name, "must be a whole number from %d to %d", least, most)
	}
	return n, nil
}

// page returns the rows to pass over and the most rows to answer. $top is the
// size of a page and no bound on the list: nextLink goes on behind it (our
// decision).
func (q query) page(largest int) (skip, top int, err error) {
	if skip, err = q.number(paramSkip, 0, math.MaxInt32); err != nil {
		return 0, 0, err
	}
	if top, err = q.number(paramTop, 1, defaultMaxPage); err != nil {
		return 0, 0, err
	}
	if top == 0 || top > largest {
		top = largest
	}
	return skip, top, nil
}

// filter reads "$filter=<field> eq <value>", its value quoted or not, all of it
// in any case (Azure documentation; the SDKs send both forms). It returns the
// value as it stands in allowed, and the zero value without a filter.
func filter[T ~string](q query, field string, allowed ...T) (T, error) {
	expression := strings.TrimSpace(q[paramFilter])
	if expression == "" {
		return "", nil
	}
	words := strings.Fields(expression)
	if len(words) == 3 && strings.EqualFold(words[0], field) && strings.EqualFold(words[1], "eq") {
		for _, value := range allowed {
			if strings.EqualFold(unquote(words[2]), string(value)) {
				return value, nil
			}
		}
	}
	list := make([]string, len(allowed))
	for i, value := range allowed {
		list[i] = string(value)
	}
	return "", job.Invalid(paramFilter, "must be \"%s eq\" and one of %s", field, strings.Join(list, ", "))
}

// unquote drops a pair of quotes around s.
func unquote(s string) string {
	if n := len(s); n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	return s
}
