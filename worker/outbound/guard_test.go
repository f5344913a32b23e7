package outbound

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// metadata is where most clouds serve what a machine may do.
const metadata = "169.254.169.254"

// refused asserts that the guard is why a call failed, and what history says.
func refused(t *testing.T, what string, err error, always bool) {
	t.Helper()
	e, ok := errors.AsType[*RefusedError](err)
	if !ok || e.Always != always {
		t.Errorf("%s: %v", what, err)
		return
	}
	reason := Reason(t.Context(), err)
	want := "ConnectFailure Unable to connect to the remote server: " + e.Error() + "."
	if reason != want || strings.Contains(reason, "169.254") || strings.Contains(reason, "a9fe") || strings.Contains(reason, "127.0.0") {
		t.Errorf("%s: reason %q", what, reason)
	}
}

// Our decision: no worker calls a cloud's metadata service, however its address
// is written, and whatever the operator allows.
func TestMetadataIsNeverCalled(t *testing.T) {
	redirecting := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+r.URL.Query().Get("to")+"/latest", http.StatusTemporaryRedirect)
	})
	names := map[string][]string{
		"meta.test": {metadata}, "meta6.test": {"fd00:ec2::254"}, "mapped.test": {"::ffff:" + metadata},
		"all.test":   {metadata, "169.254.170.2"},
		"0xa9fea9fe": {metadata}, "0xa9.0xfe.0xa9.0xfe": {metadata}, // as getaddrinfo takes numbers
	}
	everything, err := NewGuard([]string{"*", "0.0.0.0/0", "::/0", metadata}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, guard := range map[string]*Guard{"no lists": nil, "all allowed": everything} {
		c := newClient(t, Config{Network: NewNetwork(NetworkConfig{Guard: guard, Resolver: resolver(names)})})
		for _, host := range []string{
			metadata, metadata + ":8080", "169.254.170.2", "[::ffff:" + metadata + "]", "[::ffff:a9fe:a9fe]", "0.0.0.0",
			"meta.test", "META.test.", "mapped.test", "all.test", "0xA9FEA9FE", "0xA9.0xFE.0xA9.0xFE",
			strings.TrimPrefix(redirecting.URL, "http://") + "/?to=" + metadata,
			strings.TrimPrefix(redirecting.URL, "http://") + "/?to=meta.test",
		} {
			_, err := c.Do(newRequest(t, "GET", "http://"+host, ""))
			refused(t, name+", "+host, err, true)
		}
		_, err := c.Do(newRequest(t, "GET", "https://meta.test", ""))
		refused(t, name+", TLS", err, true)
		_, err = c.HTTP().Do(newRequest(t, "GET", "http://meta.test", "")) //nolint:bodyclose // there is no answer
		refused(t, name+", a library's call", err, true)
	}
}

// Go looks up no name that is made of digits and dots; where a number has letters
// its resolver, unlike getaddrinfo, finds nothing.
func TestNumbersAreNoWayAround(t *testing.T) {
	c := newClient(t, Config{Network: NewNetwork(NetworkConfig{Resolver: resolver(nil)})})
	for _, host := range []string{"2852039166", "0xA9FEA9FE", "0251.0376.0251.0376", "169.254.43518"} {
		if resp, err := c.Do(newRequest(t, "GET", "http://"+host, "")); err == nil {
			t.Errorf("%s: %v", host, resp)
		}
	}
}

// Of a name's addresses those that are refused are passed over.
func TestOneOfSeveralAddressesIsRefused(t *testing.T) {
	s := newServer(t, func(http.ResponseWriter, *http.Request) {})
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	names := resolver(map[string][]string{"mixed.test": {metadata, "127.0.0.2", "127.0.0.1"}})
	for _, c := range []struct {
		deny []string
		want bool
	}{{nil, true}, {[]string{"127.0.0.2"}, true}, {[]string{"127.0.0.0/8"}, false}} {
		guard, err := NewGuard(nil, c.deny)
		if err != nil {
			t.Fatal(err)
		}
		n := NewNetwork(NetworkConfig{Guard: guard, Resolver: names})
		conn, err := n.Dial(t.Context(), "tcp", "mixed.test:"+port)
		if c.want != (err == nil) {
			t.Fatalf("deny %v: %v", c.deny, err)
		}
		if err == nil {
			if got := conn.RemoteAddr().String(); got != "127.0.0.1:"+port {
				t.Errorf("deny %v: connected to %s", c.deny, got)
			}
			conn.Close()
		}
	}
}

// A name that is allowed is no way to an address that is denied, and one that
// leads to another address at the next look is judged at that look.
func TestAddressesAreJudgedAsTheyAreDialled(t *testing.T) {
	s := newServer(t, func(http.ResponseWriter, *http.Request) {})
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	names := map[string][]string{"turn.test": {"127.0.0.1"}}
	guard, err := NewGuard([]string{"turn.test"}, []string{"127.0.0.9"})
	if err != nil {
		t.Fatal(err)
	}
	n := NewNetwork(NetworkConfig{Guard: guard, Resolver: resolver(names)})
	conn, err := n.Dial(t.Context(), "tcp", "turn.test:"+port)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	names["turn.test"] = []string{"127.0.0.9"}
	_, err = n.Dial(t.Context(), "tcp", "turn.test:"+port)
	refused(t, "denied address", err, false)
	names["turn.test"] = []string{metadata}
	_, err = n.Dial(t.Context(), "tcp", "turn.test:"+port)
	refused(t, "metadata", err, true)
}

// verdict dials as far as the guard: "" if it lets pass, else who refuses.
func verdict(t *testing.T, g *Guard, host, port, ip string) string {
	t.Helper()
	judge, err := g.judge(net.JoinHostPort(host, port))
	if err == nil {
		err = judge(net.JoinHostPort(ip, port))
	}
	e, ok := errors.AsType[*RefusedError](err)
	switch {
	case err == nil:
		return ""
	case !ok:
		t.Fatalf("%s, %s: %v", host, ip, err)
		return ""
	case e.Always:
		return "never"
	}
	return "operator"
}

func TestLists(t *testing.T) {
	for _, c := range []struct {
		allow, deny    string
		host, port, ip string
		want           string
	}{
		{"", "", "h.test", "80", "10.0.0.1", ""},
		{"", "", "localhost", "80", "::1", ""},
		// By name.
		{"", "h.test", "h.test", "80", "10.0.0.1", "operator"},
		{"", "H.Test.", "h.TEST.", "80", "10.0.0.1", "operator"},
		{"", "h.test", "x.h.test", "80", "10.0.0.1", ""},
		{"", "*.h.test", "x.y.h.test", "80", "10.0.0.1", "operator"},
		{"", "*.h.test", "h.test", "80", "10.0.0.1", ""},
		{"", "*.h.test", "oh.test", "80", "10.0.0.1", ""},
		{"", "*", "h.test", "80", "10.0.0.1", "operator"},
		{"h.test", "", "h.test", "80", "10.0.0.1", ""},
		{"h.test", "", "other.test", "80", "10.0.0.1", "operator"},
		{"*", "", "other.test", "80", "10.0.0.1", ""},
		// By address.
		{"", "10.0.0.0/8", "h.test", "80", "10.200.0.1", "operator"},
		{"", "10.9.9.9/8", "h.test", "80", "10.200.0.1", "operator"},
		{"", "10.0.0.1", "10.0.0.1", "80", "10.0.0.1", "operator"},
		{"", "10.0.0.1", "h.test", "80", "10.0.0.2", ""},
		{"", "fd00::/8", "h.test", "80", "fd12::1", "operator"},
		{"", "[fd00::1]", "h.test", "80", "fd00::1", "operator"},
		{"", "fd00::1", "h.test", "80", "fd00::1%eth0", "operator"},
		{"10.0.0.0/8", "", "h.test", "80", "10.200.0.1", ""},
		{"10.0.0.0/8", "", "h.test", "80", "192.168.0.1", "operator"},
		{"10.0.0.0/8 h.test", "", "h.test", "80", "192.168.0.1", ""},
		// By port.
		{"", "h.test:22", "h.test", "22", "10.0.0.1", "operator"},
		{"", "h.test:22", "h.test", "80", "10.0.0.1", ""},
		{"", "10.0.0.0/8:8000-8999", "h.test", "8500", "10.0.0.1", "operator"},
		{"", "10.0.0.0/8:8000-8999", "h.test", "9000", "10.0.0.1", ""},
		{"", "[fd00::/8]:443", "h.test", "443", "fd00::1", "operator"},
		{"", "[fd00::1]:443", "h.test", "80", "fd00::1", ""},
		{"*:443 *:80", "", "h.test", "443", "10.0.0.1", ""},
		{"*:443 *:80", "", "h.test", "8080", "10.0.0.1", "operator"},
		// deny outweighs allow.
		{"h.test", "10.0.0.0/8", "h.test", "80", "10.0.0.1", "operator"},
		{"10.0.0.1", "h.test", "h.test", "80", "10.0.0.1", "operator"},
		{"10.0.0.1", "10.0.0.0/8", "h.test", "80", "10.0.0.1", "operator"},
		{metadata, "", "h.test", "80", metadata, "never"},
		// IPv4 in IPv6.
		{"", "10.0.0.0/8", "h.test", "80", "::ffff:10.0.0.1", "operator"},
		{"", "::ffff:10.0.0.0/104", "h.test", "80", "10.0.0.1", "operator"},
		{"", "::ffff:10.0.0.1", "h.test", "80", "10.0.0.1", "operator"},
		{"", "10.0.0.0/8", "h.test", "80", "64:ff9b::10.0.0.1", "operator"},
		{"", "10.0.0.0/8", "h.test", "80", "2002:a00:1::1", "operator"},
		{"", "10.0.0.0/8", "h.test", "80", "2001:db8::5efe:a00:1", "operator"},
		{"10.0.0.0/8", "", "h.test", "80", "::ffff:10.0.0.1", ""},
		{"10.0.0.0/8", "", "h.test", "80", "64:ff9b::10.0.0.1", ""},
		{"64:ff9b::/96", "", "h.test", "80", "64:ff9b::10.0.0.1", ""},
		// Whoever owns 2001:db8::/32 may write any IPv4 address behind it.
		{"10.0.0.0/8", "", "h.test", "80", "2001:db8::5efe:a00:1", "operator"},
		{"10.0.0.0/8", "", "h.test", "80", "2002:a00:1::1", "operator"},
	} {
		g, err := NewGuard(strings.Fields(c.allow), strings.Fields(c.deny))
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if got := verdict(t, g, c.host, c.port, c.ip); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

func TestJudgeRefusesWhatIsNoAddress(t *testing.T) {
	for _, address := range []string{"", "h", "h:", "h:http", "h:65536", "h:-1", "[::1", "::1:80"} {
		if _, err := new(Guard).judge(address); err == nil {
			t.Errorf("%q passes", address)
		}
	}
	judge, err := new(Guard).judge("h:80")
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"", ":80", "h:80", "10.0.0.1", netip.AddrPort{}.String()} {
		if judge(address) == nil {
			t.Errorf("%q passes", address)
		}
	}
}
