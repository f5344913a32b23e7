package storagequeue_test

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

const (
	account = "acc0unt"
	// sig is what makes a token a secret. It has all that URLs escape.
	sig    = "Kq7+s3cretSignature/0123456789abcdefghijklmn="
	future = "2100-01-01T00:00:00Z"
)

// token returns a SAS token as the portal gives it, but for the "?".
func token() string {
	return "sv=2026-04-06&sp=a&se=" + url.QueryEscape(future) + "&sig=" + url.QueryEscape(sig)
}

// A peer is a queue service that knows one account and one token. It has every
// queue but those that are called "missing".
type peer struct {
	URL string
	// Answer, if not nil, answers in place of the peer; it is set between calls.
	Answer http.HandlerFunc

	mu       sync.Mutex
	texts    []string
	requests []*http.Request
}

func newPeer(t testing.TB) *peer {
	t.Helper()
	p := new(peer)
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	p.URL = s.URL
	return p
}

func (p *peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r)
	if p.Answer != nil {
		p.Answer(w, r)
		return
	}
	var message struct {
		XMLName     xml.Name `xml:"QueueMessage"`
		MessageText string
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.Method != http.MethodPost || len(parts) != 3 || parts[2] != "messages":
		refuse(w, http.StatusBadRequest, "InvalidUri")
	case parts[0] != account || r.URL.Query().Get("sig") != sig || !r.URL.Query().Has("sv"):
		refuse(w, http.StatusForbidden, "AuthenticationFailed")
	case parts[1] == "missing":
		refuse(w, http.StatusNotFound, "QueueNotFound")
	case xml.Unmarshal(body, &message) != nil:
		refuse(w, http.StatusBadRequest, "InvalidXmlDocument")
	default:
		p.texts = append(p.texts, message.MessageText)
		accept(w)
	}
}

func accept(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusCreated)
	io.WriteString(w, `<?xml version="1.0" encoding="utf-8"?><QueueMessagesList><QueueMessage><MessageId>1</MessageId>`+
		`<InsertionTime>Mon, 02 Mar 2026 12:00:00 GMT</InsertionTime><ExpirationTime>Mon, 09 Mar 2026 12:00:00 GMT</ExpirationTime>`+
		`<PopReceipt>r</PopReceipt><TimeNextVisible>Mon, 02 Mar 2026 12:00:00 GMT</TimeNextVisible></QueueMessage></QueueMessagesList>`)
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("x-ms-error-code", code)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="utf-8"?><Error><Code>%s</Code><Message>Details of %s.</Message></Error>`, code, code)
}

func (p *peer) delivered() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.texts)
}

// seen counts the requests.
func (p *peer) seen() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.requests)
}

// last returns the last request and text.
func (p *peer) last() (r *http.Request, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.texts) > 0 {
		text = p.texts[len(p.texts)-1]
	}
	return p.requests[len(p.requests)-1], text
}

// raw listens, reads a request on each connection, and says text; then it closes
// the connection, or if text is empty holds it.
func raw(t testing.TB, text string) (endpoint string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				if text == "" {
					io.Copy(io.Discard, c)
					return
				}
				if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					io.Copy(io.Discard, r.Body)
				}
				io.WriteString(c, text)
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return "http://" + l.Addr().String() + "/{account}"
}
