package action

import (
	"net/url"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// MaxMessage bounds a history message, in UTF-16 code units, which is what
// Azure's characters are (our decision: Azure's own bound is not recorded, but
// that of the answer's body inside it is, see the webhook action).
const MaxMessage = 6 * 1024

// Failure reports that a could not be performed. The reason is a sentence for
// the user; it must hold no secret.
//
// The words and quotes around it are those without which AzureRM.Scheduler
// fails on the history (Converter.GetJobHistoryActionDetails): an HTTP message
// needs a quoted host and "failed:"; a Service Bus message two quoted names and
// a colon after them. For HTTP the format is the recorded one; the others are
// ours.
func Failure(a *job.Action, reason string) Report {
	var message string
	switch a.Type {
	case job.HTTP, job.HTTPS:
		message = "Http Action - Request to host '" + Target(a) + "' failed: "
	case job.StorageQueue:
		var queue string
		if a.Queue != nil {
			queue = a.Queue.QueueName
		}
		message = "StorageQueue Action - Message to storage account '" + Target(a) + "' queue '" + queue + "' failed: "
	case job.ServiceBusQueue, job.ServiceBusTopic:
		var entity string
		if a.Bus != nil {
			entity = a.Bus.Entity
		}
		message = string(a.Type) + " Action - Message to '" + entity + "' in namespace '" + Target(a) + "' failed: "
	default:
		message = string(a.Type) + " Action - failed: "
	}
	return Report{Outcome: job.Failed, Message: Text(message+reason, MaxMessage)}
}

// Target names what a calls, for messages and logs: never a path, a query, or
// user information. For HTTP it is the host of the job's own uri without the
// port, in brackets if it is an IPv6 address, as .NET's Uri.Host has it
// (recordings show only hosts on default ports). It is not empty.
func Target(a *job.Action) string {
	var target string
	switch {
	case a.Request != nil:
		if u, err := url.Parse(a.Request.URI); err == nil {
			target = u.Hostname()
		}
		if strings.Contains(target, ":") {
			target = "[" + target + "]"
		}
	case a.Queue != nil:
		target = a.Queue.StorageAccount
	case a.Bus != nil:
		target = a.Bus.Namespace
	}
	if target == "" {
		return "unknown"
	}
	return target
}

// Text returns s as valid UTF-8, cut to at most units UTF-16 code units. Each
// byte that is not UTF-8 becomes U+FFFD; a character that takes a surrogate
// pair is kept whole or not at all.
func Text(s string, units int) string {
	if len(s) <= units && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(min(len(s), units))
	for _, r := range s {
		if units -= utf16.RuneLen(r); units < 0 {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}
