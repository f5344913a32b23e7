package backup

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// A Source is a cluster to back up.
type Source interface {
	Now() time.Time
	Shards() int
	Ready(ctx context.Context) error
	Export(ctx context.Context, shard int, collection func(*job.Collection) error, jobs func([]*job.Snapshot) error) error
}

// Progress is told now and then how far something is, by several goroutines at
// once.
type Progress func(format string, args ...any)

// Export writes a backup of what a cluster holds, in memory that does not depend
// on how much that is, and blocks until it is written. version is of the carillon
// that does. It fails with [job.ErrNotReady] if what the source holds has yet to
// be brought up to date by planners.
//
// Each job is in the backup as it was at one moment, with the counters, the next
// time and the runs that it had then; and so is each collection. Two of them are
// of different moments.
func Export(ctx context.Context, from Source, version string, out io.Writer, p Progress) (End, error) {
	if err := from.Ready(ctx); err != nil {
		return End{}, err
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	w, err := NewWriter(out, Header{
		ID: hex.EncodeToString(id), Carillon: version, CreatedAt: from.Now().Truncate(time.Millisecond), Shards: from.Shards(),
	})
	if err != nil {
		return End{}, err
	}
	for shard := range from.Shards() {
		err := from.Export(ctx, shard, func(c *job.Collection) error {
			return w.Write(Record{Collection: c})
		}, func(list []*job.Snapshot) error {
			for _, o := range list {
				if err := w.Write(Record{Job: o}); err != nil {
					return err
				}
			}
			p("%d jobs backed up", w.end.Jobs)
			return nil
		})
		if err != nil {
			return End{}, err
		}
	}
	return w.Close()
}
