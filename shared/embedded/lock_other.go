//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package embedded

import "os"

// lockDir makes dir. This system has no lock that ends with its holder, so that
// two processes must not be given the same directory.
func lockDir(dir string) (*os.File, error) { return nil, os.MkdirAll(dir, 0o700) }
