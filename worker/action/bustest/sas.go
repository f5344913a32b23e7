package bustest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// authorize checks a shared access signature (Azure documentation: Service Bus
// access control with Shared Access Signatures): that it is for the audience,
// still valid, and made with one of the keys. It returns the path that the
// audience names.
func authorize(keys map[string]string, audience, token string, now time.Time) (path string, err error) {
	list, ok := strings.CutPrefix(token, "SharedAccessSignature ")
	if !ok {
		return "", errors.New("no shared access signature")
	}
	fields := map[string]string{}
	for part := range strings.SplitSeq(list, "&") {
		name, value, _ := strings.Cut(part, "=")
		fields[name] = value
	}
	resource, err := url.QueryUnescape(fields["sr"])
	if err != nil || !strings.EqualFold(resource, audience) {
		return "", errors.New("the signature is for something else")
	}
	expiry, err := strconv.ParseInt(fields["se"], 10, 64)
	if err != nil || now.Unix() >= expiry {
		return "", errors.New("the signature has expired")
	}
	key, ok := keys[fields["skn"]]
	if !ok {
		return "", errors.New("no key has this name")
	}
	// The key is used as it is written; that it looks like base64 has no meaning.
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "%s\n%s", fields["sr"], fields["se"])
	got, err := url.QueryUnescape(fields["sig"])
	if err != nil || got != base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
		return "", errors.New("the signature is not that of the key")
	}
	_, rest, _ := strings.Cut(audience, "://")
	_, path, _ = strings.Cut(rest, "/")
	return path, nil
}
