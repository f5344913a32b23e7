package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// diskSize is more than a run needs, and soon full.
const diskSize = "96m"

// smallDisk puts a small disk in place of a folder, until unmount is called. Only
// root may.
func smallDisk(dir string) (unmount func() error, err error) {
	if err := syscall.Mount("faults", dir, "tmpfs", 0, "size="+diskSize); err != nil {
		return nil, fmt.Errorf("mount a small disk: %w", err)
	}
	return func() error {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", dir, err)
		}
		return nil
	}, nil
}

// canMount says why there can be no small disk, if so.
func canMount(dir string) error {
	unmount, err := smallDisk(dir)
	if err != nil {
		return err
	}
	return unmount()
}

// fill fills a disk to the last byte, until free is called.
func fill(dir string) (free func() error, err error) {
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("fill disk: %w", err)
	}
	defer func() { _ = f.Close() }() // it is full
	for size := 1 << 20; size > 0; {
		_, err := io.CopyN(f, zeros{}, int64(size))
		if errors.Is(err, syscall.ENOSPC) {
			size /= 16
		} else if err != nil {
			return nil, fmt.Errorf("fill disk: %w", err)
		}
	}
	return func() error { return os.Remove(path) }, nil
}

// zeros reads as zeros without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
