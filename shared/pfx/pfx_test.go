package pfx

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"software.sslmate.com/src/go-pkcs12"
)

// A party has a certificate and its key.
type party struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// newParty returns a party that by vouches for, or itself if that is nil.
func newParty(t testing.TB, name string, by *party) *party {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &party{key: key}
	if by == nil {
		by = p
	}
	p.certificate = certify(t, name, key.Public(), by)
	return p
}

func certify(t testing.TB, name string, public any, by *party) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Unix(4e9, 0),
		IsCA: true, BasicConstraintsValid: true,
	}
	parent := template
	if by.certificate != nil {
		parent = by.certificate
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, by.key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func encode(t testing.TB, e *pkcs12.Encoder, password string, key any, certificates ...*x509.Certificate) string {
	t.Helper()
	der, err := e.Encode(key, certificates[0], certificates[1:], password)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(der)
}

func names(certificates []*x509.Certificate) string {
	var list []string
	for _, c := range certificates {
		list = append(list, c.Subject.CommonName)
	}
	return strings.Join(list, " ")
}

// AZURE §8: "PFX, old RC2/3DES files too".
func TestOpenReadsOldFilesAndNew(t *testing.T) {
	leaf := newParty(t, "leaf", newParty(t, "root", nil))
	for name, e := range map[string]*pkcs12.Encoder{
		"RC2": pkcs12.LegacyRC2, "3DES": pkcs12.LegacyDES, "AES": pkcs12.Modern2023, "AES, PBMAC1": pkcs12.Modern2026,
	} {
		for _, password := range []string{"pw", "größe", ""} {
			id, err := Open(encode(t, e, password, leaf.key, leaf.certificate), password)
			if err != nil {
				t.Errorf("%s, %q: %v", name, password, err)
				continue
			}
			if !id.Leaf().Equal(leaf.certificate) || !leaf.key.Equal(id.Key) {
				t.Errorf("%s, %q: another's certificate or key", name, password)
			}
		}
	}
	if _, err := Open(encode(t, pkcs12.Passwordless, "", leaf.key, leaf.certificate), ""); err != nil {
		t.Errorf("without encryption: %v", err)
	}
}

func TestOpenTakesEveryKeyThatCanSign(t *testing.T) {
	root := newParty(t, "root", nil)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []crypto.Signer{rsaKey, edKey} {
		id, err := Open(encode(t, pkcs12.Modern2023, "pw", key, certify(t, "leaf", key.Public(), root)), "pw")
		if err != nil || names(id.Chain) != "leaf" {
			t.Errorf("%T: %v", key, err)
		}
	}
}

// The chain is in the order of TLS, whatever that of the file.
func TestChainIsInSendingOrder(t *testing.T) {
	root := newParty(t, "root", nil)
	upper := newParty(t, "upper", root)
	lower := newParty(t, "lower", upper)
	leaf := newParty(t, "leaf", lower)
	stranger := newParty(t, "stranger", root)
	renewed := newParty(t, "lower", upper) // same name, another key
	alone := newParty(t, "alone", nil)
	// Two that vouch for each other.
	left, right := newParty(t, "left", nil), newParty(t, "right", nil)
	left.certificate, right.certificate = certify(t, "left", left.key.Public(), right), certify(t, "right", right.key.Public(), left)
	ring := newParty(t, "ring", left)

	for name, c := range map[string]struct {
		of   *party
		file []*x509.Certificate
		want string
	}{
		"in order":                  {leaf, []*x509.Certificate{leaf.certificate, lower.certificate, upper.certificate}, "leaf lower upper"},
		"the leaf last":             {leaf, []*x509.Certificate{upper.certificate, lower.certificate, leaf.certificate}, "leaf lower upper"},
		"the leaf in the middle":    {leaf, []*x509.Certificate{lower.certificate, leaf.certificate, upper.certificate}, "leaf lower upper"},
		"the root is left out":      {leaf, []*x509.Certificate{leaf.certificate, root.certificate, upper.certificate, lower.certificate}, "leaf lower upper"},
		"strangers are left out":    {leaf, []*x509.Certificate{stranger.certificate, lower.certificate, leaf.certificate}, "leaf lower"},
		"a gap ends it":             {leaf, []*x509.Certificate{leaf.certificate, upper.certificate}, "leaf"},
		"the right one of a name":   {leaf, []*x509.Certificate{leaf.certificate, renewed.certificate, lower.certificate}, "leaf lower"},
		"the wrong one of a name":   {leaf, []*x509.Certificate{leaf.certificate, renewed.certificate}, "leaf"},
		"its own issuer":            {alone, []*x509.Certificate{alone.certificate, root.certificate}, "alone"},
		"twice in the file":         {leaf, []*x509.Certificate{leaf.certificate, leaf.certificate, lower.certificate, lower.certificate}, "leaf lower"},
		"issuers that form a ring":  {ring, []*x509.Certificate{left.certificate, right.certificate, ring.certificate}, "ring left right"},
		"the key is an authority's": {lower, []*x509.Certificate{leaf.certificate, lower.certificate, upper.certificate}, "lower upper"},
	} {
		t.Run(name, func(t *testing.T) {
			id, err := Open(encode(t, pkcs12.LegacyRC2, "pw", c.of.key, c.file...), "pw")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, names(id.Chain)); diff != "" {
				t.Error(diff)
			}
			for i, certificate := range id.Chain[1:] {
				if err := id.Chain[i].CheckSignatureFrom(certificate); err != nil {
					t.Errorf("%s: %v", certificate.Subject.CommonName, err)
				}
			}
		})
	}
}

// Old authorities wrote no key ids, so there the name decides.
func TestIssuerWithoutKeyID(t *testing.T) {
	leaf := &x509.Certificate{RawSubject: []byte("leaf"), RawIssuer: []byte("ca"), AuthorityKeyId: []byte{1}}
	plain := &x509.Certificate{RawSubject: []byte("ca"), RawIssuer: []byte("root"), Raw: []byte("plain")}
	exact := &x509.Certificate{RawSubject: []byte("ca"), RawIssuer: []byte("root"), SubjectKeyId: []byte{1}, Raw: []byte("exact")}
	if issuer(leaf, []*x509.Certificate{leaf, plain}) != plain || issuer(leaf, []*x509.Certificate{plain, exact}) != exact {
		t.Error("not found")
	}
}

func TestOpenRefuses(t *testing.T) {
	leaf, other := newParty(t, "leaf", nil), newParty(t, "other", nil)
	good := encode(t, pkcs12.Modern2023, "s3cret-pw", leaf.key, leaf.certificate)
	trust, err := pkcs12.Modern2023.EncodeTrustStore([]*x509.Certificate{leaf.certificate}, "s3cret-pw")
	if err != nil {
		t.Fatal(err)
	}
	agreement, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	format := new(FormatError)
	for name, c := range map[string]struct {
		file, password string
		want           error // format: any FormatError
	}{
		"wrong password":                    {good, "px", ErrPassword},
		"empty password":                    {good, "", ErrPassword},
		"wrong password, RC2":               {encode(t, pkcs12.LegacyRC2, "s3cret-pw", leaf.key, leaf.certificate), "px", ErrPassword},
		"wrong password, 3DES":              {encode(t, pkcs12.LegacyDES, "s3cret-pw", leaf.key, leaf.certificate), "px", ErrPassword},
		"not base64":                        {"%%%", "s3cret-pw", ErrBase64},
		"white space":                       {good[:8] + " " + good[8:], "s3cret-pw", ErrBase64},
		"not a PFX":                         {base64.StdEncoding.EncodeToString([]byte("hello")), "s3cret-pw", format},
		"empty":                             {"", "s3cret-pw", format},
		"a bare certificate":                {base64.StdEncoding.EncodeToString(leaf.certificate.Raw), "s3cret-pw", format},
		"half a PFX":                        {good[:len(good)/8*4], "s3cret-pw", format},
		"more behind it":                    {base64.StdEncoding.EncodeToString(append(decoded(t, good), 0)), "s3cret-pw", format},
		"no key":                            {base64.StdEncoding.EncodeToString(trust), "s3cret-pw", format},
		"a key that cannot sign":            {encode(t, pkcs12.Modern2023, "s3cret-pw", agreement, leaf.certificate), "s3cret-pw", ErrKey},
		"another's certificate":             {encode(t, pkcs12.Modern2023, "s3cret-pw", leaf.key, other.certificate), "s3cret-pw", ErrCertificate},
		"a password beyond what files know": {good, "s3cret-😀", format},
	} {
		id, err := Open(c.file, c.password)
		got, isFormat := errors.AsType[*FormatError](err)
		if isFormat != errors.Is(c.want, format) || !isFormat && !errors.Is(err, c.want) || id != nil {
			t.Errorf("%s: %v, %v", name, id, err)
		}
		if isFormat && (got.Error() == "" || errors.Unwrap(got) == nil) {
			t.Errorf("%s: no reason", name)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: secret in error: %v", name, err)
		}
	}
}

func decoded(t testing.TB, file string) []byte {
	t.Helper()
	der, err := base64.StdEncoding.DecodeString(file)
	if err != nil {
		t.Fatal(err)
	}
	return der
}
