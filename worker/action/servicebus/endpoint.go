package servicebus

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// DefaultEndpoint is Azure's public cloud.
const DefaultEndpoint = "amqps://" + placeholder + ".servicebus.windows.net"

// placeholder stands in an endpoint for the name of a namespace.
const placeholder = "{namespace}"

// endpoint says where namespaces are.
type endpoint struct {
	plain bool   // without TLS
	host  string // may hold the placeholder
	port  string
}

func parseEndpoint(s string) (endpoint, error) {
	scheme, rest, _ := strings.Cut(strings.TrimSuffix(s, "/"), "://")
	e := endpoint{host: rest}
	switch scheme {
	case "amqps", "sb":
		e.port = "5671"
	case "amqp":
		e.plain, e.port = true, "5672"
	default:
		return endpoint{}, fmt.Errorf("service bus endpoint %q: the scheme is none of amqps, sb and amqp", s)
	}
	if host, port, err := net.SplitHostPort(rest); err == nil {
		if !isPort(port) {
			return endpoint{}, fmt.Errorf("service bus endpoint %q: a port is 1 to 65535", s)
		}
		e.host, e.port = host, port
	}
	if strings.Count(e.host, placeholder) > 1 || !isHost(strings.Replace(e.host, placeholder, "x", 1)) {
		return endpoint{}, fmt.Errorf("service bus endpoint %q: this is no SCHEME://HOST or SCHEME://HOST:PORT, with %s once at most", s, placeholder)
	}
	return e, nil
}

// resolve returns the host of a namespace, which is a bare name or a full host
// name, with or without a port, and the address to dial.
func (e endpoint) resolve(namespace string) (host, address string, ok bool) {
	host, port, given := strings.Cut(namespace, ":")
	if !given {
		port = e.port
	}
	if !isHost(host) || !isPort(port) {
		return "", "", false
	}
	switch {
	case !strings.Contains(e.host, placeholder):
		host, port = e.host, e.port
	case !strings.Contains(host, "."):
		host = strings.Replace(e.host, placeholder, host, 1)
	}
	return host, net.JoinHostPort(host, port), true
}

// isHost reports whether s can be a host in a URL as it is: nothing in it has a
// meaning there or in a connection string.
func isHost(s string) bool {
	if ip := net.ParseIP(s); ip != nil {
		return true
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.' {
			return false
		}
	}
	return s != ""
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}
