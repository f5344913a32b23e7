package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/embedded"
)

// TestMain lets the test binary be carillon itself, so that tests can run it as
// processes, and kill them.
func TestMain(m *testing.M) {
	if os.Getenv("CARILLON_TEST_PROCESS") != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}
	flag.Parse()
	// What is parallel here are processes that mostly wait, more than there are
	// processors, unless a number was asked for.
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		if err := flag.Set("test.parallel", "6"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// process is a carillon, or a server, that runs beside the test.
type process struct {
	*exec.Cmd
	name  string
	log   string // file
	ended chan struct{}
}

// carillon starts carillon with these arguments.
func carillon(t *testing.T, args ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "CARILLON_TEST_PROCESS=1")
	return start(t, args[0], cmd)
}

// keyFile makes a key file.
func keyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.json")
	if code, _, stderr := command(t.Context(), "", "keys", "new", path); code != 0 {
		t.Fatalf("keys new: exit %d: %s", code, stderr)
	}
	return path
}

func start(t *testing.T, name string, cmd *exec.Cmd) *process {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), name+"-*.log")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	p := &process{cmd, name, f.Name(), make(chan struct{})}
	go func() {
		defer close(p.ended)
		cmd.Wait()
	}()
	t.Cleanup(func() {
		p.kill()
		out, _ := os.ReadFile(p.log)
		if t.Failed() {
			t.Logf("%s said:\n%s", p.name, tail(out, 4000))
		} else if warnings := regexp.MustCompile(`(?m)^.*level=(WARN|ERROR).*$`).FindAll(out, 20); len(warnings) > 0 {
			t.Logf("%s warned:\n%s", p.name, bytes.Join(warnings, []byte("\n")))
		}
	})
	return p
}

func tail(b []byte, n int) string {
	if len(b) > n {
		return "…" + string(b[len(b)-n:])
	}
	return string(b)
}

// kill ends the process with SIGKILL.
func (p *process) kill() {
	p.Process.Kill()
	<-p.ended
}

// stop ends the process as Ctrl-C does, and returns its exit code.
func (p *process) stop(t *testing.T, within time.Duration) int {
	t.Helper()
	p.Process.Signal(os.Interrupt)
	select {
	case <-p.ended:
	case <-time.After(within):
		t.Errorf("%s did not end within %v", p.name, within)
		p.kill()
	}
	return p.ProcessState.ExitCode()
}

// said waits until the process has printed what matches, and returns the first
// group of the match.
func (p *process) said(t *testing.T, pattern string, within time.Duration) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	var group string
	eventually(t, within, func() error {
		out, err := os.ReadFile(p.log)
		if err != nil {
			return err
		}
		m := re.FindSubmatch(out)
		if m == nil {
			select {
			case <-p.ended:
				t.Fatalf("%s ended: %s", p.name, tail(out, 4000))
			default:
			}
			return fmt.Errorf("%s has not said %q, but: %s", p.name, pattern, tail(out, 2000))
		}
		group = string(m[len(m)-1])
		return nil
	})
	return group
}

// eventually waits until check returns nil.
func eventually(t *testing.T, within time.Duration, check func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %v", within, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// freeAddress returns a loopback address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// program returns the path of a server program, or "" where it is absent. In CI
// nothing may be absent.
func program(t *testing.T, name string) string {
	t.Helper()
	for _, p := range []string{name, filepath.Join("bin", name), filepath.Join("tools", "peers", "node_modules", ".bin", name)} {
		if path, err := exec.LookPath(p); err == nil {
			if abs, err := filepath.Abs(path); err == nil {
				return abs
			}
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed", name)
	}
	t.Logf("%s is not installed: using the embedded part", name)
	return ""
}

// servers starts a Redis and a NATS, real ones where they are to be had, and
// returns their URLs.
func servers(t *testing.T) (redisURL, natsURL string) {
	t.Helper()
	return startRedis(t), startNATS(t)
}

func startRedis(t *testing.T) string {
	t.Helper()
	path := program(t, "redis-server")
	if path == "" {
		address, stop, err := embedded.Redis()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		return "redis://" + address
	}
	address := freeAddress(t)
	redisAt(t, path, address, t.TempDir())
	return "redis://" + address
}

// redisAt starts a redis-server at an address, on what a directory holds.
func redisAt(t *testing.T, path, address, dir string) *process {
	t.Helper()
	_, port, _ := net.SplitHostPort(address)
	p := start(t, "redis-server", exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--dir", dir,
		"--save", "", "--appendonly", "yes", "--appendfsync", "everysec"))
	eventually(t, 10*time.Second, func() error { return redisPing(address) })
	return p
}

// natsAt starts a nats-server at an address, on what a directory holds.
func natsAt(t *testing.T, path, address, dir string) *process {
	t.Helper()
	host, port, _ := net.SplitHostPort(address)
	p := start(t, "nats-server", exec.Command(path, "-js", "-sd", dir, "-a", host, "-p", port))
	eventually(t, 10*time.Second, func() error {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			conn.Close()
		}
		return err
	})
	return p
}

func redisPing(address string) error {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	io.WriteString(conn, "PING\r\n")
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(line, "+PONG") {
		err = fmt.Errorf("redis says %q", line)
	}
	return err
}

func startNATS(t *testing.T) string {
	t.Helper()
	address := freeAddress(t)
	path := program(t, "nats-server")
	if path == "" {
		srv, err := embedded.Start(embedded.NATSConfig{Dir: t.TempDir(), Listen: address})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(srv.Stop)
		return "nats://" + address
	}
	natsAt(t, path, address, t.TempDir())
	return "nats://" + address
}
