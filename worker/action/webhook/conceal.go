package webhook

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"
)

// minConcealed is the shortest secret that is concealed by itself, in bytes. A
// shorter one is in too many innocent words, and their gaps would give it away.
const minConcealed = 6

const concealed = "[secret]"

// concealer returns a function that conceals what a target may have put into its
// answer of what it was sent, as those do that echo: history must not hold it
// (ARCHITECTURE, I12). A secret may stand there in any common spelling, and may
// be cut off at the end, because only so much of an answer is read.
func concealer(secrets []string) func(string) string {
	var hidden []string
	for _, s := range secrets {
		if len(s) >= minConcealed {
			hidden = append(hidden, spellings(s)...)
		}
	}
	slices.SortFunc(hidden, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	hidden = slices.Compact(hidden)
	return func(text string) string {
		var found []string // and what to put in its place; the longest goes first
		for _, h := range hidden {
			if strings.Contains(text, h) {
				found = append(found, h, concealed)
			}
		}
		if found != nil {
			text = strings.NewReplacer(found...).Replace(text)
		}
		for _, h := range hidden {
			if at := beginning(text, h); at >= 0 {
				text = text[:at] + concealed
			}
		}
		return text
	}
}

// beginning returns where text ends in the beginning of secret, of which at
// least [minConcealed] bytes are there, or -1.
func beginning(text, secret string) int {
	from := max(len(text)-len(secret)+1, 0)
	for {
		at := strings.Index(text[from:], secret[:minConcealed])
		if at < 0 {
			return -1
		}
		if strings.HasPrefix(secret, text[from+at:]) {
			return from + at
		}
		from += at + 1
	}
}

// spellings returns a secret as it may stand in a text: as it is, escaped for
// URLs, JSON or HTML, in hex, and in base64 wherever it begins there.
func spellings(s string) []string {
	list := []string{
		s, url.QueryEscape(s), lowerEscapes(url.QueryEscape(s)), url.PathEscape(s), lowerEscapes(url.PathEscape(s)),
		quoted(s, true), quoted(s, false), strings.ReplaceAll(quoted(s, true), "/", `\/`), strings.ReplaceAll(quoted(s, false), "/", `\/`),
		html.EscapeString(s), hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s))),
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			text := encoding.EncodeToString(append(make([]byte, offset), s...))
			// What depends on the neighbours is left out at both ends.
			if from, to := (offset*8+5)/6, len(text)-1; to-from >= 8 {
				list = append(list, text[from:to], strings.ReplaceAll(text[from:to], "/", `\/`))
			}
		}
	}
	return list
}

// quoted returns s as it stands in a JSON string; browsers' way, as Go's and
// .NET's, spells <, > and & by number.
func quoted(s string, browsers bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(browsers)
	_ = e.Encode(s) // a string, to memory
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

// lowerEscapes spells percent escapes as .NET does: %2f.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}
