// Package backup copies the definitions of a cluster, and how far each job is, to
// one file, and from there into a cluster. It knows nothing of Redis or NATS, nor
// where the file is.
//
// A backup is a gzip stream of lines of JSON: a [Header]; then each collection,
// followed by its jobs; then an [End] with counts and a checksum of all lines
// before it. So it is written and read in one pass, in memory that does not
// depend on its length, and one that is incomplete or was altered shows. (The
// checksum is no signature: whoever alters a file on purpose can make it right.)
//
// Secrets are in it as they are stored, sealed. The keys are not, but their ids
// are.
package backup

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Format is the version of the format. A reader refuses a newer one, and what it
// does not know of its own: a field that is new is a new version.
const Format = 1

// kind is what the first line of every backup says, in any version.
const kind = "backup"

// The longest lines, in bytes: what is read of a file that is no backup, and what a
// job may take up. A job has some thousand, and each of its runs under way 240.
const (
	maxHeader = 64 << 10
	maxLine   = 32 << 20
)

// A Header says what a backup is of.
type Header struct {
	ID        string    `json:"id"`      // made anew for each backup
	Carillon  string    `json:"version"` // of the carillon that wrote it
	CreatedAt time.Time `json:"created"` // by the cluster's clock
	Shards    int       `json:"shards"`  // of the cluster; one with another number can take the backup
}

// An End says what a backup holds.
type End struct {
	Collections int   `json:"collections"`
	Jobs        int   `json:"jobs"`
	Runs        int   `json:"runs"`
	Keys        []Key `json:"keys"` // by id
}

// A Key is one that seals secrets of the backup.
type Key struct {
	ID   string `json:"id"`   // 8 hex digits
	Jobs int    `json:"jobs"` // how many have a secret sealed with it
}

// A Record is a collection or a job.
type Record struct {
	Collection *job.Collection `json:"collection,omitempty"`
	Job        *job.Snapshot   `json:"job,omitempty"`
}

// The first and the last line, and those in between.
type (
	headerLine struct {
		Carillon string `json:"carillon"`
		Format   int    `json:"format"`
		*Header
	}
	endLine struct {
		*End
		SHA256 string `json:"sha256"`
	}
	line struct {
		Record
		End *endLine `json:"end,omitempty"`
	}
)

// What can be wrong with a file. Each is a sentence of which the file is the
// subject.
var (
	ErrNotBackup = errors.New("is not a carillon backup")
	ErrNewer     = errors.New("was written by a newer carillon")
	ErrTruncated = errors.New("is truncated")
	ErrAltered   = errors.New("is damaged or was altered")
)

// keysOf returns the ids of the keys that seal a job's secrets, each once. A
// secret that is not sealed is an error: it must not leave the cluster.
func keysOf(j *job.Snapshot) (map[string]bool, error) {
	ids := make(map[string]bool)
	var wrong error
	visit := func(place string, s *job.Secret) {
		id, err := keyOf(*s)
		if err != nil && wrong == nil {
			wrong = fmt.Errorf("%s of job %s %w: write the job with its secrets anew", place, j.Job.ID(), err)
		}
		ids[id] = true
	}
	for _, d := range append([]*job.Job{j.Job}, j.Older...) {
		d.Action.Secrets(visit)
		if d.Action.Error != nil {
			d.Action.Error.Secrets(visit)
		}
	}
	return ids, wrong
}

// keyOf returns the id of the key that a secret is sealed with. A sealed secret
// begins with it, as Tink writes it: 1, then four bytes.
func keyOf(s job.Secret) (string, error) {
	if !s.Sealed() {
		return "", errors.New("is not sealed")
	}
	b, err := base64.RawStdEncoding.DecodeString(string(s)[len(job.SealedPrefix):])
	if err != nil || len(b) <= 5 || b[0] != 1 {
		return "", errors.New("is damaged")
	}
	return fmt.Sprintf("%08x", binary.BigEndian.Uint32(b[1:5])), nil
}
