package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// process is a program that runs beside the suite. What it says is added to a
// file, over all its lives.
type process struct {
	name string
	path string
	args []string
	env  []string // besides the suite's own
	log  string

	mu     sync.Mutex
	cmd    *exec.Cmd // nil: never started
	ended  chan struct{}
	wanted bool // it was started, and nobody ended it since
}

// starter starts programs from one thread that lives as long as the suite: a
// program that is to die with its parent dies with the thread that started it.
type starter chan func()

func newStarter() starter {
	s := make(starter)
	go func() {
		runtime.LockOSThread()
		for f := range s {
			f()
		}
	}()
	return s
}

func (s starter) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	done := make(chan error, 1)
	s <- func() { done <- cmd.Start() }
	return <-done
}

// start starts the process unless it runs.
func (p *process) start(s starter) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		select {
		case <-p.ended:
		default:
			return nil
		}
	}
	f, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	defer func() { _ = f.Close() }() // the process has its own
	fmt.Fprintf(f, "--- %s started %s\n", p.name, time.Now().UTC().Format(clockForm))
	cmd := exec.Command(p.path, p.args...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = f, f
	if err := s.start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	ended := make(chan struct{})
	p.cmd, p.ended, p.wanted = cmd, ended, true
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended is asked of its state
	}()
	return nil
}

// clockForm is how the suite writes times.
const clockForm = "15:04:05.000"

// signal sends a signal, if the process runs.
func (p *process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(sig) // it may just have ended
	}
}

// wait waits until the process has ended. It reports false if that took too long.
func (p *process) wait(within time.Duration) bool {
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if ended == nil {
		return true
	}
	select {
	case <-ended:
		return true
	case <-time.After(within):
		return false
	}
}

// unwanted says that the process is going to be ended.
func (p *process) unwanted() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = false
}

// gone reports whether the process ended by itself.
func (p *process) gone() bool {
	p.mu.Lock()
	wanted := p.wanted
	p.mu.Unlock()
	return wanted && p.wait(0)
}

// kill ends the process with SIGKILL.
func (p *process) kill() {
	p.unwanted()
	p.signal(syscall.SIGKILL)
	p.wait(10 * time.Second)
}

// stop ends the process as an operator does, and returns an error if it does not
// end, or not well.
func (p *process) stop(within time.Duration) error {
	p.unwanted()
	p.signal(syscall.SIGCONT)
	p.signal(syscall.SIGTERM)
	if !p.wait(within) {
		p.kill()
		return fmt.Errorf("%s did not end within %v of SIGTERM", p.name, within)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil && p.cmd.ProcessState.Exited() && p.cmd.ProcessState.ExitCode() > 1 { // nats-server says 1
		return fmt.Errorf("%s ended with %d after SIGTERM", p.name, p.cmd.ProcessState.ExitCode())
	}
	return nil
}

// program returns the path of a program: in the repository's bin, or in PATH.
func program(root, name string) (string, error) {
	path, err := exec.LookPath(filepath.Join(root, "bin", name))
	if err != nil {
		path, err = exec.LookPath(name)
	}
	if err != nil {
		return "", fmt.Errorf("%s is not installed: it has to be in bin/ of the repository, or in PATH", name)
	}
	return filepath.Abs(path)
}

// eventually asks until there is no error, and returns the last one if that takes
// too long.
func eventually(ctx context.Context, within time.Duration, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var last error
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if last == nil || !errors.Is(err, context.DeadlineExceeded) {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("within %v: %w", within, cmp.Or(last, ctx.Err()))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
