package action_test

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
)

// AZURE §5: the words and quotes that PowerShell's parser needs.
func TestUnsupportedSaysSo(t *testing.T) {
	queue := &job.QueueMessage{StorageAccount: "acc", QueueName: "q", SASToken: "s3cret", Message: "s3cret"}
	bus := &job.ServiceBusMessage{Entity: "e", Namespace: "ns", SASKey: "s3cret", Message: "s3cret"}
	for _, test := range []struct {
		action job.Action
		want   string
	}{
		{
			job.Action{Type: job.StorageQueue, Queue: queue},
			"StorageQueue Action - Message to storage account 'acc' queue 'q' failed: This version of Carillon cannot execute StorageQueue actions yet.",
		},
		{
			job.Action{Type: job.ServiceBusQueue, Bus: bus},
			"ServiceBusQueue Action - Message to 'e' in namespace 'ns' failed: This version of Carillon cannot execute ServiceBusQueue actions yet.",
		},
		{
			job.Action{Type: job.ServiceBusTopic, Bus: bus},
			"ServiceBusTopic Action - Message to 'e' in namespace 'ns' failed: This version of Carillon cannot execute ServiceBusTopic actions yet.",
		},
		{
			job.Action{Type: job.HTTPS, Request: &job.Request{URI: "https://u:s3cret@h:81/s3cret?s3cret"}},
			"Http Action - Request to host 'h' failed: This version of Carillon cannot execute Https actions yet.",
		},
		{
			job.Action{Type: "Fax"},
			"Fax Action - failed: This version of Carillon cannot execute Fax actions yet.",
		},
	} {
		got := action.Unsupported{}.Do(t.Context(), &job.Dispatch{Action: test.action})
		if diff := cmp.Diff(action.Report{Outcome: job.Failed, Message: test.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.action.Type, diff)
		}
		if strings.Contains(got.Message, "succeeded") || strings.Contains(got.Message, "does not exist") || strings.Contains(got.Message, "could not be found") {
			t.Errorf("%s: PowerShell would take it for something else: %s", test.action.Type, got.Message)
		}
	}
}

// A definition that lacks its part, or whose uri is none, still gives a message
// that PowerShell can cut up: it fails on an empty name.
func TestTargetIsNeverEmpty(t *testing.T) {
	for _, test := range []struct {
		action job.Action
		want   string
	}{
		{job.Action{Type: job.HTTP}, "unknown"},
		{job.Action{Type: job.HTTP, Request: &job.Request{}}, "unknown"},
		{job.Action{Type: job.HTTP, Request: &job.Request{URI: "http://u:s3/cret@h/"}}, "unknown"},
		{job.Action{Type: job.HTTP, Request: &job.Request{URI: "http://Example.COM#s3cret"}}, "Example.COM"},
		{job.Action{Type: job.HTTP, Request: &job.Request{URI: "http://[::1]:8080/"}}, "[::1]"},
		{job.Action{Type: job.StorageQueue}, "unknown"},
		{job.Action{Type: job.ServiceBusQueue, Bus: &job.ServiceBusMessage{Namespace: "ns"}}, "ns"},
	} {
		if got := action.Target(&test.action); got != test.want {
			t.Errorf("%+v: %q, want %q", test.action, got, test.want)
		}
		if m := action.Failure(&test.action, "x").Message; m == "" || strings.Contains(m, "s3cret") {
			t.Errorf("message %q", m)
		}
	}
}

// The id is a guid that stays the same when an attempt is performed again, and
// is another for every other attempt.
func TestRequestID(t *testing.T) {
	var d job.Dispatch
	d.Tag, d.Phase = "e927cf76d24da9625608248ce654cfa7", job.MainAction
	const want = "d6385158-438a-5f34-93e5-c101059c4315"
	if got := action.RequestID(&d); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	d.Resend++
	if got := action.RequestID(&d); got != want {
		t.Errorf("sent again: %s", got)
	}
	ids := map[string]bool{want: true}
	for _, change := range []func(){
		func() { d.RetryCount++ },
		func() { d.Phase = job.ErrorAction },
		func() { d.Tag = "another" },
	} {
		change()
		if id := action.RequestID(&d); ids[id] {
			t.Errorf("%s twice", id)
		} else {
			ids[id] = true
		}
	}
}

// AZURE §5: cut at 1024 characters, which are .NET's: UTF-16 code units.
func TestText(t *testing.T) {
	for _, test := range []struct {
		name, in string
		units    int
		want     string
	}{
		{"fits", "abc", 3, "abc"},
		{"cut", "abcd", 3, "abc"},
		{"three bytes, one unit", "日本語日", 3, "日本語"},
		{"pair fits", "a😀b", 3, "a😀"},
		{"pair at the edge", "ab😀", 3, "ab"},
		{"nothing shorter takes its place", "ab😀c", 3, "ab"},
		{"not UTF-8", "a\xff\xfeb", 9, "a\uFFFD\uFFFDb"},
		{"half a character", "a\xe6\x97", 9, "a\uFFFD\uFFFD"},
		{"control characters stay", "a\x00\x1b", 9, "a\x00\x1b"},
		{"no room", "a", 0, ""},
	} {
		if got := action.Text(test.in, test.units); got != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a😀\xff日", 3)
	f.Fuzz(func(t *testing.T, s string, units int) {
		units = max(0, min(units, 1<<16))
		got := action.Text(s, units)
		if !utf8.ValidString(got) {
			t.Errorf("not UTF-8: %q", got)
		}
		n := len(utf16.Encode([]rune(got)))
		if n > units {
			t.Errorf("%d units of %d", n, units)
		}
		if full := strings.ToValidUTF8(s, ""); utf8.ValidString(s) && (got != full[:len(got)] || n < units-1 && got != full) {
			t.Errorf("%q is not the longest start of %q", got, s)
		}
	})
}
