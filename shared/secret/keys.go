// Package secret seals the secrets of definitions at the API server's door and
// opens them in the worker, so that nothing in between ever holds one.
//
// A secret is sealed with AES-SIV (RFC 5297), an AEAD that gives the same text
// for the same secret: a definition that is sent again changes nothing, and
// nobody has to open a secret to see that. The associated data are the job, the
// phase and the place, so that what is sealed for one of them opens in no
// other.
package secret

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/tink-crypto/tink-go/v2/daead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// maxFile bounds a key file, in bytes. A key takes about 300.
const maxFile = 1 << 20

// lookEvery is how often a key file is looked at, at most.
const lookEvery = time.Second

// Keys are the keys in a file. They follow the file when it changes. Get them
// with Load. They are safe for concurrent use.
type Keys struct {
	path string

	mu     sync.Mutex
	set    *set
	looked time.Time
	stamp  stamp
}

// stamp tells one state of a file from the next.
type stamp struct {
	size     int64
	modified time.Time
}

// set is what a key file holds.
type set struct {
	primary uint32
	keys    map[uint32]tink.DeterministicAEAD
}

// Load reads a key file.
func Load(path string) (*Keys, error) {
	k := &Keys{path: path}
	if err := k.read(); err != nil {
		return nil, err
	}
	return k, nil
}

// current returns the keys as the file has them. A file that cannot be read any
// more leaves the keys as they were: it may be in the middle of being replaced.
func (k *Keys) current() *set {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.looked) >= lookEvery {
		_ = k.refresh() // the next look may see more
	}
	return k.set
}

// key returns a key, or nil if the file does not have it now.
func (k *Keys) key(id uint32) tink.DeterministicAEAD {
	if key := k.current().keys[id]; key != nil {
		return key
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	_ = k.refresh() // then it is not known
	return k.set.keys[id]
}

func (k *Keys) refresh() error {
	k.looked = time.Now()
	info, err := os.Stat(k.path)
	if err != nil || (stamp{info.Size(), info.ModTime()}) == k.stamp {
		return err
	}
	return k.read()
}

func (k *Keys) read() error {
	info, err := os.Stat(k.path)
	if err != nil {
		return unreadable(k.path, err)
	}
	handle, err := readFile(k.path)
	if err != nil {
		return err
	}
	s, err := newSet(handle)
	if err != nil {
		return fmt.Errorf("read key file %s: %w", k.path, err)
	}
	k.set, k.looked, k.stamp = s, time.Now(), stamp{info.Size(), info.ModTime()}
	return nil
}

func unreadable(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no key file %s: make one with 'carillon keys new %[1]s', or copy the one that your other processes use", path)
	}
	return fmt.Errorf("read key file: %w", err)
}

func readFile(path string) (*keyset.Handle, error) {
	b, err := os.ReadFile(path) //nolint:gosec // the operator names it
	if err != nil {
		return nil, unreadable(path, err)
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("%s is no key file: it has more than %d bytes", path, maxFile)
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(b)))
	if err != nil { // the library's error may quote the file
		return nil, fmt.Errorf("%s is no key file: make one with 'carillon keys new FILE'", path)
	}
	return handle, nil
}

// newSet takes the keys out of a handle, each to be used by itself.
func newSet(handle *keyset.Handle) (*set, error) {
	s := &set{keys: make(map[uint32]tink.DeterministicAEAD)}
	for i := range handle.Len() {
		e, err := handle.Entry(i)
		if err != nil {
			return nil, err
		}
		if e.KeyStatus() != keyset.Enabled {
			continue
		}
		m := keyset.NewManagerFromHandle(handle)
		if err := m.SetPrimary(e.KeyID()); err != nil {
			return nil, err
		}
		alone, err := m.Handle()
		if err != nil {
			return nil, err
		}
		if s.keys[e.KeyID()], err = daead.New(alone); err != nil {
			return nil, fmt.Errorf("key %08x: %w", e.KeyID(), err)
		}
		if e.IsPrimary() {
			s.primary = e.KeyID()
		}
	}
	if s.keys[s.primary] == nil {
		return nil, errors.New("there is no key to seal with")
	}
	return s, nil
}
