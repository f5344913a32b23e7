package wire

import (
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// secret returns the secret that a definition gives, or else the one kept.
// Answers leave secrets out, and Azure's documentation has clients expect null
// or an empty text there; so these are taken for a secret that was not given.
func (n node) secret(kept job.Secret) job.Secret {
	given := n.givenSecret()
	if given == "" {
		given = kept
	}
	if given == "" && !n.doc.loose {
		n.fail("must be given: answers leave secrets out")
	}
	return given
}

// givenSecret returns the secret that a definition gives. One that looks sealed
// was never anybody's, and would be taken for what is sealed.
func (n node) givenSecret() job.Secret {
	s := job.Secret(n.text())
	if s.Sealed() {
		n.fail("must be the secret itself, and must not begin with %s", job.SealedPrefix)
	}
	return s
}

// authentication reads how an HTTP call proves who it is. Type NotSpecified is
// none at all.
func (n node) authentication(was *job.Authentication) *job.Authentication {
	const notSpecified = "NotSpecified"
	if !n.isObject() {
		return nil
	}
	typed := n.get("type")
	if !typed.given() {
		typed.fail("must be given")
	}
	a := &job.Authentication{
		Type: choice(typed, job.Basic, job.ClientCertificate, job.ActiveDirectoryOAuth, notSpecified),
	}
	if was == nil || was.Type != a.Type {
		was = new(job.Authentication)
	}
	switch a.Type {
	case job.Basic:
		a.Username = n.get("username").text()
		var kept job.Secret
		if was.Username == a.Username {
			kept = was.Password
		}
		a.Password = n.get("password").secret(kept)
	case job.ActiveDirectoryOAuth:
		a.Tenant, a.Audience, a.ClientID = n.get("tenant").text(), n.get("audience").text(), n.get("clientId").text()
		var kept job.Secret
		if was.Tenant == a.Tenant && was.Audience == a.Audience && was.ClientID == a.ClientID {
			kept = was.Secret
		}
		a.Secret = n.get("secret").secret(kept)
	case job.ClientCertificate:
		n.certificate(a, was)
	case notSpecified:
		return nil
	}
	return a
}

// certificate reads a PFX file with its password into a, or keeps those of was.
// They come and go together: what is kept may be sealed and cannot be opened.
func (n node) certificate(a, was *job.Authentication) {
	file, password, thumbprint := n.get("pfx"), n.get("password"), n.get("certificateThumbprint").text()
	given := file.text() != ""
	if !given && password.text() == "" && (thumbprint == "" || strings.EqualFold(thumbprint, was.Thumbprint)) {
		a.Password, a.Thumbprint, a.ExpiresAt, a.SubjectName = was.Password, was.Thumbprint, was.ExpiresAt, was.SubjectName
		a.PFX = file.secret(was.PFX)
		return
	}
	a.PFX, a.Password = file.secret(""), password.givenSecret()
	if given && !password.given() && !n.doc.loose {
		password.fail("must be given with a pfx, if only as an empty text")
	}
	if n.doc.loose || n.doc.err != nil {
		return
	}
	a.PFX = job.Secret(strings.Join(strings.Fields(string(a.PFX)), "")) // base64 comes in lines, too
	leaf, member, reason := openPFX(string(a.PFX), string(a.Password), time.Now())
	if reason != "" {
		n.get(member).fail("%s", reason)
		return
	}
	a.Thumbprint, a.ExpiresAt, a.SubjectName = thumbprintOf(leaf), leaf.NotAfter.UTC(), subjectName(leaf.RawSubject)
}

// sharedAccessKey reads the authentication of a Service Bus message into m.
func (n node) sharedAccessKey(m, was *job.ServiceBusMessage) {
	const sharedAccessKey = "sharedAccessKey"
	m.AuthType = choice(n.get("type"), sharedAccessKey, "notSpecified")
	m.SASKeyName = n.get("sasKeyName").text()
	key := n.get("sasKey")
	if m.AuthType == "" && (m.SASKeyName != "" || key.given()) {
		m.AuthType = sharedAccessKey
	}
	if m.AuthType != sharedAccessKey {
		m.SASKey = key.givenSecret()
		return
	}
	var kept job.Secret
	if was != nil && was.SASKeyName == m.SASKeyName && strings.EqualFold(was.Namespace, m.Namespace) {
		kept = was.SASKey
	}
	m.SASKey = key.secret(kept)
}
