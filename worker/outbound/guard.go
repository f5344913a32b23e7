package outbound

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// A Guard says which addresses may be called. Its zero value refuses only what
// every Guard does: link-local addresses, the metadata services of clouds, and
// what is no address of one host. Create others with NewGuard.
type Guard struct{ allow, deny []rule }

// NewGuard returns a Guard that refuses, besides, what deny names and, if allow
// is not empty, all that allow does not name. Each entry is a host name
// ("example.com"; "*.example.com" for those below it; "*" for all), an address
// or a range of them ("10.0.0.0/8"), and may end in a port (":443") or several
// (":8000-8999"); a range of IPv6 with a port is in brackets ("[fd00::/8]:443").
//
// A name is compared with the one that is called, an address with the one that
// is dialled: deny a host by its addresses, for it may have other names. deny
// outweighs allow. An IPv4 address is denied in its IPv6 forms, too, and allowed
// in those that lead nowhere else.
func NewGuard(allow, deny []string) (*Guard, error) {
	g := new(Guard)
	for _, list := range []struct {
		name    string
		entries []string
		rules   *[]rule
	}{{"allow", allow, &g.allow}, {"deny", deny, &g.deny}} {
		for _, entry := range list.entries {
			r, err := parseRule(strings.TrimSpace(entry))
			if err != nil {
				return nil, fmt.Errorf("%s %q: %w", list.name, entry, err)
			}
			*list.rules = append(*list.rules, r)
		}
	}
	return g, nil
}

// RefusedError says that the guard refused a connection.
type RefusedError struct {
	// Always is set if no worker ever calls such an address, and unset if the
	// operator's lists say so.
	Always bool
}

// Error describes the refusal. It does not name the address: to whoever named
// a host, what it resolves to may be news.
func (e *RefusedError) Error() string {
	if e.Always {
		return "the address is link-local, of a cloud's metadata service, or not of one host: these are never called"
	}
	return "the operator of this Carillon does not allow calls to this host, address or port"
}

// judge judges the name in an address to be dialled, host:port, and returns a
// function that judges each address it resolved to.
func (g *Guard) judge(target string) (func(address string) error, error) {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("dial: port %q is not a number", port)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if matchesName(g.deny, host, uint16(n)) {
		return nil, &RefusedError{}
	}
	named := len(g.allow) == 0 || matchesName(g.allow, host, uint16(n))
	return func(address string) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("dial: %w", err)
		}
		for _, ip := range meanings(to.Addr()) {
			if never(ip) {
				return &RefusedError{Always: true}
			}
			if matchesAddress(g.deny, ip, to.Port()) {
				return &RefusedError{}
			}
		}
		ip, end := destination(to.Addr())
		if !named && !matchesAddress(g.allow, ip, to.Port()) && !matchesAddress(g.allow, end, to.Port()) {
			return &RefusedError{}
		}
		return nil
	}, nil
}
