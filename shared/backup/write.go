package backup

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
)

// A Writer writes a backup. It is not safe for concurrent use.
type Writer struct {
	zip  *gzip.Writer
	sum  hash.Hash
	end  End
	keys map[string]int // jobs by key
}

// NewWriter begins a backup on w.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	b := &Writer{zip: gzip.NewWriter(w), sum: sha256.New(), keys: make(map[string]int)}
	return b, b.line(headerLine{kind, Format, &h})
}

// Write adds a collection, or a job of the collection that was added last. A job
// with a secret that is not sealed is refused.
func (b *Writer) Write(r Record) error {
	if r.Collection != nil {
		b.end.Collections++
	}
	if j := r.Job; j != nil {
		ids, err := keysOf(j)
		if err != nil {
			return err
		}
		for id := range ids {
			b.keys[id]++
		}
		b.end.Jobs++
		b.end.Runs += len(j.Progress.Runs)
	}
	return b.line(line{Record: r})
}

// Close ends the backup and says what it holds. It does not close what it was
// written to.
func (b *Writer) Close() (End, error) {
	b.end.Keys = make([]Key, 0, len(b.keys))
	for _, id := range slices.Sorted(maps.Keys(b.keys)) {
		b.end.Keys = append(b.end.Keys, Key{id, b.keys[id]})
	}
	if err := b.line(line{End: &endLine{&b.end, hex.EncodeToString(b.sum.Sum(nil))}}); err != nil {
		return End{}, err
	}
	if err := b.zip.Close(); err != nil {
		return End{}, fmt.Errorf("write backup: %w", err)
	}
	return b.end, nil
}

func (b *Writer) line(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode backup: %w", err)
	}
	if len(text) > maxLine {
		return fmt.Errorf("encode backup: a line has %d bytes, more than %d", len(text), maxLine)
	}
	text = append(text, '\n')
	_, _ = b.sum.Write(text) // never fails
	if _, err := b.zip.Write(text); err != nil {
		return fmt.Errorf("write backup: %w", err)
	}
	return nil
}
