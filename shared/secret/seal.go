package secret

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/core/cryptofmt"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Seal seals the secrets of a job's action and of its error action with the
// newest key. Those that are sealed already stay as they are. uid is the job's.
func (k *Keys) Seal(a *job.Action, uid string) error {
	s := k.current()
	return s.seal(a, uid, func(string, job.Phase) uint32 { return s.primary })
}

// SealLike seals as Seal does, but each secret with the key with which the same
// place of was is sealed, where that is known: what is the same secret then
// reads the same.
func (k *Keys) SealLike(a *job.Action, uid string, was *job.Action) error {
	s := k.current()
	used := make(map[string]uint32)
	err := each(was, func(phase job.Phase, place string, text *job.Secret) error {
		if sealed, err := parse(*text); err == nil && s.keys[sealed.key] != nil {
			used[string(phase)+place] = sealed.key
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.seal(a, uid, func(place string, phase job.Phase) uint32 {
		if key, ok := used[string(phase)+place]; ok {
			return key
		}
		return s.primary
	})
}

func (s *set) seal(a *job.Action, uid string, key func(place string, phase job.Phase) uint32) error {
	return each(a, func(phase job.Phase, place string, text *job.Secret) error {
		if text.Sealed() {
			return nil
		}
		b, err := s.keys[key(place, phase)].EncryptDeterministically([]byte(*text), data(uid, phase, place))
		if err != nil {
			return fmt.Errorf("seal %s: %w", place, err)
		}
		*text = job.Secret(job.SealedPrefix + base64.RawStdEncoding.EncodeToString(b))
		return nil
	})
}

// Open opens the secrets of the action of one phase of a job's, the error
// action's not included. Its errors are sentences for the job's history, and
// hold no secret.
func (k *Keys) Open(a *job.Action, uid string, phase job.Phase) error {
	return visit(a, phase, func(phase job.Phase, place string, text *job.Secret) error {
		sealed, err := parse(*text)
		if err != nil {
			return err
		}
		key := k.key(sealed.key)
		if key == nil {
			return fmt.Errorf("a secret of the job was sealed with key %08x, which this worker does not have; add the key to its key file, or write the job with its secrets anew", sealed.key)
		}
		b, err := key.DecryptDeterministically(sealed.text, data(uid, phase, place))
		if err != nil {
			return errors.New("a secret of the job cannot be opened: it was changed, or sealed for another job; write the job with its secrets anew")
		}
		*text = job.Secret(b)
		return nil
	})
}

// sealed is a sealed secret, taken apart.
type sealed struct {
	key  uint32
	text []byte // begins with the key's id, as the library writes and reads it
}

func parse(s job.Secret) (sealed, error) {
	if !s.Sealed() {
		return sealed{}, errors.New("a secret of the job was stored unsealed; write the job with its secrets anew")
	}
	b, err := base64.RawStdEncoding.DecodeString(string(s[len(job.SealedPrefix):]))
	if err != nil || len(b) <= cryptofmt.TinkPrefixSize || b[0] != cryptofmt.TinkStartByte {
		return sealed{}, errors.New("a secret of the job is damaged; write the job with its secrets anew")
	}
	return sealed{binary.BigEndian.Uint32(b[1:cryptofmt.TinkPrefixSize]), b}, nil
}

// data is what a secret is bound to.
func data(uid string, phase job.Phase, place string) []byte {
	return []byte("carillon/1\x00" + uid + "\x00" + string(phase) + "\x00" + place)
}

type visitor = func(phase job.Phase, place string, text *job.Secret) error

// each visits the secrets of an action and of its error action.
func each(a *job.Action, f visitor) error {
	err := visit(a, job.MainAction, f)
	if err == nil && a.Error != nil {
		err = visit(a.Error, job.ErrorAction, f)
	}
	return err
}

// visit visits the secrets of an action, which is that of phase.
func visit(a *job.Action, phase job.Phase, f visitor) error {
	var err error
	a.Secrets(func(place string, text *job.Secret) {
		if err == nil {
			err = f(phase, place, text)
		}
	})
	return err
}
