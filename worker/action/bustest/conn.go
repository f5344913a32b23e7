package bustest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// What frames carry (AMQP 1.0, part 2 and 5).
const (
	performOpen        = 0x10
	performBegin       = 0x11
	performAttach      = 0x12
	performFlow        = 0x13
	performTransfer    = 0x14
	performDisposition = 0x15
	performDetach      = 0x16
	performEnd         = 0x17
	performClose       = 0x18
	saslMechanisms     = 0x40
	saslInit           = 0x41
	saslOutcome        = 0x44
	errorList          = 0x1d
)

const (
	frameAMQP = 0
	frameSASL = 1

	maxFrame = 64 << 10
	window   = 5000 // frames that a client may send ahead
)

// conn is a connection of a client.
type conn struct {
	server *Server
	net    net.Conn
	read   *bufio.Reader
	done   chan struct{} // closed when serve is over

	writing sync.Mutex

	mu       sync.Mutex // guards what follows
	sessions map[uint16]*session
	granted  map[string]grant // by path
	host     string
	agent    string
}

// grant is a token that was accepted.
type grant struct{ audience, token string }

type session struct {
	channel uint16
	links   map[uint32]*link
	nextIn  uint32
	nextOut uint32
}

func newConn(s *Server, raw net.Conn) *conn {
	return &conn{
		server: s, net: raw, read: bufio.NewReader(raw), done: make(chan struct{}),
		sessions: map[uint16]*session{}, granted: map[string]grant{},
	}
}

// serve speaks with the client until either has enough.
func (c *conn) serve() {
	defer c.net.Close()
	defer close(c.done)
	if c.handshake() != nil {
		return
	}
	for {
		f, err := c.readFrame()
		if err == nil {
			err = c.handle(f)
		}
		if errors.Is(err, errBreak) {
			c.hangUp()
		}
		if err != nil {
			return
		}
	}
}

// errBreak ends a connection in the middle.
var errBreak = errors.New("break")

// hangUp says nothing more, and waits until the client has noticed: were the
// connection closed with something of the client's unread, it would be reset.
func (c *conn) hangUp() {
	if half, ok := c.net.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		io.Copy(io.Discard, c.net)
	}
}

// handshake agrees on protocols: SASL, where every client is let in, and AMQP.
func (c *conn) handshake() error {
	const sasl = 3
	protocol, err := c.protocol()
	if err != nil || protocol != sasl {
		return err
	}
	if err := c.write(frameSASL, 0, saslMechanisms, []any{[]symbol{"MSSBCBS", "PLAIN", "ANONYMOUS", "EXTERNAL"}}, nil); err != nil {
		return err
	}
	if f, err := c.readFrame(); err != nil || f.performative != saslInit {
		return fmt.Errorf("sasl: %w", err)
	}
	if err := c.write(frameSASL, 0, saslOutcome, []any{uint8(0)}, nil); err != nil {
		return err
	}
	_, err = c.protocol()
	return err
}

func (c *conn) protocol() (byte, error) {
	var header [8]byte
	if _, err := io.ReadFull(c.read, header[:]); err != nil {
		return 0, err
	}
	if string(header[:4]) != "AMQP" {
		return 0, errors.New("not AMQP")
	}
	_, err := c.net.Write([]byte{'A', 'M', 'Q', 'P', header[4], 1, 0, 0})
	return header[4], err
}

type frame struct {
	channel      uint16
	performative uint64 // 0: nothing, a sign of life
	fields       []any
	payload      []byte
}

func (c *conn) readFrame() (frame, error) {
	var header [8]byte
	if _, err := io.ReadFull(c.read, header[:]); err != nil {
		return frame{}, err
	}
	size, offset := binary.BigEndian.Uint32(header[:]), uint32(header[4])*4
	if size > maxFrame || offset < 8 || offset > size {
		return frame{}, fmt.Errorf("frame of %d bytes", size)
	}
	body := make([]byte, size-8)
	if _, err := io.ReadFull(c.read, body); err != nil {
		return frame{}, err
	}
	f := frame{channel: binary.BigEndian.Uint16(header[6:])}
	if body = body[offset-8:]; len(body) == 0 {
		return f, nil
	}
	value, rest, err := decode(body)
	if err != nil {
		return frame{}, err
	}
	d, _ := value.(described)
	f.performative, f.payload = d.code, rest
	f.fields, _ = d.value.([]any)
	return f, nil
}

func (c *conn) write(kind byte, channel uint16, performative uint64, fields []any, payload []byte) error {
	b := make([]byte, 8, 128+len(payload))
	if performative != 0 {
		b = encode(b, described{performative, fields})
	}
	b = append(b, payload...)
	binary.BigEndian.PutUint32(b, uint32(len(b)))
	b[4], b[5] = 2, kind
	binary.BigEndian.PutUint16(b[6:], channel)
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.net.Write(b)
	return err
}

// say writes a performative.
func (c *conn) say(channel uint16, performative uint64, fields ...any) error {
	return c.write(frameAMQP, channel, performative, fields, nil)
}

func (c *conn) handle(f frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[f.channel]
	switch f.performative {
	case performOpen:
		c.host, _ = field[string](f.fields, 1)
		properties, _ := field[map[string]any](f.fields, 9)
		c.agent, _ = properties["user-agent"].(string)
		if ms, ok := field[uint32](f.fields, 4); ok && ms > 0 {
			c.server.wg.Go(func() { c.live(time.Duration(ms) * time.Millisecond / 3) })
		}
		return c.say(0, performOpen, "bustest", nil, uint32(maxFrame), uint16(4999), uint32(120000))
	case performBegin:
		nextIn, _ := field[uint32](f.fields, 1)
		c.sessions[f.channel] = &session{channel: f.channel, links: map[uint32]*link{}, nextIn: nextIn}
		return c.say(f.channel, performBegin, f.channel, uint32(0), uint32(window), uint32(window), uint32(255))
	case performEnd:
		delete(c.sessions, f.channel)
		return c.say(f.channel, performEnd)
	case performClose:
		c.say(0, performClose)
		return io.EOF
	case performAttach, performTransfer, performDetach:
		if s == nil {
			return fmt.Errorf("no session %d", f.channel)
		}
	default: // flows and dispositions are of no interest
		return nil
	}
	switch f.performative {
	case performAttach:
		return c.attach(s, f.fields)
	case performTransfer:
		return c.transfer(s, f)
	default:
		handle, _ := field[uint32](f.fields, 0)
		if s.links[handle] == nil { // detached by us before
			return nil
		}
		delete(s.links, handle)
		return c.say(s.channel, performDetach, handle, true)
	}
}

// live gives a sign of life so often: without any the client hangs up.
func (c *conn) live(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-tick.C:
			c.write(frameAMQP, 0, 0, nil, nil)
		}
	}
}
