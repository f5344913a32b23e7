package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// answer returns the properties that a PUT of them answers.
func answer(t *testing.T, properties string) string {
	t.Helper()
	d, err := ReadJob([]byte(`{"properties":` + properties + `}`))
	if err != nil {
		t.Fatalf("ReadJob(%s): %v", properties, err)
	}
	return written(t, d)
}

// written returns the properties of a job that has not run.
func written(t *testing.T, d job.Definition) string {
	t.Helper()
	var resource struct{ Properties map[string]json.RawMessage }
	var whole struct{ Properties json.RawMessage }
	b := WriteJob(&job.Job{Definition: d})
	if err := errors.Join(json.Unmarshal(b, &resource), json.Unmarshal(b, &whole)); err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(whole.Properties), `,"status":`+string(resource.Properties["status"]), "", 1)
}

// wantInvalid checks that err is of the field, and that it gives a reason.
func wantInvalid(t *testing.T, err error, field, reason string) {
	t.Helper()
	var invalid *job.InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("error %v, want an InvalidError of %q", err, field)
	}
	if invalid.Field != field || !strings.Contains(invalid.Reason, reason) {
		t.Errorf("error %q: %q, want field %q and a reason with %q", invalid.Field, invalid.Reason, field, reason)
	}
}

func TestWriteList(t *testing.T) {
	items := [][]byte{[]byte(`{"a":1}`), []byte(`{"b":2}`)}
	for _, c := range []struct {
		name  string
		items [][]byte
		next  string
		want  string
	}{
		{"empty", nil, "", `{"value":[],"nextLink":null}`},
		{"last page", items, "", `{"value":[{"a":1},{"b":2}],"nextLink":null}`},
		{"more", items[:1], "https://h/x?a=1&$skip=1", `{"value":[{"a":1}],"nextLink":"https://h/x?a=1&$skip=1"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, string(WriteList(c.items, c.next))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWriteError(t *testing.T) {
	got := WriteError("NotFound", `Job '<X>' cannot be "found".`)
	want := `{"error":{"code":"NotFound","message":"Job '<X>' cannot be \"found\"."}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// What is no JSON object is an InvalidError, whoever reads it.
func TestBodies(t *testing.T) {
	deep := strings.Repeat(`{"properties":`, 10_000) + "1" + strings.Repeat("}", 10_000)
	for _, c := range []struct{ name, body, reason string }{
		{"empty", "", "must be JSON"},
		{"text", "hello", "must be JSON"},
		{"half", `{"properties":{`, "must be JSON"},
		{"two", `{"properties":{}} {}`, "must be JSON"},
		{"array", `[]`, "must be a JSON object, got an array"},
		{"null", `null`, "must be a JSON object, got null"},
		{"string", `"x"`, "must be a JSON object, got a string"},
		{"number", `1e999`, "must be a JSON object, got a number"},
		{"invalid UTF-8", "{\"properties\":{\"state\":\"\xff\"}}", "must be UTF-8"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "must be UTF-8"},
		{"NUL", "{\x00}", "must be JSON"},
		{"raw NUL in a string", "{\"properties\":{\"state\":\"\x00\"}}", "must be JSON"},
		{"deep", deep, "must not nest"},
		{"deep beyond encoding/json", strings.Repeat("[", 100_000), "must be JSON"},
		{"33 deep", strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33), "must not nest objects and arrays deeper than 32"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := []byte(c.body)
			for name, read := range map[string]func() error{
				"ReadJob":         func() error { _, err := ReadJob(b); return err },
				"PatchJob":        func() error { _, err := PatchJob(job.Definition{}, b); return err },
				"ReadCollection":  func() error { _, err := ReadCollection(b); return err },
				"PatchCollection": func() error { _, err := PatchCollection(job.Collection{}, b); return err },
			} {
				t.Run(name, func(t *testing.T) { wantInvalid(t, read(), "body", c.reason) })
			}
			_, err := ReadLoose(b)
			if err == nil {
				t.Error("ReadLoose takes it")
			}
		})
	}
	if _, err := parse([]byte(strings.Repeat(`{"a":`, 32) + "1" + strings.Repeat("}", 32))); err != nil {
		t.Errorf("32 deep: %v", err)
	}
}
