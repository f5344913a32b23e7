package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/tink-crypto/tink-go/v2/daead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// A Use says what a key is for.
type Use string

// The uses of a key.
const (
	Sealing Use = "seals" // what is sealed now is sealed with it
	Next    Use = "next"  // made, so that every process has it before it is used
	Opening Use = "opens" // opens what was sealed with it
)

// A Key is a key of a file, without the key itself.
type Key struct {
	ID  uint32
	Use Use
}

// String returns the id as it is shown everywhere.
func (k Key) String() string { return fmt.Sprintf("%08x", k.ID) }

// Create makes a key file, readable by its owner only: a key that seals, and the
// one that follows it. It fails if the file exists.
func Create(path string) error {
	m := keyset.NewManager()
	id, err := m.Add(daead.AESSIVKeyTemplate())
	if err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	if err := m.SetPrimary(id); err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	if _, err := m.Add(daead.AESSIVKeyTemplate()); err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	return write(path, m, func(from, to string) error {
		// Unlike a rename, a link never replaces a file, whoever makes one meanwhile.
		err := os.Link(from, to)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("there is a key file %s already: what is sealed with its keys would be lost without it; add a key with 'carillon keys rotate'", to)
		}
		return err
	})
}

// Rotate has the next key seal from now on, and makes the one that follows it.
// Processes that still have the file as it was can open what is sealed with the
// new key: it was in there as the next one.
func Rotate(path string) error {
	return change(path, func(m *keyset.Manager, keys []Key) error {
		if i := slices.IndexFunc(keys, func(k Key) bool { return k.Use == Next }); i >= 0 {
			if err := m.SetPrimary(keys[i].ID); err != nil {
				return err
			}
		}
		_, err := m.Add(daead.AESSIVKeyTemplate())
		return err
	})
}

// Remove takes a key out of the file. What is sealed with it cannot be opened
// any more. The keys that seal now or next cannot be removed.
func Remove(path string, id uint32) error {
	return change(path, func(m *keyset.Manager, keys []Key) error {
		for _, k := range keys {
			if k.ID != id {
				continue
			}
			if k.Use != Opening {
				return fmt.Errorf("key %s cannot be removed: it %s", k, map[Use]string{Sealing: "is the one that seals", Next: "is the next one that will"}[k.Use])
			}
			return m.Delete(id)
		}
		return fmt.Errorf("there is no key %s", Key{ID: id})
	})
}

// List returns the keys of a file, oldest first.
func List(path string) ([]Key, error) {
	handle, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return list(handle)
}

func list(handle *keyset.Handle) ([]Key, error) {
	keys := make([]Key, handle.Len())
	use := Opening
	for i := range keys {
		e, err := handle.Entry(i)
		if err != nil {
			return nil, err
		}
		keys[i] = Key{e.KeyID(), use}
		if e.IsPrimary() {
			keys[i].Use, use = Sealing, Next
		}
	}
	return keys, nil
}

func change(path string, f func(*keyset.Manager, []Key) error) error {
	handle, err := readFile(path)
	if err != nil {
		return err
	}
	keys, err := list(handle)
	if err != nil {
		return err
	}
	m := keyset.NewManagerFromHandle(handle)
	if err := f(m, keys); err != nil {
		return fmt.Errorf("change key file %s: %w", path, err)
	}
	return write(path, m, os.Rename)
}

// write writes the keys beside path and has place put them there, whole or not
// at all.
func write(path string, m *keyset.Manager, place func(from, to string) error) (err error) {
	handle, err := m.Handle()
	if err != nil {
		return fmt.Errorf("make keys: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".keys-*") // of mode 0600
	if err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // unless it was renamed
	err = insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(f))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = place(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write key file: %w", err)
	}
	return nil
}
