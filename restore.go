package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/shared/backup"
	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/secret"
)

// restoreCmd puts into a cluster what a backup holds; see [backup.Restore]. The
// whole file is checked before anything is written.
//
// To the planners, the time since the backup is time in which they were away: of
// the occurrences that a job missed the newest runs, runs that were under way go
// on, with the execution tags that they had, and what the backup knows as
// executed is not executed again.
type restoreCmd struct {
	File        string `arg:"" help:"The backup; '-' is standard input."`
	Merge       bool   `help:"Restore into a cluster that is not empty: what is missing there is added, deleted jobs too; what is there stays as it is." env:"-"`
	Keys        string `help:"Key file of the cluster, to check that it has the keys that seal the backup's secrets." type:"path" placeholder:"FILE"`
	WithoutKeys bool   `help:"Go on though keys are missing in --keys. Jobs whose secrets they seal fail until the keys are there, or the secrets are written anew." env:"-"`
	redisFlags
	natsFlags
	clusterFlags
}

// Run restores a backup.
func (c *restoreCmd) Run(ctx context.Context, s *streams) error {
	in, err := openInput(c.File, s.in)
	if err != nil {
		return err
	}
	defer in.close()
	p := newProgress(s.err)
	defer p.clear()
	end, err := backup.Check(ctx, in, p.show)
	if err != nil {
		return c.about(err)
	}
	if err := c.checkKeys(s, end.Keys); err != nil {
		return err
	}
	b, err := connect(ctx, "restore", slog.New(slog.DiscardHandler), &c.redisFlags, &c.natsFlags, &c.clusterFlags)
	if err != nil {
		return err
	}
	defer b.close()
	if err := in.rewind(); err != nil {
		return err
	}
	to := backup.Target{Store: b.store, Queue: b.queue, Merge: c.Merge, Progress: p.show, Jobs: end.Jobs}
	did, err := backup.Restore(ctx, to, in)
	if err != nil {
		return c.about(err)
	}
	p.clear()
	if _, err := fmt.Fprintln(s.out, c.File+": "+summary(did)); err != nil {
		return err
	}
	return leftOut(s.err, did.Left, &end)
}

// about says of an error what file it is about, or what to do.
func (c *restoreCmd) about(err error) error {
	if full, ok := errors.AsType[*backup.NotEmptyError](err); ok {
		return fmt.Errorf("the cluster is not empty, it has %s: restore into an empty one, or give --merge to add what is missing and leave what is there as it is",
			plural(full.Collections, "job collection"))
	}
	if errors.Is(err, job.ErrNotReady) {
		return fmt.Errorf("the journal in NATS is not empty, and Redis has yet to be brought up to date with it: start a planner, and try again (%w)", err)
	}
	for _, e := range []error{backup.ErrNotBackup, backup.ErrNewer, backup.ErrTruncated, backup.ErrAltered} {
		if errors.Is(err, e) {
			return fmt.Errorf("%s %w", c.File, err)
		}
	}
	return err
}

// checkKeys says which keys a key file lacks.
func (c *restoreCmd) checkKeys(s *streams, used []backup.Key) error {
	if c.Keys == "" {
		return nil
	}
	have, err := secret.List(c.Keys)
	if err != nil {
		return err
	}
	var lacking []string
	for _, k := range used {
		if !slices.ContainsFunc(have, func(h secret.Key) bool { return h.String() == k.ID }) {
			lacking = append(lacking, fmt.Sprintf("key %s, which seals secrets of %s", k.ID, plural(k.Jobs, "job")))
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	what := fmt.Sprintf("%s lacks %s", c.Keys, strings.Join(lacking, ", and "))
	if !c.WithoutKeys {
		return fmt.Errorf("%s: name the key file of the cluster that the backup is of, or go on with --without-keys", what)
	}
	_, err = fmt.Fprintf(s.err, "warning: %s\n", what)
	return err
}

// summary says what a restore did.
func summary(did *backup.Report) string {
	text := fmt.Sprintf("restored %s and %s", plural(did.Added.Collections, "job collection"), plural(did.Added.Jobs, "job"))
	if did.There != (backup.Contents{}) {
		text += fmt.Sprintf("; %s and %s were there already", plural(did.There.Collections, "job collection"), plural(did.There.Jobs, "job"))
	}
	return text + "."
}

// leftOut says what a restore left out, if anything, and fails then.
func leftOut(w io.Writer, left []string, of *backup.End) error {
	if len(left) == 0 {
		return nil
	}
	const most = 20
	for _, what := range left[:min(most, len(left))] {
		fmt.Fprintln(w, "left out: "+what)
	}
	return fmt.Errorf("%d of the backup's %s and %s were left out", len(left), plural(of.Collections, "job collection"), plural(of.Jobs, "job"))
}
