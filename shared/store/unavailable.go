package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// unavailable is a hook of the client that marks errors of a Redis that cannot
// be reached, or cannot answer now, as [job.ErrUnavailable], and those of one
// that is out of memory as [job.ErrFull] too, which goes on the board.
type unavailable struct{ s *Store }

var _ redis.Hook = unavailable{}

func (unavailable) DialHook(next redis.DialHook) redis.DialHook { return next }

func (u unavailable) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := u.mark(ctx, next(ctx, cmd))
		if errors.Is(err, job.ErrUnavailable) {
			cmd.SetErr(err)
		}
		return err
	}
}

func (u unavailable) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return u.mark(ctx, next(ctx, cmds)) }
}

// passing are the beginnings of what Redis answers while it cannot serve: it
// loads, fails over, or has no memory left.
var passing = []string{"LOADING ", "CLUSTERDOWN ", "MASTERDOWN ", "READONLY ", "TRYAGAIN ", "OOM "} //nolint:gochecknoglobals // a constant in all but name

// What the board is told of a Redis that is out of memory.
const (
	memory       = "redis"
	adviceMemory = "give redis more memory (CONFIG SET maxmemory) or delete jobs; until then nothing new is planned or written, and what is planned goes on"
)

func (u unavailable) mark(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, job.ErrUnavailable) {
		return err
	}
	var network net.Error
	broken := errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted)
	for _, prefix := range passing {
		broken = broken || strings.HasPrefix(err.Error(), prefix)
	}
	if !broken {
		return err
	}
	if strings.HasPrefix(err.Error(), "OOM ") {
		u.s.board.Met(ctx, memory, "out of memory", adviceMemory)
		return fmt.Errorf("%w: %w: %w", job.ErrUnavailable, job.ErrFull, err)
	}
	return fmt.Errorf("%w: %w", job.ErrUnavailable, err)
}
