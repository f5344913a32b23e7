package webhook

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/carillon-scheduler/carillon/worker/action/actiontest"
)

func TestConcealedInEverySpelling(t *testing.T) {
	const it = `s3cret/+ &<"größe"?>~=`
	conceal := concealer([]string{"", "short", it, "another-secret"})
	inJSON, _ := json.Marshal(it)
	texts := []string{
		it, string(inJSON), url.QueryEscape(it), strings.ToLower(url.QueryEscape(it)), url.PathEscape(it), html.EscapeString(it),
		strings.ReplaceAll(strings.Trim(string(inJSON), `"`), "/", `\/`),
		hex.EncodeToString([]byte(it)), strings.ToUpper(hex.EncodeToString([]byte(it))),
		base64.StdEncoding.EncodeToString([]byte("u:" + it)), base64.URLEncoding.EncodeToString([]byte("user:" + it + ";")),
	}
	for _, form := range actiontest.Forms(it) {
		texts = append(texts, "x"+form+"y")
	}
	for _, text := range texts {
		got := conceal("<" + text + "|" + text + ">")
		if strings.Count(got, concealed) != 2 {
			t.Errorf("%q: %q", text, got)
		}
		for _, form := range actiontest.Forms(it) {
			if strings.Contains(got, form) {
				t.Errorf("%q: %q remains", text, form)
			}
		}
	}
	if got := conceal("short and innocent, another-secret, s3cre"); got != "short and innocent, [secret], s3cre" {
		t.Errorf("got %q", got)
	}
}

// Only so much of an answer is read, so that a secret may end with it.
func TestConcealedWhereItIsCutOff(t *testing.T) {
	conceal := concealer([]string{"aaaaaaab-the-rest"})
	for text, want := range map[string]string{
		"x aaaaaa":                  "x [secret]",
		"x aaaaaaab-the":            "x [secret]",
		"x aaaaaaaaaab-the-res":     "x aaa[secret]",
		"x aaaaaaab-the-other":      "x aaaaaaab-the-other",
		"x aaaaa":                   "x aaaaa",
		"aaaaaaab-the-rest aaaaaaa": "[secret] [secret]",
		"":                          "",
	} {
		if got := conceal(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestNothingToConceal(t *testing.T) {
	if got := concealer(nil)("as it is"); got != "as it is" {
		t.Errorf("got %q", got)
	}
}

func FuzzConceal(f *testing.F) {
	f.Add("s3cret/+", "a text with s3cret/+ in it", uint8(9))
	f.Fuzz(func(t *testing.T, secret, text string, at uint8) {
		if len(secret) < minConcealed || strings.Contains(concealed, secret) || len(secret) > 1000 {
			return
		}
		i := min(int(at), len(text))
		got := concealer([]string{secret})(text[:i] + secret + text[i:])
		if strings.Contains(got, secret) && !strings.Contains(concealed+concealed, secret) {
			t.Errorf("%q in %q", secret, got)
		}
	})
}

func BenchmarkConcealer(b *testing.B) {
	secrets := []string{"0123456789abcdef0123456789abcdef", strings.Repeat("0123456789", 150)}
	text := strings.Repeat("innocent ", 100)
	b.ReportAllocs()
	for b.Loop() {
		concealer(secrets)(text)
	}
}
