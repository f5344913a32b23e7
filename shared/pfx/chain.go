package pfx

import (
	"bytes"
	"crypto/x509"
	"slices"
)

// chain returns leaf and, as far as all holds them, the certificates that
// vouch for it, each behind the one that it vouches for, without the root.
//
// Issuers are found by name and key id. Signatures are the other side's to
// check: old ones are by SHA-1, which crypto/x509 does not accept.
func chain(leaf *x509.Certificate, all []*x509.Certificate) []*x509.Certificate {
	list := []*x509.Certificate{leaf}
	for last := leaf; !isRoot(last); {
		next := issuer(last, all)
		if next == nil || isRoot(next) || slices.ContainsFunc(list, next.Equal) {
			break
		}
		list, last = append(list, next), next
	}
	return list
}

// issuer returns the certificate that vouches for c, or nil. One whose key id
// is the one that c names goes before one that has none.
func issuer(c *x509.Certificate, all []*x509.Certificate) *x509.Certificate {
	var found *x509.Certificate
	for _, other := range all {
		switch {
		case !bytes.Equal(c.RawIssuer, other.RawSubject):
		case len(c.AuthorityKeyId) == 0 || len(other.SubjectKeyId) == 0:
			if found == nil {
				found = other
			}
		case bytes.Equal(c.AuthorityKeyId, other.SubjectKeyId):
			return other
		}
	}
	return found
}

func isRoot(c *x509.Certificate) bool { return bytes.Equal(c.RawIssuer, c.RawSubject) }
