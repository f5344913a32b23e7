package wire

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/recur"
)

func TestReadLoose(t *testing.T) {
	daily := job.Definition{
		StartAt:    time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Recurrence: &recur.Spec{Frequency: recur.Day, Interval: 1},
		State:      job.Enabled,
	}
	for _, c := range []struct{ name, text string }{
		{"resource", `{"name":"jc/j","properties":{"startTime":"2026-01-01","recurrence":{"frequency":"day"}}}`},
		{"properties", `{"startTime":"2026-01-01","recurrence":{"frequency":"day"}}`},
		{"fragment", `"properties": {"startTime":"2026-01-01","recurrence":{"frequency":"day"}}`},
		{"fragment with a comma", `"properties": {"startTime":"2026-01-01","recurrence":{"frequency":"day"}},`},
		{"members without braces", `"startTime":"2026-01-01","recurrence":{"frequency":"day"}`},
		{"comments", "// first\n{\"startTime\":\"2026-01-01\", // when\n/* then */ \"recurrence\":{\"frequency\":\"day\" /* daily */ }} // last"},
		{"comments around a fragment", "// first\n\"properties\": {\"startTime\":\"2026-01-01\",\"recurrence\":{\"frequency\":\"day\"}} // last"},
		{"trailing commas", `{"startTime":"2026-01-01","recurrence":{"frequency":"day",},}`},
		{"a comma, a comment, a brace", "{\"startTime\":\"2026-01-01\",\"recurrence\":{\"frequency\":\"day\", // so\n }}"},
		{"byte order mark", "\uFEFF{\"startTime\":\"2026-01-01\",\"recurrence\":{\"frequency\":\"day\"}}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ReadLoose([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(daily, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadLooseText(t *testing.T) {
	got, err := ReadLoose([]byte(`{"action":{"type":"Http","request":{
		"uri":"http://h//x/*y*/", "body":"a \" // b ,} \\", "authentication":{"type":"Basic","username":"u"}
	}}}`))
	want := job.Definition{State: job.Enabled, Action: job.Action{Type: job.HTTP, Request: &job.Request{
		URI: "http://h//x/*y*/", Body: `a " // b ,} \`, Authentication: &job.Authentication{Type: job.Basic, Username: "u"},
	}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	// Certificates are not looked into.
	_, err = ReadLoose([]byte(`{"action":{"type":"Http","request":{"authentication":{"type":"ClientCertificate","pfx":"long-pfx-key"}}}}`))
	if err != nil {
		t.Error(err)
	}
}

func TestReadLooseRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, field, reason string }{
		{"nothing", ``, "body", "must be JSON"},
		{"only a comment", `// nothing`, "body", "must be JSON"},
		{"a comma alone", `{"a":[,]}`, "body", "must be JSON"},
		{"two commas", `{"a":[1,,]}`, "body", "must be JSON"},
		{"a comma after a colon", `{"a":,}`, "body", "must be JSON"},
		{"an open comment", `{} /* x`, "body", "must be JSON"},
		{"an open text", `{"a":"`, "body", "must be JSON"},
		{"an open escape", `{"a":"\`, "body", "must be JSON"},
		{"array", `[1]`, "body", "must be a JSON object"},
		{"properties", `{"properties":5}`, "properties", "must be an object"},
		{"field", `{"recurrence":{"frequency":"x"}}`, "recurrence.frequency", "must be second"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadLoose([]byte(c.text))
			wantInvalid(t, err, c.field, c.reason)
		})
	}
}
