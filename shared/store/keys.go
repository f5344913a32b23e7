package store

import (
	"strconv"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Keys of the whole cluster.
const (
	clusterKey  = "carillon:cluster"  // hash: layout, shards, importing
	plannersKey = "carillon:planners" // zset: planner -> lives until, ms
	freeKey     = "carillon:free"     // hash: subscription -> its Free collection's key NUL when it was claimed, ms
	wakeChannel = "carillon:wake"     // pub/sub: number of a shard that has something earlier to do
)

// A shard is the number of one. All its keys carry one hash tag, so that Redis
// Cluster keeps them in one slot and a script may touch them together.
type shard int

func (s shard) key(kind, name string) string {
	return "carillon:{s" + strconv.Itoa(int(s)) + "}:" + kind + name
}

func (s shard) state() string       { return s.key("state", "") }       // hash: ready, journal, history, seq
func (s shard) lease() string       { return s.key("lease", "") }       // hash: owner, until, epoch, beat
func (s shard) due() string         { return s.key("due", "") }         // zset: job uid -> next execution, ms
func (s shard) runs() string        { return s.key("runs", "") }        // zset: tag -> next action, ms
func (s shard) final() string       { return s.key("final", "") }       // zset: job uid -> when it became final, ms
func (s shard) dead() string        { return s.key("dead", "") }        // zset: uid of a job deleted a moment ago -> when, ms
func (s shard) asked() string       { return s.key("asked", "") }       // zset: tag of a run asked for a moment ago -> when, ms
func (s shard) collections() string { return s.key("collections", "") } // zset: collection's key -> 0
func (s shard) gone() string        { return s.key("gone", "") }        // set: uids of deleted collections

// collection is a hash: uid, rev, def, writes.
func (s shard) collection(r job.CollectionRef) string { return s.key("col:", r.Key()) }

// jobs is a zset of a collection's jobs: folded name NUL uid -> 0.
func (s shard) jobs(collectionUID string) string { return s.key("jobs:", collectionUID) }

// job is a hash: rev, def, state, series, planned, passed, repeat, last, next,
// active, outcome and ended (of the run of the newest nominal time that has
// ended), exec, fail, fault, lastexec, wait (nominal times, with spaces
// between); old and def:<rev> while runs of an older revision are active.
func (s shard) job(uid string) string { return s.key("job:", uid) }

// run is a hash: uid, rev, at, repeat, manual, phase, retry, seq, resend,
// missed.
func (s shard) run(tag string) string { return s.key("run:", tag) }
