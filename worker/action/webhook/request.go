package webhook

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// request makes d's request: method, uri, header names and their case, and
// body are the job's, verbatim (AZURE, shapes). If it cannot, refusal is a
// sentence for history.
func (a *Action) request(ctx context.Context, d *job.Dispatch) (req *http.Request, refusal string) {
	r := d.Action.Request
	if r == nil {
		return nil, "The job has no request."
	}
	u, err := url.Parse(r.URI)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, "The job's uri is not valid."
	}
	u.RawQuery = escape(u.RawQuery)
	req, err = http.NewRequestWithContext(ctx, r.Method, u.String(), strings.NewReader(r.Body))
	if err != nil {
		return nil, "The job's method is not valid."
	}
	own, ok := setOwn(req, r.Headers)
	if !ok {
		return nil, "One of the job's headers is not valid."
	}
	if auth := r.Authentication; auth != nil && !own["authorization"] {
		if auth.Type != job.Basic { // never call without the authentication that was asked for
			return nil, "This version of Carillon cannot authenticate with " + string(auth.Type) + " yet."
		}
		req.Header["Authorization"] = []string{"Basic " + credentials(auth)}
	}
	a.setFacts(req, own, d)
	return req, ""
}

// escape percent-encodes what cannot stand in a request line. The rest of a
// query is the job's own spelling.
func escape(query string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c <= ' ' || c >= 0x7f {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
