package arm

import (
	"fmt"
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"
)

// etag returns the entity tag of a document: "<uid>.<revision>.<crc32 of the
// body>". The first two change with the definition, the last with the status
// too.
func etag(uid string, revision int64, body []byte) string {
	return fmt.Sprintf(`"%s.%d.%08x"`, uid, revision, crc32.ChecksumIEEE(body))
}

// precondition checks If-Match and If-None-Match of a request that writes
// against the resource as it stands; an empty uid means that there is none. Only
// uid and revision count, so that a job that runs in between does not fail a
// write, and a tag that a proxy made weak is as good (our decision).
func (r *request) precondition(uid string, revision int64) error {
	version := ""
	if uid != "" {
		version = uid + "." + strconv.FormatInt(revision, 10)
	}
	h := r.http.Header
	if list := h.Values("If-Match"); len(list) > 0 && !matches(list, version, atRevision) {
		return preconditionFailed("The resource is not, or no longer, what If-Match names. Read it again and decide anew.")
	}
	if list := h.Values("If-None-Match"); len(list) > 0 && matches(list, version, atRevision) {
		return preconditionFailed("The resource exists, and If-None-Match asks that it does not.")
	}
	return nil
}

func preconditionFailed(message string) *Error {
	return &Error{Status: http.StatusPreconditionFailed, Code: CodePreconditionFailed, Message: message}
}

// fresh reports whether If-None-Match of a request that reads names this very
// document.
func (r *request) fresh(tag string) bool {
	list := r.http.Header.Values("If-None-Match")
	return len(list) > 0 && matches(list, strings.Trim(tag, `"`), func(s string) string { return s })
}

// matches reports whether one of the tags in the fields of a header is tag
// after it went through part, or is "*". No tag matches if there is no resource.
func matches(fields []string, tag string, part func(string) string) bool {
	if tag == "" {
		return false
	}
	for _, field := range fields {
		for s := range strings.SplitSeq(field, ",") {
			s = strings.TrimSpace(s)
			if s == "*" || part(strings.Trim(strings.TrimPrefix(s, "W/"), `"`)) == tag {
				return true
			}
		}
	}
	return false
}

// atRevision cuts the checksum off a tag.
func atRevision(tag string) string {
	if i := strings.LastIndexByte(tag, '.'); i >= 0 && strings.IndexByte(tag, '.') < i {
		return tag[:i]
	}
	return tag
}
