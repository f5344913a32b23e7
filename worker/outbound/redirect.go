package outbound

import (
	"net/http"
	"net/url"
	"strings"
)

// redirect decides whether to follow a redirect, and with which headers.
func redirect(req *http.Request, via []*http.Request) error {
	if len(via) > MaxRedirects {
		return ErrTooManyRedirects
	}
	if s := req.URL.Scheme; s != "http" && s != "https" {
		return http.ErrUseLastResponse // the redirect itself is the answer, as in .NET
	}
	first := via[0]
	// A name and password that the target put into Location are not used.
	req.URL.User = nil
	// net/http adds the last URL with its query, where webhooks keep their keys.
	if _, own := first.Header["Referer"]; !own {
		delete(req.Header, "Referer")
	}
	if crossed(req, via) {
		req.Host = ""
		for name := range req.Header {
			if !follows(name) {
				delete(req.Header, name)
			}
		}
	}
	return nil
}

// crossed reports whether any redirect so far led away from where the first
// request went. One that led back does not count as home: who sent it there
// must not decide where credentials go.
func crossed(req *http.Request, via []*http.Request) bool {
	home := origin(via[0].URL)
	for _, r := range via[1:] {
		if origin(r.URL) != home {
			return true
		}
	}
	return origin(req.URL) != home
}

// origin returns scheme, host and port.
func origin(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// follows reports whether a header goes along to another origin. Credentials
// come under any name (Authorization, Cookie, X-Api-Key, x-functions-key …), so
// this lists what is known to hold none; the rest stays behind. Our decision:
// the record is silent about redirects.
func follows(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "accept", "accept-charset", "accept-encoding", "accept-language",
		"cache-control", "pragma", "content-type", "content-encoding", "content-language",
		"user-agent", "idempotency-key", "x-ms-execution-tag", "x-ms-client-request-id":
		return true
	}
	return strings.HasPrefix(name, "x-ms-scheduler-")
}
