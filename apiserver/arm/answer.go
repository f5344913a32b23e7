package arm

import (
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/apiserver/wire"
)

// gzipFrom is the least size of a body that is worth compressing.
const gzipFrom = 1 << 10

// An answer is what a request is answered with.
type answer struct {
	status int
	body   []byte // JSON; nil: none
	etag   string
	header http.Header // nil: nothing beside what every answer has
}

// done is the empty answer to what has been carried out (recorded).
func done() *answer { return &answer{status: http.StatusOK} }

// document answers a resource. A read that names it as it is gets 304.
func document(r *request, status int, uid string, revision int64, body []byte) *answer {
	a := &answer{status: status, body: body, etag: etag(uid, revision, body)}
	if r.reads() && r.fresh(a.etag) {
		a.status, a.body = http.StatusNotModified, nil
	}
	return a
}

// answer renders an error.
func (e *Error) answer() *answer {
	a := &answer{status: e.Status, body: wire.WriteError(e.Code, e.Message), header: e.Header.Clone()}
	if e.RetryAfter > 0 {
		if a.header == nil {
			a.header = http.Header{}
		}
		seconds := (e.RetryAfter + time.Second - 1) / time.Second
		a.header.Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	return a
}

// send writes an answer. A client that has gone does not get it, and that is
// nobody's error.
func (a *API) send(w http.ResponseWriter, r *http.Request, ans *answer) {
	h := w.Header()
	maps.Copy(h, ans.header)
	if ans.etag != "" {
		h.Set("ETag", ans.etag)
	}
	if ans.body == nil {
		w.WriteHeader(ans.status)
		return
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Vary", "Accept-Encoding")
	if len(ans.body) >= gzipFrom && acceptsGzip(r.Header.Values("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		w.WriteHeader(ans.status)
		a.gzips.write(w, ans.body)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(ans.body)))
	w.WriteHeader(ans.status)
	_, _ = w.Write(ans.body)
}

// acceptsGzip reports whether a client takes gzip (RFC 9110, 12.5.3).
func acceptsGzip(fields []string) bool {
	for _, field := range fields {
		for coding := range strings.SplitSeq(field, ",") {
			name, weight, _ := strings.Cut(coding, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			_, q, ok := strings.Cut(strings.ReplaceAll(weight, " ", ""), "=")
			v, err := strconv.ParseFloat(q, 64)
			return !ok || err == nil && v > 0
		}
	}
	return false
}

// gzips keeps compressors, which are large, for the next answer.
type gzips struct{ pool sync.Pool }

func (g *gzips) write(w io.Writer, body []byte) {
	z, ok := g.pool.Get().(*gzip.Writer)
	if !ok {
		z = gzip.NewWriter(nil)
	}
	z.Reset(w)
	_, err := z.Write(body)
	if err == nil {
		err = z.Close()
	}
	if err == nil {
		g.pool.Put(z)
	}
}
