package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/carillon-scheduler/carillon/shared/backup"
)

// output is what a backup is written to: standard output, or a file that is there
// when it is whole, and not before.
type output struct {
	io.Writer
	file  *os.File // nil: standard output
	path  string
	force bool
}

func (c *backupCmd) create(s *streams) (*output, error) {
	if c.File == "-" {
		return &output{Writer: s.out}, nil
	}
	info, err := os.Stat(c.File)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is there, and no file", c.File)
	case err == nil && !c.Force:
		return nil, exists(c.File)
	}
	f, err := os.CreateTemp(filepath.Dir(c.File), "."+filepath.Base(c.File)+"-*") // of mode 0600
	if err != nil {
		return nil, fmt.Errorf("make backup file: %w", err)
	}
	return &output{f, f, c.File, c.Force}, nil
}

func exists(path string) error {
	return fmt.Errorf("%s exists: name another file, or replace it with --force", path)
}

// commit puts the file in its place.
func (o *output) commit() error {
	if o.file == nil {
		return nil
	}
	err := errors.Join(o.file.Sync(), o.file.Close())
	if err == nil && o.force {
		err = os.Rename(o.file.Name(), o.path)
	} else if err == nil {
		// Unlike a rename, a link never replaces a file, whoever makes one meanwhile.
		err = os.Link(o.file.Name(), o.path)
		switch _, missing := os.Lstat(o.path); {
		case errors.Is(err, fs.ErrExist):
			return exists(o.path)
		case err != nil && missing != nil: // not every file system has links
			err = os.Rename(o.file.Name(), o.path)
		}
	}
	if err != nil {
		return fmt.Errorf("write backup file: %w", err)
	}
	if dir, err := os.Open(filepath.Dir(o.path)); err == nil {
		_ = dir.Sync() // the file is whole; not every system can sync a directory
		_ = dir.Close()
	}
	return nil
}

// abandon takes away what was not committed, and what is left over.
func (o *output) abandon() {
	if o.file != nil {
		_ = o.file.Close() // again
		_ = os.Remove(o.file.Name())
	}
}

// input is a backup that can be read twice. What cannot be is kept in a temporary
// file the first time.
type input struct {
	io.Reader
	file, temporary *os.File
}

func openInput(path string, stdin io.Reader) (*input, error) {
	in := &input{Reader: stdin}
	if path != "-" {
		f, err := os.Open(path) //nolint:gosec // the operator names it
		if err != nil {
			return nil, err
		}
		in.Reader, in.file = f, f
		if info, err := f.Stat(); err == nil && info.IsDir() {
			in.close()
			return nil, fmt.Errorf("%s %w: it is a directory", path, backup.ErrNotBackup)
		} else if err == nil && info.Mode().IsRegular() {
			return in, nil
		}
	}
	f, err := os.CreateTemp("", "carillon-restore-*") // of mode 0600
	if err != nil {
		in.close()
		return nil, fmt.Errorf("keep what is read: %w", err)
	}
	in.Reader, in.temporary = io.TeeReader(in.Reader, f), f
	return in, nil
}

func (in *input) rewind() error {
	f := in.file
	if in.temporary != nil {
		f = in.temporary
	}
	in.Reader = f
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read again: %w", err)
	}
	return nil
}

func (in *input) close() {
	for _, f := range []*os.File{in.file, in.temporary} {
		if f != nil {
			_ = f.Close() // only read from now on
		}
	}
	if in.temporary != nil {
		_ = os.Remove(in.temporary.Name())
	}
}
