package storagequeue_test

import (
	"encoding/base64"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
	"github.com/carillon-scheduler/carillon/worker/action/storagequeue"
)

// AZURE §8: the envelope. Its golden text is the recorded one, with our id.
func TestEnvelope(t *testing.T) {
	p := newPeer(t)
	a := newAction(t, storagequeue.Config{Endpoint: p.URL + "/{account}"})
	d := newDispatch(message())
	for _, format := range []string{"", job.QueueEnvelope} {
		d.Action.Queue.Format = format
		if r := do(t, a, d); r.Outcome != job.Succeeded {
			t.Fatalf("report %+v", r)
		}
		_, sent := p.last()
		got, err := base64.StdEncoding.DecodeString(sent)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(`<?xml version="1.0" encoding="utf-16"?>
<StorageQueueMessage xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <ExecutionTag>e927cf76d24da9625608248ce654cfa7</ExecutionTag>
  <ClientRequestId>`+action.RequestID(d)+`</ClientRequestId>
  <ExpectedExecutionTime>2015-09-10T00:00:00</ExpectedExecutionTime>
  <SchedulerJobId>job</SchedulerJobId>
  <SchedulerJobCollectionId>collection</SchedulerJobCollectionId>
  <Region>West Europe</Region>
  <Message>membership</Message>
</StorageQueueMessage>`, "\n", "\r\n")
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("format %q (-want +got):\n%s", format, diff)
		}
	}
}

// AZURE §8: "The five characters XML needs escaped are escaped", in names too.
func TestEnvelopeEscapes(t *testing.T) {
	d := newDispatch(message())
	d.Action.Queue.Message = "<a b=\"c\" d='e'>&amp;</a>\r\n"
	d.Job = "R&D <1>"
	got := open(t, d)
	for _, want := range []string{
		"<Message>&lt;a b=&quot;c&quot; d=&apos;e&apos;&gt;&amp;amp;&lt;/a&gt;&#xD;\n</Message>",
		"<SchedulerJobId>R&amp;D &lt;1&gt;</SchedulerJobId>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
}

// AZURE §8: "ExpectedExecutionTime without Z"; it is UTC, with a fraction if the
// occurrence has one.
func TestExpectedExecutionTime(t *testing.T) {
	for _, test := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2015, 9, 10, 2, 0, 0, 0, time.FixedZone("", 7200)), "2015-09-10T00:00:00"},
		{time.Date(2015, 9, 10, 0, 0, 0, 500e6, time.UTC), "2015-09-10T00:00:00.5"},
	} {
		d := newDispatch(message())
		d.At = test.at
		if got := open(t, d); !strings.Contains(got, "<ExpectedExecutionTime>"+test.want+"</ExpectedExecutionTime>") {
			t.Errorf("%v:\n%s", test.at, got)
		}
	}
}

// open sends d and returns what the text on the queue is the base64 of.
func open(t *testing.T, d *job.Dispatch) string {
	t.Helper()
	p := newPeer(t)
	if r := do(t, newAction(t, storagequeue.Config{Endpoint: p.URL + "/{account}"}), d); r.Outcome != job.Succeeded {
		t.Fatalf("report %+v", r)
	}
	_, text := p.last()
	got, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestFormats(t *testing.T) {
	p := newPeer(t)
	a := newAction(t, storagequeue.Config{Endpoint: p.URL + "/{account}"})
	for _, test := range []struct{ name, format, message, want string }{
		{"base64", job.QueueBase64, "Grüße", "R3LDvMOfZQ=="},
		{"base64 of what XML cannot write", job.QueueBase64, "\x00\uFFFE", "AO+/vg=="},
		{"base64 of nothing", job.QueueBase64, "", ""},
		{"text", job.QueueText, " <Grüße>&\t\r\n'\"]]> ", " <Grüße>&\t\r\n'\"]]> "},
		{"text that is base64 already", job.QueueText, "R3LDvMOfZQ==", "R3LDvMOfZQ=="},
	} {
		q := message()
		q.Format, q.Message = test.format, test.message
		r := do(t, a, newDispatch(q))
		if _, got := p.last(); r.Outcome != job.Succeeded || got != test.want {
			t.Errorf("%s: %q, %+v", test.name, got, r)
		}
	}
}

// The SDK would write U+FFFD in place of what XML cannot, and say nothing.
func TestWhatCannotBeSentIsNot(t *testing.T) {
	p := newPeer(t)
	a := newAction(t, storagequeue.Config{Endpoint: p.URL + "/{account}"})
	for _, test := range []struct {
		name  string
		spoil func(d *job.Dispatch)
		want  string
	}{
		{"NUL in the envelope", func(d *job.Dispatch) { d.Action.Queue.Message = "a\x00" }, "characters that XML has no way to write"},
		{"NUL as text", func(d *job.Dispatch) { d.Action.Queue.Message, d.Action.Queue.Format = "a\x00", job.QueueText }, "characters that XML has no way to write"},
		{"not UTF-8", func(d *job.Dispatch) { d.Action.Queue.Message = "\xff" }, "characters that XML has no way to write"},
		{"a name that XML cannot write", func(d *job.Dispatch) { d.Location = "\uFFFF" }, "characters that XML has no way to write"},
		{"a format of another version", func(d *job.Dispatch) { d.Action.Queue.Format = "json" }, "does not know the job's messageFormat"},
		{"65537 bytes of text", func(d *job.Dispatch) {
			d.Action.Queue.Message, d.Action.Queue.Format = strings.Repeat("é", 32768)+"x", job.QueueText
		}, "as it is sent it has 65537 bytes, and a queue takes 65536."},
		{"base64 grows", func(d *job.Dispatch) {
			d.Action.Queue.Message, d.Action.Queue.Format = strings.Repeat("x", 49153), job.QueueBase64
		}, "as it is sent it has 65540 bytes, and a queue takes 65536."},
		{"long names", func(d *job.Dispatch) { // validation leaves 2 KiB to the envelope
			d.Action.Queue.Message, d.Location = strings.Repeat("x", 47104), strings.Repeat("&", 500)
		}, "too large: as it is sent it has "},
	} {
		d := newDispatch(message())
		test.spoil(d)
		if r := do(t, a, d); r.Outcome != job.Failed || !strings.Contains(r.Message, test.want) {
			t.Errorf("%s: %+v", test.name, r)
		}
	}
	if n := p.seen(); n != 0 {
		t.Errorf("%d requests", n)
	}
	q := message()
	q.Message, q.Format = strings.Repeat("x", 65536), job.QueueText
	if r := do(t, a, newDispatch(q)); r.Outcome != job.Succeeded {
		t.Errorf("65536 bytes: %+v", r)
	}
}

// What validation lets through arrives as it was, read by an XML parser.
func FuzzEnvelope(f *testing.F) {
	for _, s := range []string{"", "membership", " a ", "<&>\"'", "\r\n\r\t", "]]>", "&#xD;", "\u0085\u2028日😀\uFFFD"} {
		f.Add(s, s)
	}
	p := newPeer(f)
	a := newAction(f, storagequeue.Config{Endpoint: p.URL + "/{account}"})
	f.Fuzz(func(t *testing.T, text, name string) {
		d := newDispatch(message())
		d.Action.Queue.Message, d.Job = text, name
		valid := utf8.ValidString(text) && utf8.ValidString(name) && !strings.ContainsFunc(text+name, func(r rune) bool {
			return r < ' ' && !strings.ContainsRune("\t\r\n", r) || r == '\uFFFE' || r == '\uFFFF'
		})
		if len(text)+len(name) > 7000 { // escaped six times as long it still fits
			return
		}
		if r := do(t, a, d); (r.Outcome == job.Succeeded) != valid {
			t.Fatalf("report %+v", r)
		}
		if !valid {
			return
		}
		_, sent := p.last()
		raw, err := base64.StdEncoding.DecodeString(sent)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			XMLName        xml.Name `xml:"StorageQueueMessage"`
			SchedulerJobID string   `xml:"SchedulerJobId"`
			Message        string
		}
		decoder := xml.NewDecoder(strings.NewReader(string(raw)))
		// A reader has a string before it, whatever its declaration says.
		decoder.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
		if err := decoder.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if got.Message != text || got.SchedulerJobID != name {
			t.Errorf("%q and %q arrived as %q and %q", text, name, got.Message, got.SchedulerJobID)
		}
	})
}
