package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// DefaultAuthority is Microsoft's for its public cloud.
const DefaultAuthority = "https://login.microsoftonline.com"

// maxAnswer bounds what is read of an authority's answer, in bytes.
const maxAnswer = 64 << 10

// An authority gives tokens to clients of tenants.
type authority struct {
	base   string // without a slash at its end
	client *http.Client
}

// newAuthority returns an authority by its URL: https, or http on this machine.
func newAuthority(base string, client *outbound.Client) (*authority, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("authority must be a URL of a host, such as " + DefaultAuthority)
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return nil, errors.New("authority must begin with https:// unless it is on this machine")
	}
	h := client.HTTP()
	h.Transport = &plainAnswers{next: h.Transport}
	return &authority{base: strings.TrimRight(base, "/"), client: h}, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// fetch asks for a token by the client credentials grant of Azure AD's first
// version, which names what the token is for by a resource (AZURE, outbound).
// Its errors are sentences for history, without any secret.
func (a *authority) fetch(ctx context.Context, auth *job.Authentication) (*token, error) {
	if strings.Trim(auth.Tenant, ".") == "" || strings.ContainsAny(auth.Tenant, `/\%?#`) {
		return nil, tokenFault("the job's tenant is not valid")
	}
	began := time.Now()
	config := clientcredentials.Config{
		ClientID: auth.ClientID, ClientSecret: string(auth.Secret), AuthStyle: oauth2.AuthStyleInParams,
		TokenURL:       a.base + "/" + url.PathEscape(auth.Tenant) + "/oauth2/token",
		EndpointParams: url.Values{"resource": {auth.Audience}},
	}
	t, err := config.Token(context.WithValue(ctx, oauth2.HTTPClient, a.client))
	if err != nil {
		return nil, why(ctx, err)
	}
	if !strings.EqualFold(t.Type(), "Bearer") || strings.ContainsFunc(t.AccessToken, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, tokenFault(noToken)
	}
	life := unsaidLife
	if !t.Expiry.IsZero() {
		life = time.Until(t.Expiry)
	}
	return newToken(t.AccessToken, life, began), nil
}

const noToken = "the authority's answer is no token"

var errNoAnswer = tokenFault("the authority did not answer in time")

func tokenFault(reason string) error {
	return refusalError("ActiveDirectoryOAuth No token was had: " + reason + ".")
}

// why says why there is no token.
func why(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSlow) {
		return errNoAnswer
	}
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return refused(e.Response.StatusCode, e.Body)
	}
	if e, ok := errors.AsType[*url.Error](err); ok { // of the call, not of its answer
		if e.Timeout() || errors.Is(err, context.DeadlineExceeded) {
			return errNoAnswer
		}
		if errors.Is(err, errTooLong) {
			return tokenFault(noToken)
		}
		return tokenFault("the authority cannot be reached: " + strings.TrimRight(outbound.Reason(ctx, e.Err), "."))
	}
	return tokenFault(noToken)
}

var (
	oauthCode = regexp.MustCompile(`^[a-z][a-z_]{1,63}$`) // as all of OAuth's and Azure AD's are
	aadCode   = regexp.MustCompile(`\bAADSTS[0-9]{1,9}\b`)
)

// refused says that the authority refused, by the error code of OAuth and the
// number of Azure AD's. What else the answer says may be anything.
func refused(status int, body []byte) error {
	var answer struct {
		Code        string `json:"error"`
		Description string `json:"error_description"`
	}
	if json.Unmarshal(body, &answer) != nil || !oauthCode.MatchString(answer.Code) {
		return tokenFault(noToken + " (" + strconv.Itoa(status) + ")")
	}
	text := "ActiveDirectoryOAuth The token was refused by the authority: " + answer.Code
	if number := aadCode.FindString(answer.Description); number != "" {
		text += " (" + number + ")"
	}
	return refusalError(text + ".")
}

// plainAnswers makes an authority's answers such that x/oauth2 reads them as we
// want: bounded, as JSON whatever they are called, and with a number of seconds
// for the token's life, or none.
type plainAnswers struct{ next http.RoundTripper }

var errTooLong = errors.New("answer is too long")

// RoundTrip makes the call.
func (p *plainAnswers) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := p.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if len(body) > maxAnswer {
		return nil, errTooLong
	}
	var answer map[string]json.RawMessage
	if json.Unmarshal(body, &answer) == nil && answer != nil {
		if seconds, ok := secondsOf(answer["expires_in"]); ok {
			answer["expires_in"] = strconv.AppendInt(nil, seconds, 10)
		} else {
			delete(answer, "expires_in")
		}
		if body, err = json.Marshal(answer); err != nil {
			return nil, fmt.Errorf("read answer: %w", err)
		}
	}
	resp.Header.Set("Content-Type", "application/json")
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// secondsOf reads a number, or a text that is one: Azure AD's first version
// sends that. It is not 0, which to x/oauth2 would mean that none was given.
func secondsOf(raw json.RawMessage) (int64, bool) {
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `" `), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(n) {
		return 0, false
	}
	bound := maxLife.Seconds()
	if n = math.Trunc(min(max(n, -bound), bound)); n == 0 {
		n = -1
	}
	return int64(n), true
}
