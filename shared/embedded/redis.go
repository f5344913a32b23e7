package embedded

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// Redis runs a stand-in for Redis on a free loopback port and returns its
// address. It keeps nothing on disk, and its keys never expire: carillon sets no
// expiry, and neither may a test that uses it. stop ends it and waits for its
// connections.
func Redis() (addr string, stop func(), err error) {
	srv, err := miniredis.Run()
	if err != nil {
		return "", nil, fmt.Errorf("start embedded redis: %w", err)
	}
	return srv.Addr(), srv.Close, nil
}
