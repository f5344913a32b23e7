package outbound

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// flood answers each request with head and then repeats piece until the other
// end hangs up. It returns the URL and, when that happened, how much was sent.
func flood(t *testing.T, head, piece string) (uri string, sent chan int) {
	t.Helper()
	sent = make(chan int, 1)
	return "http://" + newListener(t, func(_ int, c net.Conn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err != nil {
			return
		}
		c.(*net.TCPConn).SetWriteBuffer(16 << 10)
		total := 0
		for text := head; ; text = piece {
			n, err := io.WriteString(c, text)
			if total += n; err != nil {
				break
			}
		}
		sent <- total
	}), sent
}

// What never ends is read only so far.
func TestEndlessAnswers(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	chunk := "4000\r\n" + strings.Repeat("x", 0x4000) + "\r\n"
	for name, c := range map[string]struct {
		head, piece string
		want        error // nil: an answer
	}{
		"10 GB":                   {ok + "Content-Length: 10737418240\r\n\r\n", chunk, nil},
		"chunks":                  {ok + "Transfer-Encoding: chunked\r\n\r\n", chunk, nil},
		"no length":               {ok + "\r\n", chunk, nil},
		"header lines":            {ok, "X-Flood: x\r\n", ErrHeaderTooLarge},
		"one header line":         {ok + "X-Flood: ", strings.Repeat("x", 1<<10), ErrHeaderTooLarge},
		"a status line":           {"HTTP/1.1 200 ", strings.Repeat("x", 1<<10), ErrHeaderTooLarge},
		"interim answers":         {"", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", ErrHeaderTooLarge},
		"extensions of one chunk": {ok + "Transfer-Encoding: chunked\r\n\r\n4;", strings.Repeat("x", 1<<10), ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			uri, sent := flood(t, c.head, c.piece)
			resp, err := newClient(t, Config{Timeout: 20 * time.Second}).Do(newRequest(t, "GET", uri, ""))
			switch {
			case c.want != nil && !errors.Is(err, c.want), c.want == nil && err != nil:
				t.Errorf("got %v, %v", resp, err)
			case c.want == nil && len(resp.Body) != MaxBody:
				t.Errorf("kept %d bytes", len(resp.Body))
			}
			if n := <-sent; n > 20<<20 { // what the sockets' buffers take
				t.Errorf("%d bytes were sent", n)
			}
		})
	}
}

// Trailers come behind a body of which all was read.
func TestEndlessTrailers(t *testing.T) {
	uri, sent := flood(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", "X-Flood: x\r\n")
	resp, err := newClient(t, Config{Timeout: 20 * time.Second}).Do(newRequest(t, "GET", uri, ""))
	if err == nil && string(resp.Body) != "x" {
		t.Errorf("got %q", resp.Body)
	}
	if n := <-sent; n > 20<<20 {
		t.Errorf("%d bytes were sent", n)
	}
}

// The client neither asks for compression nor undoes it: what unfolds to 1 GB
// remains as small as it came.
func TestCompressedAnswersStayCompressed(t *testing.T) {
	var bomb bytes.Buffer
	z, _ := gzip.NewWriterLevel(&bomb, gzip.BestCompression)
	for zeros := make([]byte, 1<<20); bomb.Len() < 2*MaxBody; {
		z.Write(zeros)
	}
	z.Close()
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Asked", fmt.Sprint(r.Header["Accept-Encoding"]))
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(bomb.Bytes())
	})
	for _, headers := range [][]string{nil, {"accept-encoding", "gzip"}, {"Accept-Encoding", "gzip"}} {
		resp, err := newClient(t, Config{}).Do(newRequest(t, "GET", s.URL, "", headers...))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(resp.Body, bomb.Bytes()[:MaxBody]) || resp.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%v: got %d other bytes", headers, len(resp.Body))
		}
		if headers == nil && resp.Header.Get("X-Asked") != "[]" {
			t.Errorf("asked for %s", resp.Header.Get("X-Asked"))
		}
	}
}

// The library's client is bounded in time, and sees redirects as answers.
func TestClientForLibraries(t *testing.T) {
	release := make(chan struct{})
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "/hang", http.StatusFound)
		case "/hang":
			<-release
		}
	})
	defer close(release)
	c := newClient(t, Config{Timeout: 100 * time.Millisecond})
	if c.Timeout() != 100*time.Millisecond {
		t.Errorf("timeout %v", c.Timeout())
	}
	resp, err := c.HTTP().Do(newRequest(t, "GET", s.URL+"/redirect", ""))
	if err != nil || resp.StatusCode != http.StatusFound {
		t.Fatalf("got %v, %v", resp, err)
	}
	resp.Body.Close()
	var late net.Error
	if _, err := c.HTTP().Do(newRequest(t, "GET", s.URL+"/hang", "")); !errors.As(err, &late) || !late.Timeout() { //nolint:bodyclose // there is no answer
		t.Errorf("got %v", err)
	}
}
