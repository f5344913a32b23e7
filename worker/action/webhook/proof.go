package webhook

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// A proof is how one call proves who it is.
type proof struct {
	client   *outbound.Client
	conceal  func(string) string // takes out of an answer what must not come back; nil: nothing
	release  func()              // nil: nothing to release
	rejected func()              // is called if the answer is a 401; nil: nothing is to be done
}

// end must be called after the call, with its answer or nil.
func (p *proof) end(resp *outbound.Response) {
	if p.release != nil {
		p.release()
	}
	if p.rejected != nil && resp != nil && resp.Status == http.StatusUnauthorized {
		p.rejected()
	}
}

// prove makes req prove who calls, as auth says. A job's own Authorization header
// wins, as all its headers do: then header is false. Without the authentication
// that was asked for nothing is called.
func (a *Action) prove(ctx context.Context, req *http.Request, auth *job.Authentication, header bool) (*proof, error) {
	p := &proof{client: a.client}
	switch auth.Type {
	case job.Basic:
		p.conceal = concealer([]string{strings.TrimRight(credentials(auth), "="), string(auth.Password)})
		if header {
			req.Header["Authorization"] = []string{"Basic " + credentials(auth)}
		}
	case job.ClientCertificate:
		if req.URL.Scheme != "https" {
			return nil, certificateFault("the job's uri does not begin with https://")
		}
		var err error
		if p.client, p.release, err = a.certificates.use(ctx, auth); err != nil {
			return nil, err
		}
	case job.ActiveDirectoryOAuth:
		if !header {
			p.conceal = concealer([]string{string(auth.Secret)})
			break
		}
		t, err := a.tokens.use(ctx, auth)
		if err != nil {
			return nil, err
		}
		p.conceal = t.conceal()
		p.rejected = func() { a.tokens.reject(auth, t) }
		req.Header["Authorization"] = []string{"Bearer " + t.value}
	default:
		return nil, refusalError("This version of Carillon cannot authenticate with " + string(auth.Type) + ".")
	}
	return p, nil
}

// credentials returns what stands in the header of Basic authentication, in
// UTF-8 (RFC 7617; our decision, the record shows only ASCII).
func credentials(auth *job.Authentication) string {
	return base64.StdEncoding.EncodeToString([]byte(auth.Username + ":" + string(auth.Password)))
}
