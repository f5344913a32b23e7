package webhook

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// request makes d's request: uri, header names and their case, and body are the
// job's, verbatim (AZURE, shapes), and so is a method that is not known. Its
// errors are sentences for history. The proof of who calls is not in it yet;
// authenticate says whether the job leaves that to us.
func (a *Action) request(ctx context.Context, d *job.Dispatch) (req *http.Request, authenticate bool, err error) {
	r := d.Action.Request
	if r == nil {
		return nil, false, refusalError("The job has no request.")
	}
	u, err := url.Parse(r.URI)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, false, refusalError("The job's uri is not valid.")
	}
	u.RawQuery = escape(u.RawQuery)
	req, err = http.NewRequestWithContext(ctx, method(r.Method), u.String(), strings.NewReader(r.Body))
	if err != nil {
		return nil, false, refusalError("The job's method is not valid.")
	}
	own, ok := setOwn(req, r.Headers)
	if !ok {
		return nil, false, refusalError("One of the job's headers is not valid.")
	}
	a.setFacts(req, own, d)
	return req, !own["authorization"], nil
}

// method returns a method as it is sent. Definitions keep the user's case; .NET
// sent the methods that it knows in upper case, and net/http takes only "HEAD"
// for a call whose answer has no body.
func method(s string) string {
	switch upper := strings.ToUpper(s); upper {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return upper
	}
	return s
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
