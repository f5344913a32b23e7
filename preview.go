package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/carillon-scheduler/carillon/apiserver/wire"
	"github.com/carillon-scheduler/carillon/shared/job"
)

// previewLimit bounds what preview reads.
const previewLimit = 1 << 20

type previewCmd struct {
	N    int    `short:"n" help:"How many occurrences to print." default:"10" env:"-"`
	Now  string `help:"The moment at which the job would be created, RFC 3339; now unless given." placeholder:"TIME" env:"-"`
	File string `arg:"" optional:"" help:"The definition: a job resource, its properties, or just startTime and recurrence; comments and trailing commas are accepted. '-', or nothing, reads standard input." default:"-"`
}

// Run prints the next occurrences of a definition.
func (c *previewCmd) Run(s *streams) error {
	if c.N < 1 {
		return &usageError{"-n must be at least 1"}
	}
	now := time.Now()
	if c.Now != "" {
		t, err := wire.ParseTime(c.Now)
		if err != nil {
			return &usageError{fmt.Sprintf("--now: %v", err)}
		}
		now = t
	}
	in := s.in
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only read
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, previewLimit+1))
	if err != nil {
		return fmt.Errorf("read definition: %w", err)
	}
	if len(text) > previewLimit {
		return errors.New("a definition of more than 1 MiB is none")
	}
	d, err := wire.ReadLoose(text)
	if err != nil {
		return err
	}
	return preview(s.out, &d, job.Ceil(now), c.N)
}

// preview prints the next n occurrences that d would have if it were created
// enabled at now.
func preview(w io.Writer, d *job.Definition, now time.Time, n int) error {
	if err := d.ValidateSchedule(now); err != nil {
		return err
	}
	j := job.Job{Definition: *d, SeriesAt: now, ActiveFrom: now, Anchor: d.StartAt}
	if j.Anchor.IsZero() {
		j.Anchor = now
	}
	t, err := job.NewTimetable(d, j.Anchor)
	if err != nil {
		return err
	}
	if d.Recurrence != nil && d.Recurrence.Count > 0 {
		n = min(n, d.Recurrence.Count)
	}
	at := t.First(&j, time.Time{}, time.Time{})
	if at.IsZero() {
		return job.Invalid("recurrence", "has no occurrence left")
	}
	for ; n > 0 && !at.IsZero(); n-- {
		if _, err := fmt.Fprintln(w, at.Format(time.RFC3339Nano)); err != nil {
			return err
		}
		at = t.Next(at)
	}
	return nil
}
