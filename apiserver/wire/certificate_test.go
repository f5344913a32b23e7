package wire

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/pfx"
)

// identity makes a certificate that ends at the given time, and its key.
func identity(t *testing.T, name pkix.Name, ends time.Time) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: name, NotBefore: ends.AddDate(-2, 0, 0), NotAfter: ends}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

func pfxOf(t *testing.T, e *pkcs12.Encoder, password string, key any, chain ...*x509.Certificate) string {
	t.Helper()
	der, err := e.Encode(key, chain[0], chain[1:], password)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(der)
}

func certificateJob(members map[string]string) []byte {
	members["type"] = "clientcertificate"
	b, _ := json.Marshal(map[string]any{"properties": map[string]any{"action": map[string]any{
		"type": "Https", "request": map[string]any{"uri": "https://h/", "method": "GET", "authentication": members},
	}}})
	return b
}

// nextYear is a time with no fraction, as certificates have it.
func nextYear() time.Time { return time.Now().UTC().Truncate(time.Second).AddDate(1, 0, 0) }

// AZURE §2: "A certificate answers certificateThumbprint (upper hex SHA-1),
// certificateExpiration — the live service said so, the SDKs call it
// certificateExpirationDate: answer both — and certificateSubjectName in .NET
// order".
func TestCertificate(t *testing.T) {
	ends := nextYear()
	name := pkix.Name{
		Country: []string{"US"}, Province: []string{"Washington"}, Locality: []string{"Redmond"},
		Organization: []string{"Contoso, Inc."}, OrganizationalUnit: []string{"Jobs"}, CommonName: "scheduler",
	}
	leaf, key := identity(t, name, ends)
	ca, _ := identity(t, pkix.Name{CommonName: "CA"}, ends)
	for _, c := range []struct{ name, pfx, password string }{
		{"modern", pfxOf(t, pkcs12.Modern, "pw", key, leaf), "pw"},
		{"3DES", pfxOf(t, pkcs12.LegacyDES, "pw", key, leaf), "pw"},
		{"RC2", pfxOf(t, pkcs12.LegacyRC2, "pw", key, leaf), "pw"},
		{"chain", pfxOf(t, pkcs12.LegacyRC2, "pw", key, leaf, ca), "pw"},
		{"chain, the leaf last", pfxOf(t, pkcs12.LegacyRC2, "pw", key, ca, leaf), "pw"},
		{"empty password", pfxOf(t, pkcs12.LegacyRC2, "", key, leaf), ""},
		{"in lines", "\r\n" + strings.ReplaceAll(pfxOf(t, pkcs12.LegacyRC2, "pw", key, leaf), "M", "M\r\n "), "pw"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := ReadJob(certificateJob(map[string]string{"pfx": c.pfx, "password": c.password}))
			if err != nil {
				t.Fatal(err)
			}
			a := d.Action.Request.Authentication
			sum := sha1.Sum(leaf.Raw)
			want := &job.Authentication{
				Type: job.ClientCertificate, Password: job.Secret(c.password), PFX: a.PFX,
				Thumbprint: fmt.Sprintf("%X", sum), ExpiresAt: ends,
				SubjectName: `CN=scheduler, OU=Jobs, O="Contoso, Inc.", L=Redmond, S=Washington, C=US`,
			}
			if diff := cmp.Diff(want, a); diff != "" {
				t.Error(diff)
			}
			if _, err := base64.StdEncoding.DecodeString(string(a.PFX)); err != nil || strings.ContainsAny(string(a.PFX), " \r\n") {
				t.Errorf("stored PFX is not plain base64: %v", err)
			}
			answer := fmt.Sprintf(`"authentication":{"certificateThumbprint":"%X","certificateExpiration":%q,"certificateExpirationDate":%[2]q,`+
				`"certificateSubjectName":"CN=scheduler, OU=Jobs, O=\"Contoso, Inc.\", L=Redmond, S=Washington, C=US","type":"ClientCertificate"}`,
				sum, FormatTime(ends))
			if got := written(t, d); !strings.Contains(got, answer) {
				t.Errorf("answer %s lacks %s", got, answer)
			}
		})
	}
}

func TestCertificateRefuses(t *testing.T) {
	const path = "action.request.authentication."
	leaf, key := identity(t, pkix.Name{CommonName: "leaf"}, nextYear())
	expired, expiredKey := identity(t, pkix.Name{CommonName: "old"}, time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))
	good := pfxOf(t, pkcs12.Modern, "pw", key, leaf)
	trust, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{leaf}, "pw")
	if err != nil {
		t.Fatal(err)
	}
	slow := pfxOf(t, pkcs12.LegacyRC2.WithIterations(pfx.MaxIterations/1000), "pw", key, leaf)
	for _, c := range []struct{ name, pfx, password, field, reason string }{
		{"wrong password", good, "px", "password", "does not open it"},
		{"wrong password of an old file", slow, "px", "password", "does not open it"},
		{"empty password", good, "", "password", "does not open it"},
		{"not base64", "%%%", "pw", "pfx", "it is not base64"},
		{"not a PFX", base64.StdEncoding.EncodeToString([]byte("hello")), "pw", "pfx", "must be a PFX file"},
		{"a bare certificate", base64.StdEncoding.EncodeToString(leaf.Raw), "pw", "pfx", "must be a PFX file"},
		{"half a PFX", good[:len(good)/8*4], "pw", "pfx", "must be a PFX file"},
		{"no key", base64.StdEncoding.EncodeToString(trust), "pw", "pfx", "must be a PFX file with a private key"},
		{"another's certificate", pfxOf(t, pkcs12.Modern, "pw", key, expired), "pw", "pfx", "must hold the certificate of its private key"},
		{"expired", pfxOf(t, pkcs12.Modern, "pw", expiredKey, expired), "pw", "pfx", "it did at 2020-01-02T03:04:05Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadJob(certificateJob(map[string]string{"pfx": c.pfx, "password": c.password}))
			wantInvalid(t, err, path+c.field, c.reason)
		})
	}
}

// A file that asks for years of work is refused before it gets any.
func TestCertificateIterations(t *testing.T) {
	leaf, key := identity(t, pkix.Name{CommonName: "leaf"}, nextYear())
	der, err := base64.StdEncoding.DecodeString(pfxOf(t, pkcs12.LegacyRC2.WithIterations(70_000), "pw", key, leaf))
	if err != nil {
		t.Fatal(err)
	}
	few, _ := asn1.Marshal(70_000)
	many, _ := asn1.Marshal(pfx.MaxIterations + 1)
	_, member, reason := openPFX(base64.StdEncoding.EncodeToString(bytes.ReplaceAll(der, few, many)), "pw", time.Now())
	if member != "pfx" || reason != "must not ask for more than 2000000 iterations to derive a key" {
		t.Errorf("%s %s", member, reason)
	}
}

func TestSubjectName(t *testing.T) {
	attribute := func(oid string, value string) pkix.AttributeTypeAndValue {
		var id asn1.ObjectIdentifier
		for s := range strings.SplitSeq(oid, ".") {
			var n int
			_, _ = fmt.Sscan(s, &n)
			id = append(id, n)
		}
		return pkix.AttributeTypeAndValue{Type: id, Value: value}
	}
	for _, c := range []struct {
		name pkix.RDNSequence
		want string
	}{
		{pkix.RDNSequence{{attribute("2.5.4.3", "Scheduler Management")}}, "CN=Scheduler Management"}, // as documented
		{pkix.RDNSequence{{attribute("0.9.2342.19200300.100.1.25", "com")}, {attribute("0.9.2342.19200300.100.1.25", "contoso")}, {attribute("2.5.4.3", "a")}}, "CN=a, DC=contoso, DC=com"},
		{pkix.RDNSequence{{attribute("2.5.4.10", "o"), attribute("2.5.4.11", "u")}}, "O=o + OU=u"},
		{pkix.RDNSequence{{attribute("1.2.840.113549.1.9.1", "a@b")}}, "E=a@b"},
		{pkix.RDNSequence{{attribute("1.2.3", "x")}}, "OID.1.2.3=x"},
		{pkix.RDNSequence{{attribute("2.5.4.3", `a "b"`)}}, `CN="a ""b"""`},
		{pkix.RDNSequence{{attribute("2.5.4.3", " a")}}, `CN=" a"`},
		{nil, ""},
	} {
		der, err := asn1.Marshal(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := subjectName(der); got != c.want {
			t.Errorf("subjectName = %s, want %s", got, c.want)
		}
	}
}

// A certificate stays on PATCH unless the patch names another one or brings a
// file of its own.
func TestPatchCertificate(t *testing.T) {
	leaf, key := identity(t, pkix.Name{CommonName: "one"}, nextYear())
	other, otherKey := identity(t, pkix.Name{CommonName: "two"}, nextYear())
	was, err := ReadJob(certificateJob(map[string]string{"pfx": pfxOf(t, pkcs12.LegacyRC2, "pw", key, leaf), "password": "pw"}))
	if err != nil {
		t.Fatal(err)
	}
	a := was.Action.Request.Authentication
	patch := func(members string) (*job.Authentication, error) {
		d, err := PatchJob(was, []byte(`{"properties":{"action":{"request":{"authentication":`+members+`}}}}`))
		if err != nil {
			return nil, err
		}
		return d.Action.Request.Authentication, nil
	}
	for _, members := range []string{
		`{}`, `{"type":"ClientCertificate"}`, `{"pfx":"","password":""}`, `{"certificateThumbprint":"` + strings.ToLower(a.Thumbprint) + `"}`,
		`{"certificateExpirationDate":"2000-01-01","certificateSubjectName":"CN=x"}`,
	} {
		got, err := patch(members)
		if diff := cmp.Diff(a, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", members, err, diff)
		}
	}
	got, err := patch(`{"pfx":"` + pfxOf(t, pkcs12.LegacyRC2, "p2", otherKey, other) + `","password":"p2"}`)
	if err != nil || got.SubjectName != "CN=two" || got.Thumbprint == a.Thumbprint {
		t.Errorf("another file: %+v, %v", got, err)
	}
	const path = "action.request.authentication."
	_, err = patch(`{"certificateThumbprint":"00"}`)
	wantInvalid(t, err, path+"pfx", "must be given")
	_, err = patch(`{"password":"pw"}`)
	wantInvalid(t, err, path+"pfx", "must be given")
	_, err = patch(`{"pfx":"` + pfxOf(t, pkcs12.LegacyRC2, "p2", otherKey, other) + `"}`)
	wantInvalid(t, err, path+"password", "must be given with a pfx")
	_, err = patch(`{"type":"Basic","username":"u"}`)
	wantInvalid(t, err, path+"password", "must be given") // that of the file is not for a user
	_, err = patch(`{"type":"Basic"}`)
	wantInvalid(t, err, path+"password", "must be given")

	// A certificate that has expired meanwhile, or is sealed, must not keep its
	// job from being disabled.
	a.ExpiresAt, a.PFX, a.Password = time.Now().AddDate(-1, 0, 0), "sealed:1", "sealed:2"
	d, err := PatchJob(was, []byte(`{"properties":{"state":"disabled"}}`))
	if diff := cmp.Diff(a, d.Action.Request.Authentication); err != nil || d.State != job.Disabled || diff != "" {
		t.Errorf("disable: %v, %v %s", d.State, err, diff)
	}
}
