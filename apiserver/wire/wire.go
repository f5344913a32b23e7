// Package wire speaks JSON as Azure Scheduler spelled it (api-version
// 2016-03-01): it turns requests into the domain's types and these into
// answers. It is lenient in what it reads, since the clients of seven years are
// to go on unmodified, and exact in what it writes.
//
// It judges shape only: whether a member is a string, a time, one of the known
// words. What a definition must hold and how large it may be is for package job
// to say, but for secrets, which only the reader can tell were left out.
//
// It must not know of HTTP, of stores, or of who asks.
package wire

import (
	"bytes"
	"encoding/json"
)

// WriteList returns a page of resources that were written before. nextLink
// continues it; empty means that nothing follows and is written as null, as the
// live service did.
func WriteList(items [][]byte, nextLink string) []byte {
	var b bytes.Buffer
	b.WriteString(`{"value":[`)
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(item)
	}
	b.WriteString(`],"nextLink":`)
	if nextLink == "" {
		b.WriteString("null")
	} else {
		b.Write(marshal(nextLink))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// WriteError returns the body of every answer that is an error. Azure's SDKs
// parse it whatever the status.
func WriteError(code, message string) []byte {
	type body struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	return marshal(struct {
		Error body `json:"error"`
	}{body{code, message}})
}

// marshal returns v as compact JSON that leaves <, > and & as they are.
func marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("wire: marshal: " + err.Error()) // strings, numbers, and structs of them
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
