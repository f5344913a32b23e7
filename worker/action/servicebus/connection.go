package servicebus

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

// closeTimeout is how long a connection may take to say goodbye.
const closeTimeout = 2 * time.Second

// errSetUp says that a connection could not be made, or not made use of.
var errSetUp = errors.New("service bus: set up")

// connection is a connection with a link to one entity. Its link, once lost, is
// never made anew: what has lost its link is closed, and a new connection takes
// its place.
type connection struct {
	line   *line
	client *azservicebus.Client
	sender *azservicebus.Sender
}

// connect makes a connection: it dials, proves with two tokens that it may send
// to the entity, and makes the link. It returns what there is to close also if
// that fails.
func (a *Action) connect(ctx context.Context, to destination) (*connection, error) {
	c := &connection{line: &line{dial: func(ctx context.Context) (net.Conn, error) {
		if a.endpoint.plain {
			return a.network.Dial(ctx, "tcp", to.key.address)
		}
		return a.network.DialTLS(ctx, "tcp", to.key.address)
	}}}
	host := to.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	text := "Endpoint=sb://" + host + ";SharedAccessKeyName=" + to.bus.SASKeyName + ";SharedAccessKey=" + string(to.bus.SASKey)
	if a.endpoint.plain {
		text += ";UseDevelopmentEmulator=true" // tokens for amqp://, as emulators expect them
	}
	var err error
	c.client, err = azservicebus.NewClientFromConnectionString(text, &azservicebus.ClientOptions{
		ApplicationID: a.agent,
		// The one way to hand over a connection: it need be no WebSocket.
		NewWebSocketConn: func(ctx context.Context, _ azservicebus.NewWebSocketConnArgs) (net.Conn, error) {
			return c.line.open(ctx)
		},
		RetryOptions: azservicebus.RetryOptions{MaxRetries: -1}, // none
	})
	if err != nil {
		return c, err
	}
	if c.sender, err = c.client.NewSender(to.bus.Entity, nil); err != nil {
		return c, err
	}
	// A batch is made for the link's sake: what makes it must not be sending.
	if _, err = c.sender.NewMessageBatch(ctx, nil); err != nil {
		return c, errors.Join(errSetUp, err, c.line.fault())
	}
	return c, nil
}

// send sends a message and waits until the service has accepted it. If that
// fails, tried says whether the message may have been sent all the same.
func (c *connection) send(ctx context.Context, m *azservicebus.AMQPAnnotatedMessage) (tried bool, err error) {
	o := newOnce(ctx)
	defer o.cancel()
	if err = c.sender.SendAMQPAnnotatedMessage(o, m, nil); err != nil {
		err = errors.Join(err, c.line.fault())
	}
	return o.tried(), err
}

// close says goodbye, if the other side has an ear for it, and closes.
func (c *connection) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, c.line.close)()
	if c.client != nil {
		_ = c.client.Close(ctx) // it is over either way
	}
	c.line.close()
}

// line is the network connection of a connection: one, dialled once.
type line struct {
	dial func(context.Context) (net.Conn, error)

	mu     sync.Mutex // guards what follows
	used   bool
	closed bool
	conn   net.Conn
	err    error // the first fault
}

// redialError ends azservicebus's attempts to connect anew in the background
// when it cannot renew its token.
type redialError struct{}

func (redialError) Error() string { return "service bus: a connection is dialled once" }

// NonRetriable tells azservicebus that trying again is of no use.
func (redialError) NonRetriable() {}

// open dials, the first time.
func (l *line) open(ctx context.Context) (net.Conn, error) {
	l.mu.Lock()
	used := l.used
	l.used = true
	l.mu.Unlock()
	if used {
		return nil, redialError{}
	}
	conn, err := l.dial(ctx)
	if err != nil {
		l.note(err)
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = conn.Close()
	}
	l.conn = conn
	return watched{conn, l}, nil
}

// note keeps a fault, if it is the first and not that the line was closed here.
func (l *line) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && !errors.Is(err, net.ErrClosed) {
		l.err = err
	}
}

// lineError is what went wrong on the network.
type lineError struct{ err error }

func (e *lineError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *lineError) Unwrap() error { return e.err }

// fault returns what went wrong on the network first, or nil: azservicebus does
// not pass it on.
func (l *line) fault() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		return nil
	}
	return &lineError{l.err}
}

// close closes without a word.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.conn != nil {
		_ = l.conn.Close()
	}
}

// watched is a connection whose faults are noted.
type watched struct {
	net.Conn
	line *line
}

func (w watched) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if err != nil {
		w.line.note(err)
	}
	return n, err
}

func (w watched) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	if err != nil {
		w.line.note(err)
	}
	return n, err
}
