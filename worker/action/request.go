package action

import (
	"strconv"

	"github.com/google/uuid"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// RequestID returns the id of the attempt's request: a guid made of tag, phase
// and attempt, so that an attempt performed again after a crash is known by it.
func RequestID(d *job.Dispatch) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("urn:carillon:"+d.Tag+"/"+string(d.Phase)+"/"+strconv.Itoa(d.RetryCount))).String()
}
