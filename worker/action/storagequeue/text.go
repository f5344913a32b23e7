package storagequeue

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
)

// maxText is the longest text that a queue takes, in bytes of UTF-8 (Azure
// documentation: Put Message).
const maxText = 64 << 10

// messageText returns what stands in the queue, as the message's format has it.
// If it cannot, refusal is a sentence for history.
func messageText(d *job.Dispatch) (text, refusal string) {
	q := d.Action.Queue
	switch q.Format {
	case "", job.QueueEnvelope:
		text = envelope(d)
	case job.QueueBase64, job.QueueText:
		text = q.Message
	default:
		return "", "This version of Carillon does not know the job's messageFormat."
	}
	if q.Format != job.QueueBase64 && (!utf8.ValidString(text) || strings.ContainsFunc(text, notXML)) {
		return "", "The message holds characters that XML has no way to write. With messageFormat base64 it could be sent."
	}
	if q.Format != job.QueueText {
		text = base64.StdEncoding.EncodeToString([]byte(text))
	}
	if len(text) > maxText {
		return "", "The message is too large: as it is sent it has " + strconv.Itoa(len(text)) +
			" bytes, and a queue takes " + strconv.Itoa(maxText) + "."
	}
	return text, ""
}

// envelope returns Azure's XML around a message (AZURE, outbound). Elements and
// indents are recorded; that lines end in CR LF is what .NET's XmlSerializer
// writes into a StringWriter, whose mark the declaration of UTF-16 is. That
// declaration is a .NET string's truth, not ours: readers take the text as it
// is, decoded from UTF-8.
func envelope(d *job.Dispatch) string {
	const eol = "\r\n"
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="utf-16"?>` + eol +
		`<StorageQueueMessage xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` + eol)
	escape := strings.NewReplacer(
		"&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;",
		"\r", "&#xD;", // bare, a parser would make it LF
	)
	for _, e := range [...]struct{ name, value string }{
		{"ExecutionTag", d.Tag},
		{"ClientRequestId", action.RequestID(d)},
		{"ExpectedExecutionTime", d.At.UTC().Format("2006-01-02T15:04:05.999")}, // as .NET writes a time of no zone
		{"SchedulerJobId", d.Job},
		{"SchedulerJobCollectionId", d.Collection},
		{"Region", d.Location},
		{"Message", d.Action.Queue.Message},
	} {
		b.WriteString("  <" + e.name + ">" + escape.Replace(e.value) + "</" + e.name + ">" + eol)
	}
	b.WriteString("</StorageQueueMessage>")
	return b.String()
}

// notXML reports whether XML 1.0 has no way to write r. The SDK would put U+FFFD
// in its place and say nothing.
func notXML(r rune) bool {
	return r < ' ' && r != '\t' && r != '\r' && r != '\n' || r == '\uFFFE' || r == '\uFFFF'
}
