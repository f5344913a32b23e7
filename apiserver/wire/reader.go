package wire

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// A document is what the nodes of one request share.
type document struct {
	err   error // the first thing that was wrong, a [job.InvalidError]
	loose bool  // secrets are neither needed nor looked into
}

// A node is a value of a document with its place. Reading a node that is absent
// gives the zero value; reading one of the wrong type too, and fails the
// document. So a reader reads on and looks at the document's err in the end.
type node struct {
	doc  *document
	path string // from properties down: "action.request.uri"
	v    any    // as in [member]; nil if absent or null, which mean the same
}

// fail notes that the node is wrong. The reason continues the field's name.
func (n node) fail(reason string, args ...any) {
	if n.doc.err == nil {
		n.doc.err = job.Invalid(n.path, reason, args...)
	}
}

func (n node) wrongType(want string) { n.fail("must be %s, got %s", want, kind(n.v)) }

func (n node) given() bool { return n.v != nil }

// isObject reports whether the node is given, and fails if it is another type.
func (n node) isObject() bool {
	_, ok := n.v.(object)
	if !ok && n.given() {
		n.wrongType("an object")
	}
	return ok
}

// get returns a member of an object, whatever the case of its name.
func (n node) get(name string) node {
	o, _ := n.v.(object)
	path := name
	if n.path != "" {
		path = n.path + "." + name
	}
	return node{n.doc, path, o[strings.ToLower(name)].value}
}

// list returns the items of an array. A single value stands for an array of it.
func (n node) list() []node {
	items, ok := n.v.([]any)
	if !ok {
		if !n.given() {
			return nil
		}
		return []node{n}
	}
	nodes := make([]node, len(items))
	for i, item := range items {
		nodes[i] = node{n.doc, n.path + "[" + strconv.Itoa(i) + "]", item}
		if item == nil {
			nodes[i].fail("must not be null")
		}
	}
	return nodes
}

func (n node) text() string {
	s, ok := n.v.(string)
	if !ok && n.given() {
		n.wrongType("a string")
	}
	return s
}

// texts returns an object's members with their names as they were spelled; nil
// if there are none.
func (n node) texts() map[string]string {
	if !n.isObject() {
		return nil
	}
	var texts map[string]string
	for _, m := range n.v.(object) {
		if m.value == nil {
			continue
		}
		if texts == nil {
			texts = make(map[string]string)
		}
		texts[m.name] = node{n.doc, n.path + "." + m.name, m.value}.text()
	}
	return texts
}

// whole returns a whole number, of the 32 bits that Azure's SDKs have for it.
// It may come as a string.
func (n node) whole() int {
	var digits string
	switch v := n.v.(type) {
	case nil:
		return 0
	case json.Number:
		digits = v.String()
	case string:
		digits = strings.TrimSpace(v)
	default:
		n.wrongType("a whole number")
		return 0
	}
	f, err := strconv.ParseFloat(digits, 64) // 5.0 and 5e0 are whole too
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		n.fail("must be a whole number of at most 32 bits")
		return 0
	}
	return int(f)
}

// positive is whole for a member whose 0 would be taken for its absence.
func (n node) positive() int {
	i := n.whole()
	if n.given() && i < 1 {
		n.fail("must be 1 or more")
	}
	return i
}

// flag returns true or false, which may come as a string, and nil if absent.
func (n node) flag() *bool {
	switch v := n.v.(type) {
	case nil:
		return nil
	case bool:
		return &v
	case string:
		if b := strings.EqualFold(v, "true"); b || strings.EqualFold(v, "false") {
			return &b
		}
	}
	n.fail("must be true or false")
	return nil
}

func (n node) time() time.Time {
	if !n.given() {
		return time.Time{}
	}
	t, err := ParseTime(n.text())
	if err != nil {
		n.fail("%s", err)
	}
	return t
}

func (n node) span() time.Duration {
	if !n.given() {
		return 0
	}
	d, err := ParseSpan(n.text())
	if err != nil {
		n.fail("%s", err)
	}
	return d
}

// choice returns the word that the node's text is but for case, and "" if the
// node is absent.
func choice[T ~string](n node, words ...T) T {
	if !n.given() {
		return ""
	}
	s := n.text()
	names := make([]string, len(words))
	for i, word := range words {
		if strings.EqualFold(s, string(word)) {
			return word
		}
		names[i] = string(word)
	}
	n.fail("must be %s", oneOf(names))
	return ""
}

// oneOf lists words: "a, b or c".
func oneOf(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
