package outbound

import (
	"net/netip"
	"testing"
)

func TestNever(t *testing.T) {
	for _, text := range []string{
		metadata, "169.254.0.1", "fe80::1", "fe80::a9fe:a9fe%eth0", "febf::1",
		"0.0.0.0", "0.1.2.3", "::", "255.255.255.255", "224.0.0.1", "239.1.1.1", "ff02::1", "ff0e::1",
		"100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42",
		// In other words.
		"::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "::ffff:100.100.100.200", "::ffff:0.0.0.0",
		"::ffff:0:a9fe:a9fe", "::a9fe:a9fe", "::6464:64c8",
		"64:ff9b::a9fe:a9fe", "64:ff9b::169.254.169.254",
		"64:ff9b:1::a9fe:a9fe", "64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1:12a9:fe:a9fe::", "64:ff9b:1:1234:a9:fea9:fe00:0",
		"2002:a9fe:a9fe::1", "2002:a9fe:a9fe:1234:5678::1",
		"2001:0:a9fe:a9fe::1", "2001:0:4136:e378:8000:63bf:5601:5601",
		"2001:db8::5efe:a9fe:a9fe", "2001:db8::200:5efe:a9fe:a9fe", "2002:808:808::5efe:a9fe:a9fe",
	} {
		if got := verdict(t, new(Guard), "h.test", "80", text); got != "never" {
			t.Errorf("%s: %q", text, got)
		}
	}
	for _, text := range []string{
		"127.0.0.1", "::1", "10.0.0.1", "8.8.8.8", "169.253.255.255", "169.255.0.1", "1.0.0.0", "192.0.0.191",
		"2606:4700::1111", "fd00::1", "fec0::1", "64:ff9b::8.8.8.8", "2002:808:808::1", "::ffff:127.0.0.1",
		"2001:db8:5efe:a9fe:a9fe::1", "2001:db8::1:5efe:a9fe:a9fe",
	} {
		if got := verdict(t, new(Guard), "h.test", "80", text); got != "" {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// FuzzJudge writes addresses that are never called into every form that can
// carry them, between bytes of any value, and asks guards of any lists.
func FuzzJudge(f *testing.F) {
	f.Add(uint8(0), uint8(0), make([]byte, 16), "*", "h:80")
	f.Add(uint8(5), uint8(2), []byte("0123456789abcdef"), "0.0.0.0/0", "169.254.169.254:80")
	f.Add(uint8(12), uint8(1), []byte("0123456789abcdef"), "::/0", "[::1]:443")
	f.Fuzz(func(t *testing.T, form, which uint8, fill []byte, allow, target string) {
		var b [16]byte
		copy(b[:], fill)
		v4 := [][4]byte{{169, 254, 169, 254}, {169, 254, 170, 2}, {100, 100, 100, 200}, {168, 63, 129, 16}, {0, 0, 0, 0}, {224, 0, 0, 1}}[which%6]
		put := func(at int, bytes ...byte) { copy(b[at:], bytes) }
		prefix := func(text string) { p := netip.MustParsePrefix(text); a := p.Addr().As16(); copy(b[:p.Bits()/8], a[:]) }
		ip := netip.AddrFrom4(v4)
		switch form % 14 {
		case 1:
			prefix("::ffff:0:0/96")
			put(12, v4[:]...)
		case 2:
			prefix("::ffff:0:0:0/96")
			put(12, v4[:]...)
		case 3:
			prefix("64:ff9b::/96")
			put(12, v4[:]...)
		case 4:
			prefix("64:ff9b:1::/48")
			put(12, v4[:]...)
		case 5:
			prefix("64:ff9b:1::/48")
			put(6, v4[:2]...)
			put(9, v4[2:]...)
		case 6:
			prefix("64:ff9b:1::/48")
			put(7, v4[0])
			put(9, v4[1:]...)
		case 7:
			prefix("64:ff9b:1::/48")
			put(9, v4[:]...)
		case 8:
			prefix("2002::/16")
			put(2, v4[:]...)
		case 9:
			prefix("2001::/32")
			put(4, v4[:]...)
		case 10:
			prefix("2001::/32")
			put(12, ^v4[0], ^v4[1], ^v4[2], ^v4[3])
		case 11:
			put(8, 0, 0, 0x5e, 0xfe)
			put(12, v4[:]...)
		case 12:
			put(8, 2, 0, 0x5e, 0xfe)
			put(12, v4[:]...)
		case 13:
			prefix("fe80::/16")
		}
		if form%14 != 0 {
			ip = netip.AddrFrom16(b)
		}
		g, err := NewGuard([]string{"*", "0.0.0.0/0", "::/0", allow}, nil)
		if err != nil {
			if g, err = NewGuard([]string{"*"}, nil); err != nil {
				t.Fatal(err)
			}
		}
		judge, err := g.judge(target)
		if err != nil {
			return
		}
		if judge(netip.AddrPortFrom(ip, 80).String()) == nil {
			t.Errorf("%s passes", ip)
		}
	})
}
