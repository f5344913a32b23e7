package wire

import (
	"bytes"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// ReadLoose reads a definition as people keep it in files: JSON with comments
// and trailing commas, a whole resource, its properties, these with their name
// but without braces around (as Azure's documentation shows them), or no more
// than a startTime and a recurrence. The action may be absent, and so may
// secrets; a certificate is not looked into. The error is a [job.InvalidError].
func ReadLoose(body []byte) (job.Definition, error) {
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	o, err := parse(plain(body))
	if err != nil {
		fragment, fragmentErr := parse(plain(slices.Concat([]byte("{"), body, []byte("\n}"))))
		if fragmentErr != nil || len(fragment) == 0 {
			return job.Definition{}, err
		}
		o = fragment
	}
	doc := &document{loose: true}
	root := node{doc: doc, v: o}
	if properties := root.get("properties"); properties.isObject() {
		root.v = properties.v
	}
	if doc.err != nil {
		return job.Definition{}, doc.err
	}
	return root.definition(job.Definition{})
}

// plain takes comments and trailing commas out. What it cannot read it leaves as
// it is, for the JSON parser to say what is wrong.
func plain(body []byte) []byte {
	if out, err := hujson.Standardize(append(bytes.Clone(body), '\n')); err == nil { // a comment ends with its line
		return out
	}
	return body
}
