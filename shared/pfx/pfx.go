// Package pfx opens PFX files (PKCS #12), so that whoever checks a client's
// certificate and whoever presents it find the same one in the file. It knows
// neither the time nor what a job is; whether a certificate has expired is for
// its callers to say.
package pfx

import (
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"

	"software.sslmate.com/src/go-pkcs12"
)

// MaxIterations bounds how much work a file may ask for to derive a key.
// Windows asks for 2,000, OpenSSL for 2,048 or 10,000, the cautious for 600,000.
const MaxIterations = 2_000_000

// Why a file cannot be opened, besides [FormatError].
var (
	ErrBase64      = errors.New("not base64")
	ErrCostly      = fmt.Errorf("more than %d iterations to derive a key", MaxIterations)
	ErrPassword    = errors.New("wrong password")
	ErrKey         = errors.New("no private key that can sign")
	ErrCertificate = errors.New("no certificate of the private key")
)

// FormatError says that a file is no PFX file with a private key and a
// certificate, or one of a kind that cannot be read.
type FormatError struct{ Err error }

// Error returns the cause. It may be shown to whoever gave the file.
func (e *FormatError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// An Identity is what a PFX file proves.
type Identity struct {
	Key crypto.Signer // RSA, ECDSA or Ed25519
	// Chain is what to send, in the order of TLS: the certificate of Key, then
	// of each certificate its issuer's, as far as the file has them. A root is
	// left out, as .NET does: who does not have it cannot trust it.
	Chain []*x509.Certificate
}

// Leaf returns the certificate of the key.
func (i *Identity) Leaf() *x509.Certificate { return i.Chain[0] }

// Open opens a PFX file, given in base64 without white space. The certificate
// that belongs to the key need not come first; if several do, the first of them
// counts. Its error is one of those of this package, wrapped or not, and holds
// no secret.
//
// It is made of computation: some milliseconds as a rule, seconds for a file
// that asks for [MaxIterations].
func Open(file, password string) (*Identity, error) {
	der, err := base64.StdEncoding.DecodeString(file)
	if err != nil {
		return nil, ErrBase64
	}
	if costly(der, MaxIterations) {
		return nil, ErrCostly
	}
	key, first, others, err := pkcs12.DecodeChain(der, password)
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword), errors.Is(err, pkcs12.ErrDecryption):
		return nil, ErrPassword
	case err != nil:
		return nil, &FormatError{Err: err}
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, ErrKey
	}
	public, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok {
		return nil, ErrKey
	}
	all := append([]*x509.Certificate{first}, others...)
	for _, c := range all {
		if public.Equal(c.PublicKey) {
			return &Identity{Key: signer, Chain: chain(c, all)}, nil
		}
	}
	return nil, ErrCertificate
}
