package queue

import (
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The streams, and the consumer that all workers share.
const (
	dispatches  = "DISPATCH"
	history     = "HISTORY"
	definitions = "DEFINITIONS"

	workers = "workers" // of dispatches; scalers know it by this name
)

// layout is the version of streams, subjects and consumer. A process meets
// streams of its own layout or an older one.
const layout = 1

// What a stream's metadata says of its layout.
const (
	layoutKey = "carillon-layout"
	shardsKey = "carillon-shards"
)

// duplicates is how long a message id is remembered: longer than a planner that
// lost its lease may go on, short enough that its memory is bounded.
const duplicates = 30 * time.Second

// The bounds of history are Azure's (Azure documentation: Scheduler limits, job
// history retention: up to 2 months or up to the last 1000 executions).
const (
	historyRows = 1000
	historyAge  = 60 * 24 * time.Hour
)

// entriesPerSubject is how many entries of a kind the journal keeps. Several
// API servers may write revisions of one job out of order, and its readers take
// the highest; so more than one is kept.
const entriesPerSubject = 8

// streams are the streams as they are to be, if made now. One that is full
// refuses rather than lose anything: a record may not have been applied, and
// only the journal knows of a definition that Redis lost. What each subject and
// age allow still makes room. Only DISPATCH has a bound of its own; the others
// are bounded by the server's storage, or by what an operator sets.
func (cfg *Config) streams(now time.Time) []jetstream.StreamConfig {
	metadata := map[string]string{layoutKey: strconv.Itoa(layout), shardsKey: strconv.Itoa(cfg.Shards)}
	// A stream made later begins higher than one made earlier ended, unless that
	// took more than a million messages a second.
	first := uint64(now.UnixMicro())
	return []jetstream.StreamConfig{
		{
			Name:        dispatches,
			Description: "carillon: attempts for workers to perform",
			Subjects:    []string{"dispatch.*.*"}, // shard, execution tag
			Retention:   jetstream.WorkQueuePolicy,
			Storage:     jetstream.FileStorage,
			Discard:     jetstream.DiscardNew,
			MaxBytes:    cfg.DispatchMaxBytes,
			Duplicates:  duplicates,
			AllowDirect: true,
			Replicas:    cfg.Replicas,
			FirstSeq:    first,
			Metadata:    metadata,
		},
		{
			Name:              history,
			Description:       "carillon: what came of attempts",
			Subjects:          []string{"history.*.*"}, // shard, job uid
			Retention:         jetstream.LimitsPolicy,
			Storage:           jetstream.FileStorage,
			Discard:           jetstream.DiscardNew,
			MaxMsgsPerSubject: historyRows,
			MaxAge:            historyAge,
			Duplicates:        duplicates,
			AllowDirect:       true,
			Replicas:          cfg.Replicas,
			FirstSeq:          first,
			Metadata:          metadata,
		},
		{
			Name:              definitions,
			Description:       "carillon: what was asked for",
			Subjects:          []string{"definitions.*.*.*"}, // shard, kind, uid of job or collection
			Retention:         jetstream.LimitsPolicy,
			Storage:           jetstream.FileStorage,
			Discard:           jetstream.DiscardNew,
			MaxMsgsPerSubject: entriesPerSubject,
			Duplicates:        duplicates,
			AllowDirect:       true,
			Replicas:          cfg.Replicas,
			FirstSeq:          first,
			Metadata:          metadata,
		},
	}
}

// consumer is the workers' consumer as it is to be.
func (cfg *Config) consumer() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       workers,
		Description:   "carillon: hands attempts to workers",
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       cfg.AckWait,
		MaxDeliver:    -1,
		MaxAckPending: 1 << 16,
		MaxWaiting:    1 << 13, // pulls; a worker has a handful. Fixed when it is made
	}
}

// readerConfig is the consumer of one who reads a stream in order. It goes away
// with its reader.
func readerConfig(filter string, after uint64) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Description:       "carillon: reads a shard in order",
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       after + 1,
		FilterSubject:     filter,
		AckPolicy:         jetstream.AckNonePolicy,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: time.Minute,
	}
}
