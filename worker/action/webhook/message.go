package webhook

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/worker/action"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// How much of an answer history shows, in UTF-16 code units. That of the body
// is recorded; that of the headers is ours, the longest recorded one has about
// 1,300.
const (
	maxBody    = 1024
	maxHeaders = 4096
)

// answered is history's message for an answer (recorded):
//
//	Http Action - Response from host 'H': 'OK' Response Headers: A: b\r\nC: d\r\n Body: …
//
// Headers are sorted by name, several values of one are joined with ", ", and
// one that does not fit any more is left out. conceal, unless it is nil, takes
// out what a target must not have echoed.
func answered(host string, resp *outbound.Response, conceal func(string) string) string {
	if conceal == nil {
		conceal = func(s string) string { return s }
	}
	var b strings.Builder
	b.WriteString("Http Action - Response from host '" + host + "': '" + statusName(resp.Status) + "' Response Headers: ")
	room := maxHeaders
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		line := action.Text(conceal(name+": "+strings.Join(resp.Header[name], ", ")+"\r\n"), outbound.MaxHeader)
		if len(line) > room {
			continue
		}
		room -= len(line)
		b.WriteString(line)
	}
	b.WriteString(" Body: ")
	b.WriteString(action.Text(conceal(string(resp.Body)), maxBody))
	return b.String()
}

// statusName returns the name of a status in .NET's HttpStatusCode, or its
// number if it has none there. The names are the reason phrases without what
// is not a letter, but for a few. Where .NET has two (302 is Found and
// Redirect) it is that of the RFC.
func statusName(code int) string {
	switch code {
	case 306:
		return "Unused"
	case http.StatusRequestURITooLong:
		return "RequestUriTooLong"
	case http.StatusHTTPVersionNotSupported:
		return "HttpVersionNotSupported"
	case http.StatusTeapot, http.StatusTooEarly: // unknown to .NET
		return strconv.Itoa(code)
	}
	name := strings.NewReplacer(" ", "", "-", "").Replace(http.StatusText(code))
	if name == "" {
		return strconv.Itoa(code)
	}
	return name
}
