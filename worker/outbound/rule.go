package outbound

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

// A rule is an entry of a list. Either name or prefix is set.
type rule struct {
	name     string // "*", "*.domain" or a host, in lower case
	prefix   netip.Prefix
	min, max uint16 // ports
}

var (
	errURL    = errors.New("this is a URL: name the host, with or without :PORT")
	errPort   = errors.New("a port is 0 to 65535, several are FROM-TO")
	errStar   = errors.New("a star stands for all hosts, or in front of a domain: *.DOMAIN")
	errPrefix = errors.New("this is no CIDR: ADDRESS/BITS")
	errHost   = errors.New("this is no host name, *.DOMAIN, address or CIDR, each with or without :PORT; an IPv6 address with a port is in brackets, an international name is written xn--…")
)

func parseRule(entry string) (rule, error) {
	if strings.Contains(entry, "://") {
		return rule{}, errURL
	}
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
			return rule{}, errPort
		}
		r.min, r.max = uint16(low), uint16(high)
	}
	bare, opened := strings.CutPrefix(host, "[")
	bare, closed := strings.CutSuffix(bare, "]")
	if opened != closed {
		return rule{}, errHost
	}
	if ip, err := netip.ParseAddr(bare); err == nil && ip.Zone() == "" {
		ip = ip.Unmap()
		r.prefix = netip.PrefixFrom(ip, ip.BitLen())
		return r, nil
	}
	if strings.Contains(bare, "/") {
		p, err := netip.ParsePrefix(bare)
		if err != nil {
			return rule{}, errPrefix
		}
		if ip := p.Addr(); ip.Is4In6() { // what is dialled is compared as IPv4
			if p = netip.PrefixFrom(ip.Unmap(), p.Bits()-96); !p.IsValid() {
				return rule{}, errPrefix
			}
		}
		r.prefix = p.Masked()
		return r, nil
	}
	if opened {
		return rule{}, errHost
	}
	if r.name = strings.ToLower(host); r.name != "*." {
		r.name = strings.TrimSuffix(r.name, ".")
	}
	return r, checkName(r.name)
}

// checkName checks the name of a rule.
func checkName(name string) error {
	if name == "*" {
		return nil
	}
	domain, _ := strings.CutPrefix(name, "*.")
	if strings.Contains(domain, "*") {
		return errStar
	}
	label := ""
	for label = range strings.SplitSeq(domain, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return errHost
		}
	}
	// Whatever ends in a number is meant to be an address ("10.0.0.256",
	// "0x7f000001") and is no name of a host: such an entry would never match.
	if _, err := strconv.ParseUint(label, 0, 64); err == nil || strings.Trim(label, "0123456789") == "" {
		return errHost
	}
	return nil
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
