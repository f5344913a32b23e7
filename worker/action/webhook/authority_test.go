package webhook

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// ask asks the authority at a URL for a token.
func ask(ctx context.Context, t *testing.T, base string, cfg outbound.Config) (*token, error) {
	t.Helper()
	client := outbound.NewClient(cfg)
	t.Cleanup(client.CloseIdle)
	a, err := newAuthority(base, client)
	if err != nil {
		t.Fatal(err)
	}
	return a.fetch(ctx, &job.Authentication{Tenant: "contoso.test", ClientID: "client&id", Audience: "https://a.test/?x", Secret: "s3cret+/=&"})
}

// answers returns the URL of an authority that answers all calls alike.
func answers(t *testing.T, status int, kind, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// AZURE §8: "client credentials with resource = audience against the authority
// of the tenant", in Azure AD's first version.
func TestCallForAToken(t *testing.T) {
	var got *http.Request
	var form url.Values
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		got, form = r, r.PostForm
		io.WriteString(w, `{"token_type":"Bearer","expires_in":"3599","ext_expires_in":"3599","expires_on":"1700000000","access_token":"tok"}`)
	}))
	defer s.Close()
	began := time.Now()
	tok, err := ask(t.Context(), t, s.URL+"/adfs/", outbound.Config{})
	if err != nil || tok.value != "tok" {
		t.Fatalf("got %+v, %v", tok, err)
	}
	if life := tok.endsAt.Sub(began); life < 3500*time.Second || life > 3599*time.Second {
		t.Errorf("lives for %v", life)
	}
	if got.Method != http.MethodPost || got.URL.Path != "/adfs/contoso.test/oauth2/token" || got.Header.Get("Authorization") != "" {
		t.Errorf("got %s %s %v", got.Method, got.URL, got.Header)
	}
	want := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {"client&id"}, "client_secret": {"s3cret+/=&"}, "resource": {"https://a.test/?x"},
	}
	if diff := cmp.Diff(want, form); diff != "" {
		t.Error(diff)
	}
}

// An answer that lies about the token's life, or says nothing, is bounded.
func TestLifeAsTheAuthorityTellsIt(t *testing.T) {
	for said, want := range map[string]time.Duration{
		`3600`: time.Hour, `"3600"`: time.Hour, `3600.9`: time.Hour, `3.6e3`: time.Hour,
		`null`: unsaidLife, `"soon"`: unsaidLife, `""`: unsaidLife, `{}`: unsaidLife, `true`: unsaidLife, `[60]`: unsaidLife,
		`0`: minLife, `-5`: minLife, `"-5"`: minLife, `-1e300`: minLife, `1`: minLife, `60`: time.Minute,
		`1e300`: maxLife, `99999999999999999999999999`: maxLife, `"99999999999999999999999999"`: maxLife, `1e999`: maxLife, `31536000`: maxLife,
	} {
		began := time.Now()
		tok, err := ask(t.Context(), t, answers(t, 200, "application/json", `{"access_token":"tok","expires_in":`+said+`}`), outbound.Config{})
		if err != nil {
			t.Errorf("%s: %v", said, err)
			continue
		}
		least := newToken("", want-time.Second, began) // x/oauth2 counts from when it has read the answer
		most := newToken("", want, time.Now())
		if tok.endsAt.Before(least.endsAt) || tok.endsAt.After(most.endsAt) || tok.renewAt.Before(least.renewAt) || tok.renewAt.After(most.renewAt) {
			t.Errorf("%s: used for %v, want %v", said, tok.endsAt.Sub(began), want)
		}
	}
	tok, err := ask(t.Context(), t, answers(t, 200, "text/plain", ` {"access_token":"tok"} `), outbound.Config{})
	if err != nil || tok.value != "tok" {
		t.Errorf("another type: %+v, %v", tok, err)
	}
}

// Of what the authority says only codes are told, and only those that look so.
func TestWhyThereIsNoToken(t *testing.T) {
	const frame, refused = "ActiveDirectoryOAuth No token was had: ", "ActiveDirectoryOAuth The token was refused by the authority: "
	for name, c := range map[string]struct {
		status     int
		kind, body string
		want       string
	}{
		"wrong secret": {
			401, "application/json; charset=utf-8",
			`{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided: s3cret. Trace ID: 1","error_codes":[7000215]}`,
			refused + "invalid_client (AADSTS7000215).",
		},
		"code alone":         {400, "application/json", `{"error":"unauthorized_client"}`, refused + "unauthorized_client."},
		"refused with 200":   {200, "application/json", `{"error":"invalid_resource","access_token":"x"}`, refused + "invalid_resource."},
		"number in a word":   {400, "application/json", `{"error":"invalid_client","error_description":"xAADSTS12"}`, refused + "invalid_client."},
		"number too long":    {400, "application/json", `{"error":"invalid_client","error_description":"AADSTS1234567890123"}`, refused + "invalid_client."},
		"code is a text":     {400, "application/json", `{"error":"the s3cret was wrong"}`, frame + "the authority's answer is no token (400)."},
		"code is the secret": {400, "application/json", `{"error":"s3cret+/=&"}`, frame + "the authority's answer is no token (400)."},
		"code is no text":    {400, "application/json", `{"error":{"s3cret":1}}`, frame + "the authority's answer is no token (400)."},
		"code is long":       {400, "application/json", `{"error":"` + strings.Repeat("x", 99) + `"}`, frame + "the authority's answer is no token (400)."},
		"error as a form":    {400, "application/x-www-form-urlencoded", `error=s3cret`, frame + "the authority's answer is no token (400)."},
		"token as a form":    {200, "application/x-www-form-urlencoded", `access_token=s3cret`, frame + "the authority's answer is no token."},
		"HTML":               {200, "text/html", `<html>s3cret</html>`, frame + "the authority's answer is no token."},
		"HTML, an error":     {502, "text/html", `<html>s3cret</html>`, frame + "the authority's answer is no token (502)."},
		"nothing":            {200, "application/json", ``, frame + "the authority's answer is no token."},
		"a list":             {200, "application/json", `["s3cret"]`, frame + "the authority's answer is no token."},
		"null":               {200, "application/json", `null`, frame + "the authority's answer is no token."},
		"no token in it":     {200, "application/json", `{"id_token":"s3cret"}`, frame + "the authority's answer is no token."},
		"token of a number":  {200, "application/json", `{"access_token":5}`, frame + "the authority's answer is no token."},
		"token in lines":     {200, "application/json", `{"access_token":"s3\r\ncret"}`, frame + "the authority's answer is no token."},
		"token beyond ASCII": {200, "application/json", `{"access_token":"größe"}`, frame + "the authority's answer is no token."},
		"another kind":       {200, "application/json", `{"access_token":"s3cret","token_type":"pop"}`, frame + "the authority's answer is no token."},
		"too long":           {200, "application/json", `{"access_token":"s3cret","x":"` + strings.Repeat("x", maxAnswer) + `"}`, frame + "the authority's answer is no token."},
		"endless":            {200, "application/json", strings.Repeat(" ", 8<<20), frame + "the authority's answer is no token."},
		"a redirect":         {302, "text/html", `{}`, frame + "the authority's answer is no token (302)."},
		"a lasting redirect": {307, "text/html", `<html>`, frame + "the authority's answer is no token (307)."},
	} {
		tok, err := ask(t.Context(), t, answers(t, c.status, c.kind, c.body), outbound.Config{})
		if _, ok := errors.AsType[refusalError](err); !ok || tok != nil || err.Error() != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", name, err, c.want)
		}
	}
}

func TestAuthorityThatCannotBeReached(t *testing.T) {
	const frame = "ActiveDirectoryOAuth No token was had: "
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.Config.ErrorLog, old.TLS = untrusted.Config.ErrorLog, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	old.StartTLS()
	defer old.Close()
	guard, err := outbound.NewGuard(nil, []string{"127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	guarded := outbound.Config{Network: outbound.NewNetwork(outbound.NetworkConfig{Guard: guard})}
	for name, c := range map[string]struct {
		base string
		cfg  outbound.Config
		want string
	}{
		"nobody":    {"http://127.0.0.1:1", outbound.Config{}, "the authority cannot be reached: ConnectFailure Unable to connect to the remote server."},
		"no name":   {"https://login.invalid", outbound.Config{}, "the authority cannot be reached: NameResolutionFailure The remote name could not be resolved: 'login.invalid'."},
		"untrusted": {untrusted.URL, outbound.Config{}, "the authority cannot be reached: TrustFailure The underlying connection was closed: Could not establish trust relationship for the SSL/TLS secure channel."},
		"old TLS":   {old.URL, outbound.Config{}, "the authority cannot be reached: SecureChannelFailure The request was aborted: Could not create SSL/TLS secure channel."},
		"guarded":   {"http://127.0.0.1:1", guarded, "the authority cannot be reached: ConnectFailure Unable to connect to the remote server: the operator of this Carillon does not allow calls to this host, address or port."},
		"metadata":  {"https://169.254.169.254", outbound.Config{}, "the authority cannot be reached: ConnectFailure Unable to connect to the remote server: the address is link-local, of a cloud's metadata service, or not of one host: these are never called."},
	} {
		if tok, err := ask(t.Context(), t, c.base, c.cfg); err == nil || tok != nil || err.Error() != frame+c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", name, err, frame+c.want)
		}
	}
}

// silent returns the URL of an authority that takes a call and says no more.
func silent(t *testing.T, first string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, first)
			io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String()
}

func TestAuthorityThatHangs(t *testing.T) {
	for name, base := range map[string]string{
		"says nothing":        silent(t, ""),
		"stops in its answer": silent(t, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"),
	} {
		// As the client's own timeout ends it, and as that of a fetch does.
		for _, timeout := range []time.Duration{100 * time.Millisecond, time.Minute} {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errSlow)
			if _, err := ask(ctx, t, base, outbound.Config{Timeout: timeout}); !errors.Is(err, errNoAnswer) {
				t.Errorf("%s, %v: %v", name, timeout, err)
			}
			cancel()
		}
	}
}

func TestTenantsThatAreNoPartOfAURL(t *testing.T) {
	client := outbound.NewClient(outbound.Config{})
	a, err := newAuthority("http://127.0.0.1:1", client)
	if err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []string{"", ".", "..", "a/b", `a\b`, "a?b", "a#b", "a%2fb"} {
		if _, err := a.fetch(t.Context(), &job.Authentication{Tenant: tenant}); err == nil || !strings.Contains(err.Error(), "the job's tenant is not valid") {
			t.Errorf("%q: %v", tenant, err)
		}
	}
}

func TestAuthoritiesThatNewRefuses(t *testing.T) {
	client := outbound.NewClient(outbound.Config{})
	for base, want := range map[string]string{
		"http://login.test": "https://", "http://127.0.0.1.test": "https://", "ftp://127.0.0.1": "https://", "http://10.0.0.1": "https://",
		"login.test": "must be a URL", "https://": "must be a URL", "https://u:p@login.test": "must be a URL",
		"https://login.test/?x": "must be a URL", "https://login.test/#x": "must be a URL", "://": "must be a URL",
	} {
		if _, err := New(Config{Client: client, Agent: "a", Authority: base}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", base, err)
		}
	}
	for _, base := range []string{"", "https://login.microsoftonline.us", "https://login.test/", "https://h.test:8443/adfs", "http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1"} {
		a, err := New(Config{Client: client, Agent: "a", Authority: base})
		if err != nil {
			t.Errorf("%s: %v", base, err)
			continue
		}
		a.Close()
	}
	for _, cfg := range []Config{{}, {Client: client}, {Agent: "a"}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v passes", cfg)
		}
	}
}
