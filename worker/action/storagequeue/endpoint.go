package storagequeue

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// placeholder stands for the account in an endpoint.
const placeholder = "{account}"

// An endpoint is where accounts have their queues.
type endpoint struct {
	scheme, host, path string // one of host and path holds the placeholder
}

// parseEndpoint checks an endpoint. Its errors do not quote it: what does not
// belong into it may be a secret.
func parseEndpoint(s string) (*endpoint, error) {
	const example = "such as " + DefaultEndpoint + " or http://127.0.0.1:10001/" + placeholder
	if strings.Count(s, placeholder) != 1 {
		return nil, fmt.Errorf("endpoint must hold %s once, %s", placeholder, example)
	}
	// Braces cannot stand in a URL's host. This can, and stands in no one's.
	const standIn = "carillon-account-stands-here"
	u, err := url.Parse(strings.Replace(s, placeholder, standIn, 1))
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("endpoint must be a URL " + example)
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("endpoint must begin with https:// or http://")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("endpoint must not hold a user, a query or a fragment")
	}
	return &endpoint{
		scheme: u.Scheme,
		host:   strings.Replace(u.Host, standIn, placeholder, 1),
		path:   strings.Replace(strings.TrimSuffix(u.Path, "/"), standIn, placeholder, 1),
	}, nil
}

// queue returns the URL of an account's queue with a SAS token as its query. It
// reports false if a name cannot be one: definitions are validated, but where a
// token is sent to should not rest on that alone.
func (e *endpoint) queue(account, name string, token url.Values) (string, bool) {
	if !isName(account) || !isName(name) {
		return "", false
	}
	u := url.URL{
		Scheme:   e.scheme,
		Host:     strings.Replace(e.host, placeholder, account, 1),
		Path:     strings.Replace(e.path, placeholder, account, 1) + "/" + name,
		RawQuery: token.Encode(),
	}
	return u.String(), true
}

// ofAccount reports whether host is the account's own, so that there is no such
// account if there is no such host.
func (e *endpoint) ofAccount(account, host string) bool {
	own, _, _ := strings.Cut(strings.Replace(e.host, placeholder, account, 1), ":")
	return strings.Contains(e.host, placeholder) && strings.EqualFold(strings.TrimSuffix(host, "."), own)
}

// isName reports whether s has only letters, digits and hyphens.
func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
	})
}
