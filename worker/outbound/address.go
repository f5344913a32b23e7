package outbound

import "net/netip"

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
// a gateway: mapped, translated (RFC 2765), compatible, NAT64 (RFC 6052, RFC
// 8215), 6to4, Teredo and ISATAP. What is refused is refused in every meaning.
func meanings(ip netip.Addr) []netip.Addr {
	ip = ip.WithZone("").Unmap()
	list := []netip.Addr{ip}
	if ip.Is4() {
		return list
	}
	b := ip.As16()
	carries := func(v4 ...byte) { list = append(list, netip.AddrFrom4([4]byte(v4))) }
	switch {
	case within(ip, "::/96"):
		if !ip.IsLoopback() && !ip.IsUnspecified() {
			carries(b[12:]...)
		}
	case within(ip, "::ffff:0:0:0/96"), within(ip, "64:ff9b::/96"):
		carries(b[12:]...)
	case within(ip, "64:ff9b:1::/48"): // which part is the network's own is not known
		carries(b[6], b[7], b[9], b[10])
		carries(b[7], b[9], b[10], b[11])
		carries(b[9:13]...)
		carries(b[12:]...)
	case within(ip, "2002::/16"):
		carries(b[2:6]...)
	case within(ip, "2001::/32"):
		carries(b[4:8]...)
		carries(^b[12], ^b[13], ^b[14], ^b[15])
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		carries(b[12:]...)
	}
	return list
}

// destination returns the address that is dialled and the one where that surely
// ends, which another is only if a NAT64 gateway stands between. Whoever owns an
// IPv6 network can write any IPv4 address into its other forms, so that those do
// not pass for it.
func destination(ip netip.Addr) (dialled, end netip.Addr) {
	ip = ip.WithZone("").Unmap()
	if b := ip.As16(); within(ip, "64:ff9b::/96") {
		return ip, netip.AddrFrom4([4]byte(b[12:]))
	}
	return ip, ip
}

func within(ip netip.Addr, prefix string) bool { return netip.MustParsePrefix(prefix).Contains(ip) }
