package job

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// Bounds of an action (Azure documentation: Scheduler limits). Characters are
// .NET's: units of UTF-16.
const (
	maxURI         = 2048
	maxHeaders     = 50
	maxHeaderChars = 4096 // of all names and values together
	maxBody        = 8192

	minRetryInterval = 15 * time.Second
	// maxRetryInterval is 18 months as days, as many as a recurrence may have.
	maxRetryInterval = 548 * 24 * time.Hour
	maxRetryCount    = 20
)

// validate checks an action. path is its field: "action", "action.errorAction".
// minRetry is the shortest interval of its retries.
func (a *Action) validate(path string, minRetry time.Duration) error {
	var err error
	switch a.Type {
	case HTTP, HTTPS:
		if a.Request == nil {
			return Invalid(path+".request", "must be given with type %s", a.Type)
		}
		err = a.Request.validate(path+".request", a.Type)
	case StorageQueue:
		if a.Queue == nil {
			return Invalid(path+".queueMessage", "must be given with type %s", a.Type)
		}
		err = a.Queue.validate(path + ".queueMessage")
	case ServiceBusQueue, ServiceBusTopic:
		part, entity := path+".serviceBusQueueMessage", "queueName"
		if a.Type == ServiceBusTopic {
			part, entity = path+".serviceBusTopicMessage", "topicPath"
		}
		if a.Bus == nil {
			return Invalid(part, "must be given with type %s", a.Type)
		}
		err = a.Bus.validate(part, entity)
	default:
		return Invalid(path+".type", "must be %s, %s, %s, %s or %s",
			HTTP, HTTPS, StorageQueue, ServiceBusQueue, ServiceBusTopic)
	}
	if err != nil {
		return err
	}
	if err := a.Retry.validate(path+".retryPolicy", minRetry); err != nil {
		return err
	}
	switch {
	case a.Error == nil:
		return nil
	case path != "action":
		return Invalid(path+".errorAction", "must not be given: an error action has none of its own")
	}
	return a.Error.validate(path+".errorAction", minRetry)
}

func (p *RetryPolicy) validate(path string, shortest time.Duration) error {
	switch {
	case p == nil || !p.Fixed: // what else it says means nothing
		return nil
	case p.Interval != 0 && (p.Interval < shortest || p.Interval > maxRetryInterval):
		return Invalid(path+".retryInterval", "must be between %s and 18 months (548 days)", spoken(shortest))
	case p.Count != nil && (*p.Count < 0 || *p.Count > maxRetryCount):
		return Invalid(path+".retryCount", "must be between 0 and %d", maxRetryCount)
	}
	return nil
}

func (r *Request) validate(path string, t ActionType) error {
	if err := validateURI(path+".uri", r.URI, t); err != nil {
		return err
	}
	switch strings.ToUpper(r.Method) {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
	default:
		return Invalid(path+".method", "must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")
	}
	if err := validateHeaders(path+".headers", r.Headers); err != nil {
		return err
	}
	if chars(r.Body) > maxBody {
		return Invalid(path+".body", "must have at most %d characters", maxBody)
	}
	return r.Authentication.validate(path + ".authentication")
}

// validateURI checks what an HTTP call calls. Type Http takes https, too: the
// live service did (recorded). Type Https takes nothing else, since it is the
// only word of the user's that the call has to be encrypted.
func validateURI(path, uri string, t ActionType) error {
	u, err := url.Parse(uri)
	switch {
	case uri == "":
		return Invalid(path, "must be given")
	case chars(uri) > maxURI:
		return Invalid(path, "must have at most %d characters", maxURI)
	case err != nil || u.Hostname() == "": // the error quotes the URI
		return Invalid(path, "must be an absolute URI with a host")
	case u.Scheme != "https" && (u.Scheme != "http" || t == HTTPS):
		if t == HTTPS {
			return Invalid(path, "must begin with https:// with type %s", t)
		}
		return Invalid(path, "must begin with http:// or https://")
	case u.User != nil:
		return Invalid(path, "must not hold a user name or password: give them as authentication")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return Invalid(path, "must have a port between 1 and 65535")
		}
	}
	return nil
}

func validateHeaders(path string, headers map[string]string) error {
	if len(headers) > maxHeaders {
		return Invalid(path, "must be at most %d", maxHeaders)
	}
	total := 0
	for _, name := range sortedKeys(headers) {
		value := headers[name]
		total += chars(name) + chars(value)
		switch {
		case !isToken(name):
			return Invalid(path, "must have names of letters, digits and !#$%%&'*+-.^_`|~")
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return Invalid(path+"."+name, "must not hold control characters")
		}
	}
	if total > maxHeaderChars {
		return Invalid(path, "must have at most %d characters together", maxHeaderChars)
	}
	return nil
}

// isToken reports whether s is a token of RFC 9110, such as a header's name.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !isAlphanumeric(r) && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

func (a *Authentication) validate(path string) error {
	if a == nil {
		return nil
	}
	switch a.Type {
	case Basic:
		if a.Username == "" || strings.Contains(a.Username, ":") || hasControl(a.Username) {
			return Invalid(path+".username", "must be given, without colons and control characters")
		}
		if hasControl(string(a.Password)) {
			return Invalid(path+".password", "must not hold control characters")
		}
		return required(path, "password", string(a.Password))
	case ClientCertificate: // its password may be empty
		return required(path, "pfx", string(a.PFX))
	case ActiveDirectoryOAuth:
		if a.Tenant != "" && !isHost(a.Tenant) { // it becomes part of a URL
			return Invalid(path+".tenant", "must be the id or a domain name of a tenant")
		}
		return required(path, "tenant", a.Tenant, "audience", a.Audience, "clientId", a.ClientID, "secret", string(a.Secret))
	default:
		return Invalid(path+".type", "must be %s, %s or %s", Basic, ClientCertificate, ActiveDirectoryOAuth)
	}
}

// required checks members, given as name and value, of which none may be empty.
func required(path string, members ...string) error {
	for member := range slices.Chunk(members, 2) {
		if member[1] == "" {
			return Invalid(path+"."+member[0], "must be given")
		}
	}
	return nil
}

// chars is the length of s to .NET.
func chars(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// sortedKeys makes which of several wrong members is named a matter of the
// definition alone.
func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
