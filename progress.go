package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// progress shows a person at a terminal how far a command is. It is safe for
// concurrent use.
type progress struct {
	w io.Writer // nil: nobody looks

	mu    sync.Mutex
	next  time.Time
	shown bool
}

func newProgress(w io.Writer) *progress {
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&fs.ModeCharDevice != 0 {
			return &progress{w: w, next: time.Now().Add(time.Second)}
		}
	}
	return &progress{}
}

// show says how far it is, in place of what it said before, once a second.
func (p *progress) show(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.w == nil || now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(time.Second), true
	fmt.Fprintf(p.w, "\r\x1b[K"+format, args...)
}

// clear takes away what it said.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
