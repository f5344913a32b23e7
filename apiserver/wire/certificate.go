package wire

import (
	"crypto"
	"crypto/sha1" //nolint:gosec // a thumbprint is a name, not a protection
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"software.sslmate.com/src/go-pkcs12"
)

// openPFX returns the client's certificate in a PFX file, given in base64. If it
// cannot, it says which member is wrong, pfx or password, and why.
func openPFX(file, password string, now time.Time) (leaf *x509.Certificate, member, reason string) {
	der, err := base64.StdEncoding.DecodeString(file)
	switch {
	case err != nil:
		return nil, "pfx", "must be a PFX file in base64: it is not base64"
	case costly(der, maxIterations, 0):
		return nil, "pfx", fmt.Sprintf("must not ask for more than %d iterations to derive a key", maxIterations)
	}
	key, first, others, err := pkcs12.DecodeChain(der, password)
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword), errors.Is(err, pkcs12.ErrDecryption):
		return nil, "password", "must be the password of the PFX file: it does not open it"
	case err != nil:
		return nil, "pfx", "must be a PFX file with a private key and its certificate: " + err.Error()
	}
	// The certificate that belongs to the key need not come first.
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, "pfx", "must hold a private key that can sign"
	}
	public, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok {
		return nil, "pfx", "must hold an RSA, ECDSA or Ed25519 key"
	}
	for _, c := range append([]*x509.Certificate{first}, others...) {
		switch {
		case !public.Equal(c.PublicKey):
		case now.After(c.NotAfter):
			return nil, "pfx", "must hold a certificate that has not expired: it did at " + FormatTime(c.NotAfter)
		default:
			return c, "", ""
		}
	}
	return nil, "pfx", "must hold the certificate of its private key"
}

// maxIterations bounds the work that opening a file may cause. Windows asks for
// 2,000, OpenSSL for 2,048 or 10,000, the cautious for 600,000.
const maxIterations = 2_000_000

// costly reports whether a key that a PFX file needs takes more iterations than
// limit, as far as that can be seen without its password. A number of iterations
// follows the octets of its salt, and no other number follows octets.
func costly(der []byte, limit int64, depth int) bool {
	const maxDepth = 16
	afterOctets := false
	for len(der) > 0 && depth < maxDepth {
		var v asn1.RawValue
		rest, err := asn1.Unmarshal(der, &v)
		if err != nil {
			return false
		}
		universal := v.Class == asn1.ClassUniversal
		octets := universal && v.Tag == asn1.TagOctetString
		var n int64
		if afterOctets && universal && v.Tag == asn1.TagInteger {
			if _, err := asn1.Unmarshal(v.FullBytes, &n); err != nil || n > limit {
				return true
			}
		}
		if (v.IsCompound || octets) && costly(v.Bytes, limit, depth+1) {
			return true
		}
		der, afterOctets = rest, octets
	}
	return false
}

// thumbprintOf returns the certificate's SHA-1 in upper hex digits.
func thumbprintOf(c *x509.Certificate) string {
	sum := sha1.Sum(c.Raw) //nolint:gosec // see the import
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// subjectName returns a distinguished name as .NET's X509Certificate2.Subject
// has it: its last part first, CN=…, OU=…, O=…, L=…, S=…, C=….
func subjectName(der []byte) string {
	var name pkix.RDNSequence
	if _, err := asn1.Unmarshal(der, &name); err != nil {
		return ""
	}
	parts := make([]string, 0, len(name))
	for _, set := range slices.Backward(name) {
		values := make([]string, len(set))
		for i, a := range set {
			values[i] = attributeName(a.Type) + "=" + quoteAttribute(fmt.Sprint(a.Value))
		}
		parts = append(parts, strings.Join(values, " + "))
	}
	return strings.Join(parts, ", ")
}

// attributeName returns Windows' short name of an attribute of a distinguished
// name.
func attributeName(oid asn1.ObjectIdentifier) string {
	switch s := oid.String(); s {
	case "2.5.4.3":
		return "CN"
	case "2.5.4.4":
		return "SN"
	case "2.5.4.5":
		return "SERIALNUMBER"
	case "2.5.4.6":
		return "C"
	case "2.5.4.7":
		return "L"
	case "2.5.4.8":
		return "S"
	case "2.5.4.9":
		return "STREET"
	case "2.5.4.10":
		return "O"
	case "2.5.4.11":
		return "OU"
	case "2.5.4.12":
		return "T"
	case "2.5.4.42":
		return "G"
	case "2.5.4.43":
		return "I"
	case "0.9.2342.19200300.100.1.25":
		return "DC"
	case "1.2.840.113549.1.9.1":
		return "E"
	default:
		return "OID." + s
	}
}

// quoteAttribute puts a value in quotes if it could be mistaken for more than
// one.
func quoteAttribute(s string) string {
	if s == strings.TrimSpace(s) && !strings.ContainsAny(s, ",+=\"\n<>#;") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
