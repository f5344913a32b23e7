package bustest

import (
	"strings"
	"testing"
	"time"
)

// The signatures were made with openssl: printf '%s\n%s' "$sr" "$se" | openssl dgst -sha256 -hmac "$key" -binary | base64.
func TestSignatures(t *testing.T) {
	keys := map[string]string{"Root": "not base64!"}
	now := time.Unix(1_900_000_000, 0)
	const (
		audience = "amqps://ns.servicebus.windows.net/Topics/orders"
		sr       = "amqps%3a%2f%2fns.servicebus.windows.net%2ftopics%2forders"
		sig      = "STJ42cCMeAh0Oey%2BmaLiJkvbxwKGK%2FNOAE7Vp%2F49dkE%3D"
		good     = "SharedAccessSignature sr=" + sr + "&sig=" + sig + "&se=1900000100&skn=Root"
	)
	if path, err := authorize(keys, audience, good, now); err != nil || path != "Topics/orders" {
		t.Errorf("path %q, %v", path, err)
	}
	for _, test := range []struct {
		name, audience, token string
		now                   time.Time
	}{
		{"another key's", audience, strings.Replace(good, sig, "AAAA", 1), now},
		{"another name", audience, strings.Replace(good, "skn=Root", "skn=Other", 1), now},
		{"another audience", audience + "2", good, now},
		{"another resource", audience + "2", strings.Replace(good, sr, sr+"2", 1), now},
		{"expired", audience, good, now.Add(100 * time.Second)},
		{"expiry changed", audience, strings.Replace(good, "1900000100", "1900000101", 1), now},
		{"no signature", audience, "", now},
		{"another scheme", audience, "Bearer x", now},
	} {
		if _, err := authorize(keys, test.audience, test.token, test.now); err == nil {
			t.Errorf("%s: accepted", test.name)
		}
	}
}
