package pfx

import (
	"crypto/x509/pkix"
	"encoding/asn1"
)

// These are the parts of a PFX file (RFC 7292) that say how often to iterate, as
// go-pkcs12 declares them, so that what it would read is read here.
type (
	pfxPdu struct {
		Version  int
		AuthSafe contentInfo
		MacData  struct {
			Mac struct {
				Algorithm pkix.AlgorithmIdentifier
				Digest    []byte
			}
			MacSalt    []byte
			Iterations int `asn1:"optional,default:1"`
		} `asn1:"optional"`
	}
	contentInfo struct {
		ContentType asn1.ObjectIdentifier
		Content     asn1.RawValue `asn1:"tag:0,explicit,optional"`
	}
	encryptedData struct {
		Version int
		Info    struct {
			ContentType asn1.ObjectIdentifier
			Algorithm   pkix.AlgorithmIdentifier
			Content     []byte `asn1:"tag:0,optional"`
		}
	}
	safeBag struct {
		ID         asn1.ObjectIdentifier
		Value      asn1.RawValue   `asn1:"tag:0,explicit"`
		Attributes []asn1.RawValue `asn1:"set,optional"`
	}
	encryptedKey struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
	pbeParams struct { // of the old ciphers
		Salt       []byte
		Iterations int
	}
	kdfParams struct { // of PBES2 and PBMAC1
		KDF    pkix.AlgorithmIdentifier
		Scheme pkix.AlgorithmIdentifier
	}
	pbkdf2Params struct {
		Salt       asn1.RawValue
		Iterations int
		KeyLength  int                      `asn1:"optional"`
		PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
	}
)

// costly reports whether a key that a PFX file needs takes more iterations than
// limit, as far as that can be seen without its password: what is encrypted may
// hold a key that is encrypted once more. What cannot be read counts for nothing,
// since it cannot be opened either.
func costly(der []byte, limit int) bool {
	var file pfxPdu
	if !read(der, &file) {
		return false
	}
	if file.MacData.Iterations > limit || costlyAlgorithm(file.MacData.Mac.Algorithm, limit) {
		return true
	}
	var data asn1.RawValue
	var safes []contentInfo
	if !read(file.AuthSafe.Content.Bytes, &data) || !read(data.Bytes, &safes) {
		return false
	}
	for _, safe := range safes {
		var encrypted encryptedData
		var plain []byte
		var bags []safeBag
		switch {
		case read(safe.Content.Bytes, &encrypted):
			if costlyAlgorithm(encrypted.Info.Algorithm, limit) {
				return true
			}
		case read(safe.Content.Bytes, &plain) && read(plain, &bags):
			for _, bag := range bags {
				var key encryptedKey
				if read(bag.Value.Bytes, &key) && costlyAlgorithm(key.Algorithm, limit) {
					return true
				}
			}
		}
	}
	return false
}

func costlyAlgorithm(a pkix.AlgorithmIdentifier, limit int) bool {
	var old pbeParams
	if read(a.Parameters.FullBytes, &old) {
		return old.Iterations > limit
	}
	var outer kdfParams
	var inner pbkdf2Params
	return read(a.Parameters.FullBytes, &outer) && read(outer.KDF.Parameters.FullBytes, &inner) && inner.Iterations > limit
}

// read fills out from der if that is one such value and nothing else.
func read(der []byte, out any) bool {
	rest, err := asn1.Unmarshal(der, out)
	return err == nil && len(rest) == 0
}
