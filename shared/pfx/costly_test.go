package pfx

import (
	"bytes"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"
)

// manyIterations makes the nth key of a file that was encoded with [iterations]
// iterations take one more than allowed. It reports false if there is no nth.
func manyIterations(t *testing.T, der []byte, n int) ([]byte, bool) {
	t.Helper()
	few, _ := asn1.Marshal(iterations)
	many, _ := asn1.Marshal(MaxIterations + 1)
	if len(few) != len(many) {
		t.Fatal("the file's lengths would change")
	}
	parts := bytes.Split(der, few)
	if n+1 >= len(parts) {
		return nil, false
	}
	head, tail := bytes.Join(parts[:n+1], few), bytes.Join(parts[n+1:], few)
	return append(append(bytes.Clone(head), many...), tail...), true
}

const iterations = 70_000

// A file that asks for years of work is refused before it gets any, whichever of
// its keys it is: that of the certificates, of the private key or of the whole.
func TestIterationsAreBounded(t *testing.T) {
	leaf := newParty(t, "leaf", nil)
	for name, c := range map[string]struct {
		encoder *pkcs12.Encoder
		keys    int
	}{"RC2": {pkcs12.LegacyRC2, 3}, "3DES": {pkcs12.LegacyDES, 3}, "AES": {pkcs12.Modern2023, 3}, "PBMAC1": {pkcs12.Modern2026, 3}} {
		der := decoded(t, encode(t, c.encoder.WithIterations(iterations), "pw", leaf.key, leaf.certificate))
		if costly(der, iterations) || !costly(der, iterations-1) {
			t.Errorf("%s: %d iterations are not seen", name, iterations)
		}
		n := 0
		for ; ; n++ {
			patched, ok := manyIterations(t, der, n)
			if !ok {
				break
			}
			if _, err := Open(base64.StdEncoding.EncodeToString(patched), "pw"); !errors.Is(err, ErrCostly) {
				t.Errorf("%s, key %d: %v", name, n, err)
			}
		}
		if n < c.keys {
			t.Errorf("%s: only %d keys were tried", name, n)
		}
	}
}

// Whatever else is in a file is random, and must not be taken for a number.
func TestSaltIsNoNumber(t *testing.T) {
	leaf := newParty(t, "leaf", nil)
	der := decoded(t, encode(t, pkcs12.LegacyRC2.WithIterations(2), "pw", leaf.key, leaf.certificate))
	tail := []byte{2, 1, 2} // the iterations, behind a salt of eight bytes
	salt, ok := bytes.CutSuffix(der, tail)
	if !ok {
		t.Fatal("the file does not end in its iterations")
	}
	copy(salt[len(salt)-8:], []byte{4, 0, 2, 4, 0x7f, 0xff, 0xff, 0xff}) // octets, then a number
	if costly(der, 2) || !costly(der, 1) {
		t.Error("the salt was taken for more than it is")
	}
}

// FuzzOpen looks for files that panic, or take longer than they may.
func FuzzOpen(f *testing.F) {
	leaf := newParty(f, "leaf", nil)
	for _, e := range []*pkcs12.Encoder{pkcs12.LegacyRC2, pkcs12.LegacyDES, pkcs12.Modern2023, pkcs12.Modern2026} {
		f.Add(decoded(f, encode(f, e, "pw", leaf.key, leaf.certificate)))
	}
	f.Add(decoded(f, encode(f, pkcs12.Passwordless, "", leaf.key, leaf.certificate)))
	f.Fuzz(func(t *testing.T, der []byte) {
		if costly(der, 10_000) {
			return // allowed, and slow
		}
		for _, password := range []string{"pw", ""} {
			start := time.Now()
			id, err := Open(base64.StdEncoding.EncodeToString(der), password)
			if err == nil && (id.Key == nil || len(id.Chain) == 0) {
				t.Error("neither error nor identity")
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
		}
	})
}
