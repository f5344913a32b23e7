package outbound

import (
	"errors"
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
// is dialled. deny outweighs allow.
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
		allowed := named
		for _, ip := range meanings(to.Addr()) {
			if never(ip) {
				return &RefusedError{Always: true}
			}
			if matchesAddress(g.deny, ip, to.Port()) {
				return &RefusedError{}
			}
			allowed = allowed || matchesAddress(g.allow, ip, to.Port())
		}
		if !allowed {
			return &RefusedError{}
		}
		return nil
	}, nil
}

// A rule is an entry of a list. Either name or prefix is set.
type rule struct {
	name     string // "*", "*.domain" or a host, in lower case
	prefix   netip.Prefix
	min, max uint16 // ports
}

func parseRule(entry string) (rule, error) {
	r := rule{max: 65535}
	host := entry
	// What follows the last colon is a port, unless it is part of an IPv6 address.
	if i := strings.LastIndexByte(entry, ':'); i >= 0 && (strings.Count(entry, ":") == 1 || strings.HasSuffix(entry[:i], "]")) {
		host = entry[:i]
		from, to, several := strings.Cut(entry[i+1:], "-")
		if !several {
			to = from
		}
		low, errLow := strconv.ParseUint(from, 10, 16)
		high, errHigh := strconv.ParseUint(to, 10, 16)
		if errLow != nil || errHigh != nil || low > high {
			return rule{}, errors.New("a port is 0 to 65535, several are FROM-TO")
		}
		r.min, r.max = uint16(low), uint16(high)
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if ip, err := netip.ParseAddr(bare); err == nil {
		ip = ip.Unmap()
		r.prefix = netip.PrefixFrom(ip, ip.BitLen())
		return r, nil
	}
	if p, err := netip.ParsePrefix(bare); err == nil {
		r.prefix = p.Masked()
		return r, nil
	}
	r.name = strings.ToLower(strings.TrimSuffix(host, "."))
	if r.name == "" || strings.Contains(strings.TrimPrefix(r.name, "*"), "*") || strings.ContainsAny(r.name, "/:[]@ ") {
		return rule{}, errors.New("this is no host name, *.DOMAIN, address or CIDR, each with or without :PORT")
	}
	if strings.HasPrefix(r.name, "*") && r.name != "*" && !strings.HasPrefix(r.name, "*.") {
		return rule{}, errors.New("a star stands for whole labels: *.DOMAIN")
	}
	return r, nil
}

func (r rule) hasPort(port uint16) bool { return r.min <= port && port <= r.max }

func matchesName(rules []rule, host string, port uint16) bool {
	for _, r := range rules {
		if r.name == "" || !r.hasPort(port) {
			continue
		}
		if r.name == "*" || r.name == host || strings.HasPrefix(r.name, "*.") && strings.HasSuffix(host, r.name[1:]) {
			return true
		}
	}
	return false
}

func matchesAddress(rules []rule, ip netip.Addr, port uint16) bool {
	for _, r := range rules {
		if r.prefix.IsValid() && r.hasPort(port) && r.prefix.Contains(ip) {
			return true
		}
	}
	return false
}

// never reports whether no worker calls ip, whatever the lists say. An address
// that is "this host" would be a way around a list that denies loopback.
func never(ip netip.Addr) bool {
	if ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() {
		return true
	}
	switch ip.String() {
	case "100.100.100.200", // Alibaba Cloud
		"168.63.129.16",                 // Azure's wire server
		"192.0.0.192",                   // Oracle Cloud
		"fd00:ec2::254", "fd00:ec2::23", // AWS: instances, pods
		"fd20:ce::254",                   // Google Cloud
		"fd00:42::42", "255.255.255.255": // Scaleway; everybody
		return true
	}
	return ip.Is4() && ip.As4()[0] == 0
}

// meanings returns an address and every IPv4 address that its form may carry to
// a gateway: mapped, compatible, NAT64 (RFC 6052, RFC 8215), 6to4, Teredo and
// ISATAP.
func meanings(ip netip.Addr) []netip.Addr {
	ip = ip.WithZone("").Unmap()
	list := []netip.Addr{ip}
	if ip.Is4() {
		return list
	}
	b := ip.As16()
	carries := func(v4 [4]byte) { list = append(list, netip.AddrFrom4(v4)) }
	last := [4]byte(b[12:])
	switch {
	case within(ip, "::/96"):
		if !ip.IsLoopback() && !ip.IsUnspecified() {
			carries(last)
		}
	case within(ip, "64:ff9b::/96"):
		carries(last)
	case within(ip, "64:ff9b:1::/48"):
		carries(last)
		carries([4]byte{b[6], b[7], b[9], b[10]})
	case within(ip, "2002::/16"):
		carries([4]byte(b[2:6]))
	case within(ip, "2001::/32"):
		carries([4]byte(b[4:8]))
		carries([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		carries(last)
	}
	return list
}

func within(ip netip.Addr, prefix string) bool { return netip.MustParsePrefix(prefix).Contains(ip) }
