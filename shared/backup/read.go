package backup

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// A Reader reads a backup. It is not safe for concurrent use.
type Reader struct {
	raw    *bufio.Reader
	zip    *gzip.Reader
	text   *bufio.Reader
	sum    hash.Hash
	header Header
	seen   End // Keys are in keys
	keys   map[string]int
	last   *job.Collection
	end    *End
}

// NewReader begins to read a backup. It fails with [ErrNotBackup], [ErrNewer],
// [ErrTruncated] or [ErrAltered], or with what r fails with.
func NewReader(r io.Reader) (*Reader, error) {
	b := &Reader{raw: bufio.NewReader(r), sum: sha256.New(), keys: make(map[string]int)}
	magic, err := b.raw.Peek(2)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("read backup: %w", err)
	case len(magic) == 0:
		return nil, fmt.Errorf("%w: it is empty", ErrNotBackup)
	case !bytes.HasPrefix([]byte{0x1f, 0x8b}, magic):
		return nil, ErrNotBackup
	}
	if b.zip, err = gzip.NewReader(b.raw); err != nil {
		return nil, wrong(err)
	}
	b.zip.Multistream(false)
	b.text = bufio.NewReader(b.zip)
	return b, b.begin()
}

func (b *Reader) begin() error {
	text, err := b.line(maxHeader, ErrNotBackup)
	if err != nil {
		return err
	}
	var first struct {
		Carillon string `json:"carillon"`
		Format   int    `json:"format"`
		Version  string `json:"version"`
	}
	if err := json.Unmarshal(text, &first); err != nil || first.Carillon != kind || first.Format < 1 {
		return ErrNotBackup
	}
	b.header.Carillon = first.Version
	if first.Format > Format {
		return fmt.Errorf("%w, %s, in format %d; this one reads up to %d", ErrNewer, first.Version, first.Format, Format)
	}
	return b.strict(text, &headerLine{Header: &b.header})
}

// Header says what the backup is of.
func (b *Reader) Header() Header { return b.header }

// End says what the backup holds, once Next has returned io.EOF.
func (b *Reader) End() End { return *b.end }

// Next returns the next collection or job. It returns io.EOF when the backup has
// ended, and only if it is whole and as it was written.
func (b *Reader) Next() (Record, error) {
	if b.end != nil {
		return Record{}, io.EOF
	}
	before := b.sum.Sum(nil)
	text, err := b.line(maxLine, ErrAltered)
	if err != nil {
		return Record{}, err
	}
	var l line
	if err := b.strict(text, &l); err != nil {
		return Record{}, err
	}
	switch c, j, end := l.Collection, l.Job, l.End; {
	case c != nil && j == nil && end == nil:
		b.last = c
		b.seen.Collections++
		return l.Record, nil
	case j != nil && c == nil && end == nil:
		return l.Record, b.job(j)
	case end != nil && c == nil && j == nil:
		return Record{}, b.finish(end, before)
	}
	return Record{}, fmt.Errorf("%w: a line is not one of a backup", ErrAltered)
}

func (b *Reader) job(j *job.Snapshot) error {
	d := j.Job
	if d == nil || slices.Contains(j.Older, nil) || b.last == nil || d.CollectionUID != b.last.UID || d.Key() != b.last.Key() {
		return fmt.Errorf("%w: a job is not with its collection", ErrAltered)
	}
	ids, err := keysOf(j)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAltered, err)
	}
	for id := range ids {
		b.keys[id]++
	}
	b.seen.Jobs++
	b.seen.Runs += len(j.Progress.Runs)
	return nil
}

// finish holds what was read against what the last line says, and checks that
// nothing follows.
func (b *Reader) finish(end *endLine, sum []byte) error {
	if end.End == nil || end.SHA256 != hex.EncodeToString(sum) {
		return fmt.Errorf("%w: its checksum is wrong", ErrAltered)
	}
	counted := end.Collections == b.seen.Collections && end.Jobs == b.seen.Jobs && end.Runs == b.seen.Runs && len(end.Keys) == len(b.keys)
	for _, k := range end.Keys {
		counted = counted && b.keys[k.ID] == k.Jobs
	}
	if !counted {
		return fmt.Errorf("%w: its last line is of another", ErrAltered)
	}
	switch _, err := b.text.ReadByte(); {
	case err == nil:
		return fmt.Errorf("%w: something follows its end", ErrAltered)
	case !errors.Is(err, io.EOF):
		return wrong(err)
	}
	switch _, err := b.raw.ReadByte(); {
	case err == nil:
		return fmt.Errorf("%w: something follows its end", ErrAltered)
	case !errors.Is(err, io.EOF):
		return wrong(err)
	}
	b.end = end.End
	return io.EOF
}

// line returns the next line without its end, or tooLong. It is good until the
// next call.
func (b *Reader) line(most int, tooLong error) ([]byte, error) {
	var long []byte
	for {
		part, err := b.text.ReadSlice('\n')
		_, _ = b.sum.Write(part) // never fails
		if long != nil || err != nil {
			long = append(long, part...)
			part = long
		}
		switch {
		case err == nil:
			return part[:len(part)-1], nil
		case len(long) > most:
			return nil, fmt.Errorf("%w: a line has more than %d bytes", tooLong, most)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, wrong(err)
		}
	}
}

// strict decodes a line and refuses what it does not know: to leave something
// out would be to lose it.
func (b *Reader) strict(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	switch {
	case err == nil && !d.More():
		return nil
	case err == nil || json.Unmarshal(text, v) != nil:
		return fmt.Errorf("%w: a line is not one of a backup", ErrAltered)
	}
	return fmt.Errorf("%w, %s: %w", ErrNewer, b.header.Carillon, err)
}

// wrong says what an error in the middle of a file means.
func wrong(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTruncated
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return fmt.Errorf("%w: %w", ErrAltered, err)
	}
	return fmt.Errorf("read backup: %w", err)
}
