package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// oldest is the oldest nats-server that serves: reading many messages at once
// came with it.
var oldest = [...]int{2, 11} //nolint:gochecknoglobals // a constant

// checkServer returns an error that says what the server lacks, if anything.
func (q *Queue) checkServer(ctx context.Context) error {
	if v := q.nc.ConnectedServerVersion(); !recent(v) {
		return fmt.Errorf("nats-server %s is too old: %d.%d or newer is needed", v, oldest[0], oldest[1])
	}
	switch _, err := q.js.AccountInfo(ctx); {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, nats.ErrNoResponders):
		return errors.New("JetStream is not enabled on the nats-server (nats-server -js)")
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return errors.New("JetStream is not enabled for this account of the nats-server")
	case err != nil:
		return fmt.Errorf("JetStream does not answer: %w", err)
	}
	return nil
}

// recent reports whether the version is the oldest that serves, or newer.
func recent(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil {
		return false
	}
	minor, err := strconv.Atoi(parts[1])
	return err == nil && slices.Compare([]int{major, minor}, oldest[:]) >= 0
}

// setup makes what is missing of streams and consumer, and updates the rest.
func (q *Queue) setup(ctx context.Context) error {
	for _, want := range q.cfg.streams(time.Now()) {
		err := q.ask(ctx, func(ctx context.Context) error { return q.setupStream(ctx, want) })
		if err != nil {
			return fmt.Errorf("stream %s: %w", want.Name, err)
		}
	}
	if err := q.ask(ctx, q.setupConsumer); err != nil {
		return fmt.Errorf("consumer %s: %w", workers, err)
	}
	return nil
}

func (q *Queue) setupStream(ctx context.Context, want jetstream.StreamConfig) error {
	for {
		s, err := q.js.Stream(ctx, want.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			_, err = q.js.CreateStream(ctx, want)
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
				continue // another process was faster
			}
			return err
		}
		if err != nil {
			return err
		}
		have := s.CachedInfo().Config
		if err := q.checkLayout(have.Metadata); err != nil {
			return err
		}
		next, changed := grown(have, want)
		if !changed {
			return nil
		}
		_, err = q.js.UpdateStream(ctx, next)
		return err
	}
}

// checkLayout returns an error if an existing stream's metadata say that it is
// not for this process.
func (q *Queue) checkLayout(metadata map[string]string) error {
	v, err := strconv.Atoi(metadata[layoutKey])
	if err != nil {
		return errors.New("it exists and is not carillon's: rename or delete it, or give carillon an account of its own")
	}
	if v > layout {
		return fmt.Errorf("it has layout %d, of a newer carillon; this one knows %d", v, layout)
	}
	if have := metadata[shardsKey]; have != strconv.Itoa(q.cfg.Shards) {
		return fmt.Errorf("it was made for %s shards, and %d are asked for: the number cannot be changed", have, q.cfg.Shards)
	}
	return nil
}

// grown returns have with what want has more, and whether that is anything.
// Nothing in the stream is lost by it. What want does not speak of stays as the
// operator set it.
func grown(have, want jetstream.StreamConfig) (jetstream.StreamConfig, bool) {
	next := have
	next.Description = want.Description
	next.Subjects = want.Subjects
	next.Discard = want.Discard
	next.Duplicates = want.Duplicates
	next.AllowDirect = want.AllowDirect
	next.Replicas = max(have.Replicas, want.Replicas)
	next.MaxBytes = larger(have.MaxBytes, want.MaxBytes)
	next.MaxMsgsPerSubject = larger(have.MaxMsgsPerSubject, want.MaxMsgsPerSubject)
	next.MaxAge = larger(have.MaxAge, want.MaxAge)
	next.Metadata = maps.Clone(have.Metadata)
	maps.Copy(next.Metadata, want.Metadata)
	changed := next.Description != have.Description || !slices.Equal(next.Subjects, have.Subjects) ||
		next.Discard != have.Discard || next.Duplicates != have.Duplicates || next.AllowDirect != have.AllowDirect ||
		next.Replicas != have.Replicas || next.MaxBytes != have.MaxBytes || next.MaxAge != have.MaxAge ||
		next.MaxMsgsPerSubject != have.MaxMsgsPerSubject || !maps.Equal(next.Metadata, have.Metadata)
	return next, changed
}

// larger returns the bound that a stream has, or the one it is to have if that
// is larger. 0 and less mean that there is none, or that it is not ours to set.
func larger[T int64 | time.Duration](have, want T) T {
	if have <= 0 {
		return have
	}
	return max(have, want)
}

func (q *Queue) setupConsumer(ctx context.Context) error {
	want := q.cfg.consumer()
	c, err := q.js.Consumer(ctx, dispatches, workers)
	switch {
	case err == nil:
		want.MaxWaiting = c.CachedInfo().Config.MaxWaiting // cannot be changed
	case !errors.Is(err, jetstream.ErrConsumerNotFound):
		return err
	}
	_, err = q.js.CreateOrUpdateConsumer(ctx, dispatches, want)
	return err
}

// mend makes anew what is gone, as far as the broker tells within mendWithin: a
// stream that does not answer may also be about to get another leader. What was
// in a stream that is gone is lost, but planners go by Redis, and rebuild that
// from what there is. One call mends for all.
func (q *Queue) mend(ctx context.Context) {
	select {
	case q.mending <- struct{}{}:
		defer func() { <-q.mending }()
	case <-ctx.Done():
		return
	}
	if time.Since(q.mended) < mendWithin {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, mendWithin, errSlow)
	defer cancel()
	const what = "make sure that the streams exist"
	if err := q.setup(ctx); err != nil {
		q.setups.met(ctx, what, err)
	} else {
		q.setups.over(ctx, what)
	}
	q.mended = time.Now()
}

const mendWithin = time.Second
