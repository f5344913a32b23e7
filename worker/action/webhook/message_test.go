package webhook_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// answer performs a call that is answered with the bytes and returns the
// message.
func answer(t *testing.T, text string) string {
	t.Helper()
	w := newWire(t, func(int) string { return text })
	return do(t, newAction(t, outbound.Config{}), newDispatch(job.Request{
		Method: "GET", URI: w.URL + "/" + secret + "?" + secret,
		Headers:        map[string]string{"X-Api-Key": secret, "Cookie": secret},
		Authentication: &job.Authentication{Type: job.Basic, Username: secret, Password: secret},
	})).Message
}

// AZURE §5: "Message, answered: …" (recorded). Several values of a header are
// joined as in the recordings.
func TestMessageOfAnAnswer(t *testing.T) {
	got := answer(t, "HTTP/1.1 201 Whatever\r\nX-B: 2\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\nx-a: 1\r\nContent-Length: 4\r\n\r\ndone")
	want := "Http Action - Response from host '127.0.0.1': 'Created' Response Headers: " +
		"Content-Length: 4\r\nSet-Cookie: a=b, c=d\r\nX-A: 1\r\nX-B: 2\r\n Body: done"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// AZURE §5: "the body is cut at 1024 characters (= 2048 bytes in UTF-16)".
func TestBodyIsCutAt1024UTF16Units(t *testing.T) {
	for _, test := range []struct{ name, body, want string }{
		{"ascii", strings.Repeat("x", 5000), strings.Repeat("x", 1024)},
		{"three bytes each", strings.Repeat("語", 2000), strings.Repeat("語", 1024)},
		{"pairs", strings.Repeat("😀", 2000), strings.Repeat("😀", 512)},
		{"pair at the edge", strings.Repeat("x", 1023) + "😀", strings.Repeat("x", 1023)},
		{"pair before the edge", strings.Repeat("x", 1022) + "😀x", strings.Repeat("x", 1022) + "😀"},
		{"character cut by the bound on reading", "x" + strings.Repeat("語", 2000), "x" + strings.Repeat("語", 1023)},
		{"binary", "\x00\xff\xfe\"\\\x1b", "\x00\uFFFD\uFFFD\"\\\x1b"},
		{"binary, long", strings.Repeat("\xff", 5000), strings.Repeat("\uFFFD", 1024)},
		{"none", "", ""},
	} {
		got := answer(t, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(test.body), test.body))
		_, got, _ = strings.Cut(got, " Body: ")
		if got != test.want {
			t.Errorf("%s: %d units", test.name, len(utf16.Encode([]rune(got))))
		}
	}
}

// What was compressed, though nobody asked for it, stays so: a few bytes of it are
// shown as what they are in UTF-8, and none of what it would unfold to.
func TestCompressedBodyIsShownAsItCame(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(make([]byte, 16<<20))
	z.Close()
	got := answer(t, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", bomb.Len(), bomb.Bytes()))
	_, got, _ = strings.Cut(got, " Body: ")
	if n := len(utf16.Encode([]rune(got))); n != 1024 || !strings.HasPrefix(got, "\x1f\uFFFD\b") {
		t.Errorf("%d units: %.20q", n, got)
	}
}

// Our decision: headers take up to 4096 characters of a message, whole lines.
func TestHeadersOfAMessageAreBounded(t *testing.T) {
	got := answer(t, "HTTP/1.1 200 OK\r\nA: 1\r\nB: "+strings.Repeat("x", 5000)+"\r\nC: \xff\r\nContent-Length: 4\r\n\r\nbody")
	want := "Http Action - Response from host '127.0.0.1': 'OK' Response Headers: A: 1\r\nC: \uFFFD\r\nContent-Length: 4\r\n Body: body"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// AZURE §5: the .NET HttpStatusCode name. The table is that enumeration, with
// its values since .NET Core 2.1; others are their number.
func TestStatusNames(t *testing.T) {
	names := map[int]string{
		200: "OK", 201: "Created", 202: "Accepted", 203: "NonAuthoritativeInformation", 204: "NoContent",
		205: "ResetContent", 206: "PartialContent", 207: "MultiStatus", 208: "AlreadyReported", 226: "IMUsed",
		300: "MultipleChoices", 301: "MovedPermanently", 302: "Found", 303: "SeeOther", 304: "NotModified",
		305: "UseProxy", 306: "Unused", 307: "TemporaryRedirect", 308: "PermanentRedirect",
		400: "BadRequest", 401: "Unauthorized", 402: "PaymentRequired", 403: "Forbidden", 404: "NotFound",
		405: "MethodNotAllowed", 406: "NotAcceptable", 407: "ProxyAuthenticationRequired", 408: "RequestTimeout",
		409: "Conflict", 410: "Gone", 411: "LengthRequired", 412: "PreconditionFailed", 413: "RequestEntityTooLarge",
		414: "RequestUriTooLong", 415: "UnsupportedMediaType", 416: "RequestedRangeNotSatisfiable", 417: "ExpectationFailed",
		418: "418", 421: "MisdirectedRequest", 422: "UnprocessableEntity", 423: "Locked", 424: "FailedDependency", 425: "425",
		426: "UpgradeRequired", 428: "PreconditionRequired", 429: "TooManyRequests", 431: "RequestHeaderFieldsTooLarge",
		451: "UnavailableForLegalReasons",
		500: "InternalServerError", 501: "NotImplemented", 502: "BadGateway", 503: "ServiceUnavailable", 504: "GatewayTimeout",
		505: "HttpVersionNotSupported", 506: "VariantAlsoNegotiates", 507: "InsufficientStorage", 508: "LoopDetected",
		510: "NotExtended", 511: "NetworkAuthenticationRequired",
	}
	var status int
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	a := newAction(t, outbound.Config{})
	for status = 200; status < 600; status++ {
		want, ok := names[status]
		if !ok {
			want = fmt.Sprint(status)
		}
		r := do(t, a, newDispatch(job.Request{Method: "GET", URI: s.URL}))
		if !strings.HasPrefix(r.Message, "Http Action - Response from host '127.0.0.1': '"+want+"' Response Headers: ") {
			t.Errorf("%d: %s", status, r.Message)
		}
	}
}
