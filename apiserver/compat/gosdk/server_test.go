package gosdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// server is where the carillon of all tests is reached.
var server string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run runs the tests beside a carillon, which must end well and must not have
// logged a secret.
func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "carillon-gosdk-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary := os.Getenv("CARILLON_BINARY")
	if binary == "" {
		binary = filepath.Join(dir, "carillon")
		build := exec.Command("go", "build", "-o", binary, ".")
		build.Dir = filepath.Join("..", "..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("build carillon: %w\n%s", err, out)
		}
	}
	address, err := freeAddress()
	if err != nil {
		return 0, err
	}
	server = "http://" + address

	var log bytes.Buffer
	stop, err := start(&log, binary, "dev", "--data", filepath.Join(dir, "data"), "--listen", address)
	if err != nil {
		return 0, err
	}
	err = ready()
	if err == nil {
		code = m.Run()
	}
	if stopped := stop(); stopped != nil {
		err = errors.Join(err, fmt.Errorf("carillon did not end well: %w", stopped))
	}
	if bytes.Contains(log.Bytes(), []byte(secret)) {
		err = errors.Join(err, errors.New("carillon has logged a secret"))
	}
	if err != nil || code != 0 {
		fmt.Fprintf(os.Stderr, "carillon said:\n%s\n", log.Bytes())
	}
	return code, err
}

// start starts a program that ends when stop is called, or when this process
// ends, however that comes about: a shell between them sees its input end.
func start(log *bytes.Buffer, program string, args ...string) (stop func() error, err error) {
	const keeper = `"$0" "$@" & cat >/dev/null; kill -TERM $! 2>/dev/null; wait $!`
	cmd := exec.Command("sh", append([]string{"-c", keeper, program}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return func() error {
		input.Close()
		return cmd.Wait()
	}, cmd.Start()
}

// ready waits until carillon says that it is.
func ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		status, err := get(ctx, server+"/readyz")
		if err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("carillon does not get ready: status %d, %w", status, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func get(ctx context.Context, url string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func freeAddress() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}
