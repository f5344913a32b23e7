package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/carillon-scheduler/carillon/shared/backup"
	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/store"
)

// backupCmd writes a backup of a cluster while it works. All that is in it comes
// from Redis, which is only read; NATS may be away.
//
// Each job is in the backup as it was at one moment: one revision, with the
// counters, the next time and the runs under way that it had then; and so is each
// collection. Two of them are of different moments: what is written while the
// backup is made may be in it or not, each for itself. What was executed and not
// yet recorded then counts as not executed.
type backupCmd struct {
	File  string `arg:"" help:"The file to write; '-' is standard output."`
	Force bool   `help:"Replace FILE if it exists." env:"-"`
	redisFlags
}

// Run writes a backup.
func (c *backupCmd) Run(ctx context.Context, s *streams) error {
	out, err := c.create(s)
	if err != nil {
		return err
	}
	defer out.abandon()
	rdb, err := connectRedis(ctx, c.Redis)
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }() // only read
	st, err := store.Existing(ctx, rdb)
	if errors.Is(err, job.ErrNotFound) {
		return fmt.Errorf("there is no carillon cluster in Redis at %s: name another with --redis or CARILLON_REDIS", redacted(c.Redis))
	}
	if err != nil {
		return err
	}
	p := newProgress(s.err)
	end, err := backup.Export(ctx, st, buildVersion(), out, p.show)
	p.clear()
	if errors.Is(err, job.ErrNotReady) {
		return fmt.Errorf("what Redis at %s holds has yet to be brought up to date: start a planner, and try again", redacted(c.Redis))
	}
	if err != nil {
		return err
	}
	planners, err := st.Planners(ctx)
	if err != nil {
		return err
	}
	if err := out.commit(); err != nil {
		return err
	}
	summary := s.out
	if c.File == "-" {
		summary = s.err
	}
	_, err = fmt.Fprintf(summary, "%s: %s\n", c.File, contents(&end))
	if err == nil && planners == 0 {
		_, err = fmt.Fprintln(summary, "No planner is at work: what workers executed since is not recorded, and counts as not executed in this backup.")
	}
	return err
}

// contents says what is in a backup.
func contents(end *backup.End) string {
	text := fmt.Sprintf("%s and %s, %s under way", plural(end.Collections, "job collection"), plural(end.Jobs, "job"), plural(end.Runs, "run"))
	if len(end.Keys) > 0 {
		ids := make([]string, len(end.Keys))
		for i, k := range end.Keys {
			ids[i] = k.ID
		}
		text += "; secrets sealed with " + strings.Join(ids, ", ") + ". Keep the key file too: it is not in the backup"
	}
	return text + "."
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
