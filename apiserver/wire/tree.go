package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// An object is a JSON object by the lower case of its members' names, because
// Azure matched them whatever their case. Of members that differ only in case
// the last one wins. Only the names in customMessageProperties are exact: they
// are the user's own, and differ by case where messages go.
type object map[string]member

// A member is a value with its name as it was spelled. Its value is nil, a
// bool, a json.Number, a string, a []any or an object.
type member struct {
	name  string
	value any
}

// exactNames is the lower case of the member whose object has exact names.
const exactNames = "custommessageproperties"

// maxDepth is how deep objects and arrays may nest. A job nests six deep.
const maxDepth = 32

// parse reads a JSON object. Its errors are of field "body".
func parse(body []byte) (object, error) {
	body = bytes.TrimPrefix(body, []byte("\uFEFF")) // .NET writers put it there
	if !utf8.Valid(body) {
		return nil, job.Invalid("body", "must be UTF-8")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		return nil, job.Invalid("body", "must be JSON: %v", err)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	v, err := value(d, "", 0)
	if err != nil {
		return nil, err
	}
	o, ok := v.(object)
	if !ok {
		return nil, job.Invalid("body", "must be a JSON object, got %s", kind(v))
	}
	return o, nil
}

// value reads what comes next, the value of the member named in.
func value(d *json.Decoder, in string, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, job.Invalid("body", "must be JSON: %v", err)
	}
	if _, opens := token.(json.Delim); opens && depth == maxDepth {
		return nil, job.Invalid("body", "must not nest objects and arrays deeper than %d", maxDepth)
	}
	switch token {
	case json.Delim('['):
		items := []any{}
		for d.More() {
			item, err := value(d, "", depth+1)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		_, err = d.Token()
		return items, err
	case json.Delim('{'):
		o := object{}
		for d.More() {
			token, err := d.Token()
			if err != nil {
				return nil, job.Invalid("body", "must be JSON: %v", err)
			}
			name := fmt.Sprint(token)
			key := strings.ToLower(name)
			v, err := value(d, key, depth+1)
			if err != nil {
				return nil, err
			}
			if in == exactNames {
				key = name
			}
			o[key] = member{name, v}
		}
		_, err = d.Token()
		return o, err
	}
	return token, nil
}

// merge applies a patch as RFC 7396 says: objects merge, null removes, and
// everything else replaces.
func merge(into, patch object) {
	for key, m := range patch {
		switch v := m.value.(type) {
		case nil:
			delete(into, key)
		case object:
			inner, ok := into[key].value.(object)
			if !ok {
				inner = object{}
			}
			merge(inner, v)
			into[key] = member{m.name, inner}
		default:
			into[key] = m
		}
	}
}

// kind says what a value is, for people.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	default:
		return "an object"
	}
}
