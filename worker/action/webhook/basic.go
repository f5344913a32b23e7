package webhook

import (
	"encoding/base64"
	"strings"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// credentials returns what stands in the header of Basic authentication, in
// UTF-8 (RFC 7617; our decision, the record shows only ASCII).
func credentials(auth *job.Authentication) string {
	return base64.StdEncoding.EncodeToString([]byte(auth.Username + ":" + string(auth.Password)))
}

// minConcealed is the shortest password that is concealed by itself. A shorter
// one is in too many innocent words, and their gaps would give it away.
const minConcealed = 6

// concealer returns a function that conceals what of auth a target may have put
// into its answer, as those do that echo what they were sent: history must not
// hold it (DESIGN, I12).
func concealer(auth *job.Authentication) func(string) string {
	if auth == nil || auth.Type != job.Basic {
		return func(s string) string { return s }
	}
	sent := strings.TrimRight(credentials(auth), "=")
	hide := []string{
		sent, "[secret]",
		strings.ReplaceAll(sent, "/", `\/`), "[secret]", // as some write JSON
	}
	if p := string(auth.Password); len(p) >= minConcealed {
		hide = append(hide, p, "[secret]")
	}
	return strings.NewReplacer(hide...).Replace
}
