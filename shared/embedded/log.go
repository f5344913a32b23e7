package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
)

// logger passes the server's warnings and errors on, and remembers what was
// fatal: the server logs that, and goes no further.
type logger struct {
	log *slog.Logger // nil: pass nothing on

	mu    sync.Mutex
	cause error
}

func (l *logger) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

func (l *logger) pass(level slog.Level, format string, v []any) {
	if l.log != nil {
		l.log.Log(context.Background(), level, "embedded nats-server", "says", fmt.Sprintf(format, v...))
	}
}

// Fatalf remembers the message. It does not exit.
func (l *logger) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cause = fmt.Errorf(format, v...)
}

// Errorf passes an error on.
func (l *logger) Errorf(format string, v ...any) { l.pass(slog.LevelError, format, v) }

// Warnf passes a warning on.
func (l *logger) Warnf(format string, v ...any) { l.pass(slog.LevelWarn, format, v) }

// Noticef drops what the server says when all is well.
func (*logger) Noticef(string, ...any) {}

// Debugf drops the message.
func (*logger) Debugf(string, ...any) {}

// Tracef drops the message.
func (*logger) Tracef(string, ...any) {}
