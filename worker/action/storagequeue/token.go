package storagequeue

import (
	"net/url"
	"strings"
	"time"
)

// parseToken reads a SAS token, with or without the "?" that the portal gives
// it. If it is none, or expired before now, refusal is a sentence for history:
// then nothing is sent, since what is no SAS token may be any other secret.
// Whether a token permits what is asked of it is the service's to say.
func parseToken(s string, now time.Time) (token url.Values, refusal string) {
	token, err := url.ParseQuery(strings.TrimPrefix(strings.TrimSpace(s), "?"))
	if err != nil || !token.Has("sig") {
		return nil, "The SAS token is none: it must be the query part of a URL, with sig=… in it."
	}
	if end, ok := expiry(token.Get("se")); ok && !end.After(now) {
		return nil, "The SAS token expired at " + end.UTC().Format(time.RFC3339) + ". The job needs a new one."
	}
	return token, ""
}

// expiry reads a token's se. A form that Azure does not document is left for
// the service to judge, and so is none, which a stored access policy may have.
func expiry(se string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", time.DateOnly} {
		if t, err := time.Parse(layout, se); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
