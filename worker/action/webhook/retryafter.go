package webhook

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// maxRetryAfter bounds how long a target may put a job off (our decision).
const maxRetryAfter = 24 * time.Hour

// retryAfter returns how long the value of a Retry-After header, seconds or an
// HTTP date (RFC 9110), asks to wait: 0 to [maxRetryAfter]. It reports false if
// there is none or it is neither.
func retryAfter(value string, now time.Time) (time.Duration, bool) {
	if value == "" {
		return 0, false
	}
	seconds, err := strconv.ParseUint(value, 10, 64)
	switch {
	case err == nil:
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second, true
	case errors.Is(err, strconv.ErrRange):
		return maxRetryAfter, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), maxRetryAfter), true
}
