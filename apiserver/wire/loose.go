package wire

import (
	"bytes"
	"slices"

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

// plain blanks out comments and trailing commas. What else it finds is for the
// JSON parser to judge.
func plain(body []byte) []byte {
	out := bytes.Clone(body)
	comma := -1       // where a comma stands that may prove to trail
	last := byte('{') // the last byte that means something
	for i := 0; i < len(out); i++ {
		switch c := out[i]; c {
		case ' ', '\t', '\r', '\n':
			continue
		case '/':
			if end := commentEnd(out[i:]); end > 0 {
				for j := i; j < i+end; j++ {
					out[j] = ' '
				}
				i += end - 1
				continue
			}
		case '"':
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case ',':
			if last != '{' && last != '[' {
				comma = i
			}
			last = c
			continue
		case '}', ']':
			if comma >= 0 {
				out[comma] = ' '
			}
		}
		comma = -1
		if i < len(out) {
			last = out[i]
		}
	}
	return out
}

// commentEnd returns the length of the comment that text begins with, 0 if it
// begins with none. The end of a line is not part of it.
func commentEnd(text []byte) int {
	switch {
	case bytes.HasPrefix(text, []byte("//")):
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			return end
		}
		return len(text)
	case bytes.HasPrefix(text, []byte("/*")):
		if end := bytes.Index(text[2:], []byte("*/")); end >= 0 {
			return end + 4
		}
	}
	return 0
}
