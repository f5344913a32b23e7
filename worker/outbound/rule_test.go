package outbound

import (
	"strings"
	"testing"
)

func TestBadEntriesAreRefusedInWords(t *testing.T) {
	for entry, want := range map[string]string{
		"": "no host name", " ": "no host name", ":80": "no host name", ".": "no host name",
		"http://h.test":    "is a URL",
		"https://h.test/x": "is a URL",
		"h.test/x":         "no CIDR", "10.0.0.0/33": "no CIDR", "fd00::/129": "no CIDR", "10.0.0/8": "no CIDR", "::ffff:0.0.0.0/80": "no CIDR",
		"h.test:": "a port is", "h.test:http": "a port is", "h.test:65536": "a port is", "h.test:-1": "a port is",
		"h.test:90-80": "a port is", "h.test:80-": "a port is", "h.test:1-2-3": "a port is", "[::1]:x": "a port is",
		"fd00::/8:443": "no CIDR", "[fd00::/8": "no host name", "::1]": "no host name", "::1]:80": "no host name", "[h.test]": "no host name",
		"fe80::1%eth0": "no host name",
		"*h.test":      "a star stands", "h.*.test": "a star stands", "*.*": "a star stands", "**": "a star stands",
		"*.":         "no host name",
		".h.test":    "no host name",
		"h..test":    "no host name",
		"u@h.test":   "no host name",
		"h test":     "no host name",
		"größe.test": "no host name",
		"h.test,x":   "no host name",
		"10.0.0":     "no host name", "10.0.0.256": "no host name", "0x7f000001": "no host name", "127.1": "no host name", "010.0.0.1": "no host name", "127.0.0.0x1": "no host name", "08": "no host name",
	} {
		for _, list := range []string{"allow", "deny"} {
			lists := map[string][]string{list: {"ok.test", entry}}
			g, err := NewGuard(lists["allow"], lists["deny"])
			if err == nil || g != nil || !strings.HasPrefix(err.Error(), list+` "`) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %q: %v", list, entry, err)
			}
		}
	}
}

func TestGoodEntries(t *testing.T) {
	for _, entry := range []string{
		"h", "h.test", "H.test.", " h.test ", "*.h.test", "*", "*:443", "h.test:0", "h.test:80-80", "xn--gre-6ka8i.test", "a_b.test", "3com.test", "1.h", "h.test:1-65535",
		"10.0.0.1", "10.0.0.1:80", "10.0.0.0/8:80", "0.0.0.0/0", "::1", "[::1]", "[::1]:80", "fd00::/8", "[fd00::/8]", "[fd00::/8]:1-2", "::/0",
	} {
		if _, err := NewGuard([]string{entry}, []string{entry}); err != nil {
			t.Errorf("%q: %v", entry, err)
		}
	}
}

func FuzzParseRule(f *testing.F) {
	for _, entry := range []string{"h.test:80", "*.h.test", "[fd00::/8]:1-2", "10.0.0.0/8", "::ffff:10.0.0.0/104", "*"} {
		f.Add(entry)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		r, err := parseRule(entry)
		if err != nil {
			return
		}
		if (r.name != "") == r.prefix.IsValid() || r.min > r.max {
			t.Errorf("%q: %+v", entry, r)
		}
		if r.name != "" && !strings.HasPrefix(r.name, "*") && !matchesName([]rule{r}, r.name, r.min) {
			t.Errorf("%q does not match its own name", entry)
		}
		if r.prefix.IsValid() && !matchesAddress([]rule{r}, r.prefix.Addr(), r.max) {
			t.Errorf("%q does not match its own address", entry)
		}
	})
}
