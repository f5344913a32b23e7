package wire

import (
	"fmt"
	"math"
	"time"

	"github.com/carillon-scheduler/carillon/shared/job"
)

type (
	recordResource struct {
		ID         string           `json:"id"`
		Type       string           `json:"type"`
		Name       string           `json:"name"`
		Properties recordProperties `json:"properties"`
	}
	recordProperties struct {
		StartTime             string      `json:"startTime"`
		EndTime               string      `json:"endTime"`
		ExpectedExecutionTime string      `json:"expectedExecutionTime"`
		Status                job.Outcome `json:"status,omitempty"` // none for a completed attempt
		Message               string      `json:"message"`
		RetryCount            int         `json:"retryCount"`
		RepeatCount           int64       `json:"repeatCount"`
		ActionName            job.Phase   `json:"actionName"`
	}
)

// WriteRecord returns a row of a job's history. A completed attempt has no
// status, as with the live service. The status skipped is ours: the .NET SDK,
// and PowerShell with it, cannot read a page that has it, so show such rows only
// to who asks for them.
func WriteRecord(r *job.Record) []byte {
	name := recordName(r)
	w := recordResource{
		ID:   r.ID() + "/history/" + name,
		Type: job.Provider + "/jobCollections/jobs/history",
		Name: r.Collection + "/" + r.Job + "/" + name,
		Properties: recordProperties{
			StartTime:             FormatTime(startOf(r)),
			EndTime:               FormatTime(later(startOf(r), r.EndedAt)),
			ExpectedExecutionTime: FormatTime(r.At),
			Status:                r.Outcome,
			Message:               r.Message,
			RetryCount:            r.RetryCount,
			RepeatCount:           r.Repeat,
			ActionName:            r.Phase,
		},
	}
	if r.Outcome == job.Succeeded {
		w.Properties.Status = ""
	}
	return marshal(w)
}

// recordName returns a name such that a job's newest record has the least: what
// is left of .NET's ticks after its start, then what is left of the sequence,
// which makes it unique.
func recordName(r *job.Record) string {
	const (
		maxTicks    = 3_155_378_975_999_999_999 // DateTime.MaxValue.Ticks
		unixEpoch   = 62_135_596_800            // in seconds since the year 1
		tickSeconds = int64(time.Second / tick)
	)
	start := startOf(r).Round(tick)
	ticks := (start.Unix()+unixEpoch)*tickSeconds + int64(start.Nanosecond())/int64(tick)
	return fmt.Sprintf("%020d:%020d", maxTicks-ticks, math.MaxInt64-r.Sequence)
}

// startOf is when an attempt was made, or, if none was, when it should have been.
func startOf(r *job.Record) time.Time {
	if r.StartedAt.IsZero() {
		return r.At
	}
	return r.StartedAt
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
