package arm

import (
	"net/http"
	"net/url"
	"strings"
)

// nextLink returns the URL of the page after this one: the request's, absolute,
// with one parameter set and $skip dropped. All others stay, api-version among
// them, as SDKs follow it as it is (a shipped client).
func (a *API) nextLink(r *http.Request, param, value string) string {
	base := a.cfg.BaseURL
	if base == "" {
		base = "http://" + r.Host
		if r.TLS != nil {
			base = "https://" + r.Host
		}
	}
	next := url.Values{}
	for name, list := range r.URL.Query() {
		if !strings.EqualFold(name, paramSkip) && !strings.EqualFold(name, param) {
			next[name] = list
		}
	}
	next.Set(param, value)
	// '$' may stand in a query, and clients that print a link read better.
	return base + r.URL.EscapedPath() + "?" + strings.ReplaceAll(next.Encode(), "%24", "$")
}
