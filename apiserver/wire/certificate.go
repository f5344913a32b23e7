package wire

import (
	"crypto/sha1" //nolint:gosec // a thumbprint is a name, not a protection
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/shared/pfx"
)

// openPFX returns the client's certificate in a PFX file, given in base64. If it
// cannot, it says which member is wrong, pfx or password, and why.
func openPFX(file, password string, now time.Time) (leaf *x509.Certificate, member, reason string) {
	id, err := pfx.Open(file, password)
	if err != nil {
		member, reason = refusalOf(err)
		return nil, member, reason
	}
	leaf = id.Leaf()
	if now.After(leaf.NotAfter) {
		return nil, "pfx", "must hold a certificate that has not expired: it did at " + FormatTime(leaf.NotAfter)
	}
	return leaf, "", ""
}

// refusalOf says which member keeps a PFX file from being opened, and why.
func refusalOf(err error) (member, reason string) {
	switch {
	case errors.Is(err, pfx.ErrBase64):
		return "pfx", "must be a PFX file in base64: it is not base64"
	case errors.Is(err, pfx.ErrCostly):
		return "pfx", fmt.Sprintf("must not ask for more than %d iterations to derive a key", pfx.MaxIterations)
	case errors.Is(err, pfx.ErrPassword):
		return "password", "must be the password of the PFX file: it does not open it"
	case errors.Is(err, pfx.ErrKey):
		return "pfx", "must hold a private key that can sign"
	case errors.Is(err, pfx.ErrCertificate):
		return "pfx", "must hold the certificate of its private key"
	}
	return "pfx", "must be a PFX file with a private key and its certificate: " + err.Error()
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
