package job

import "strings"

// SealedPrefix begins every secret that is sealed. None that a user gives may
// begin so.
const SealedPrefix = "sealed:"

// Sealed reports whether s is sealed: of no use but to whoever has the key.
func (s Secret) Sealed() bool { return strings.HasPrefix(string(s), SealedPrefix) }

// Secrets calls f with each secret of the action that is not empty,
// and with the name of its place, such as "request.authentication.password". f
// may change it. The error action's secrets are its own.
func (a *Action) Secrets(f func(place string, s *Secret)) {
	visit := func(place string, s *Secret) {
		if *s != "" {
			f(place, s)
		}
	}
	if a.Request != nil && a.Request.Authentication != nil {
		auth := a.Request.Authentication
		visit("request.authentication.password", &auth.Password)
		visit("request.authentication.pfx", &auth.PFX)
		visit("request.authentication.secret", &auth.Secret)
	}
	if a.Queue != nil {
		visit("queueMessage.sasToken", &a.Queue.SASToken)
	}
	if a.Bus != nil {
		visit("serviceBusMessage.authentication.sasKey", &a.Bus.SASKey)
	}
}
