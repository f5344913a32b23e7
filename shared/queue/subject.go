package queue

import (
	"fmt"
	"strconv"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// token checks that s, an execution tag or a uid, can be a token of a subject.
// Names that users give never are.
func token(what, s string) error {
	if s == "" || len(s) > 64 {
		return fmt.Errorf("%s %q must have 1 to 64 characters", what, s)
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return fmt.Errorf("%s %q has a character other than 0-9 and a-z", what, s)
		}
	}
	return nil
}

func (q *Queue) dispatchSubject(shard int, tag string) (string, error) {
	if err := q.shard(shard); err != nil {
		return "", err
	}
	return "dispatch." + strconv.Itoa(shard) + "." + tag, token("execution tag", tag)
}

func (q *Queue) historySubject(shard int, uid string) (string, error) {
	if err := q.shard(shard); err != nil {
		return "", err
	}
	return "history." + strconv.Itoa(shard) + "." + uid, token("uid", uid)
}

func (q *Queue) entrySubject(e *job.Entry) (string, error) {
	if err := q.shard(e.Shard); err != nil {
		return "", err
	}
	kind, err := entryKind(e)
	if err != nil {
		return "", err
	}
	return "definitions." + strconv.Itoa(e.Shard) + "." + kind + "." + e.UID, token("uid", e.UID)
}

// entryKind says under which kind an entry is kept. A deletion is kept with
// what it deletes, so that it drives out older revisions.
func entryKind(e *job.Entry) (string, error) {
	var kinds []string
	for _, k := range []struct {
		name string
		set  bool
	}{
		{"collection", e.Collection != nil},
		{"job", e.Job != nil},
		{"run", e.Run != nil},
		{"checkpoint", e.Checkpoint != nil},
	} {
		if k.set {
			kinds = append(kinds, k.name)
		}
	}
	switch {
	case len(kinds) != 1:
		return "", fmt.Errorf("journal entry of %s has %d parts, not one", e.UID, len(kinds))
	case e.Deleted && e.Job == nil && e.Collection == nil:
		return "", fmt.Errorf("journal entry of %s deletes a %s", e.UID, kinds[0])
	}
	return kinds[0], nil
}

// The filters for all messages of a shard.
func dispatchesOf(shard int) string { return "dispatch." + strconv.Itoa(shard) + ".*" }
func historyOf(shard int) string    { return "history." + strconv.Itoa(shard) + ".*" }
func entriesOf(shard int) string    { return "definitions." + strconv.Itoa(shard) + ".*.*" }

// entriesAbout is the filter for the entries of a job or collection.
func entriesAbout(shard int, uid string) string {
	return "definitions." + strconv.Itoa(shard) + ".*." + uid
}
