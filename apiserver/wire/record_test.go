package wire

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

func record() *job.Record {
	start := time.Date(2015, 11, 13, 23, 17, 2, 404_790_800, time.UTC)
	return &job.Record{
		Result: job.Result{
			Attempt: job.Attempt{
				Run: job.Run{At: start.Truncate(time.Minute), Repeat: 9, Phase: job.MainAction},
				Ref: job.Ref{CollectionRef: collectionRef(), Job: "http_job"},
			},
			StartedAt: start,
			EndedAt:   start.Add(93_705_700),
			Outcome:   job.Failed,
			Message: "Http Action - Request to host 'www.bing1111.com' failed: NameResolutionFailure " +
				"The remote name could not be resolved: 'www.bing1111.com'",
		},
		Sequence: 789253, // such that the name is the recorded one
	}
}

// The row of AZURE §5, its name included.
func TestWriteRecord(t *testing.T) {
	if diff := cmp.Diff(string(golden(t, "record.json")), string(WriteRecord(record()))); diff != "" {
		t.Error(diff)
	}
}

func TestRecordRules(t *testing.T) {
	for _, c := range []struct {
		rule   string
		change func(r *job.Record)
		want   string
	}{
		{
			"status is absent for a completed one", func(r *job.Record) { r.Outcome = job.Succeeded },
			`"expectedExecutionTime":"2015-11-13T23:17:00Z","message":"m","retryCount":0,"repeatCount":9,"actionName":"MainAction"}}`,
		},
		{
			"postponed", func(r *job.Record) { r.Outcome = job.Postponed; r.RetryCount = 2 },
			`"expectedExecutionTime":"2015-11-13T23:17:00Z","status":"postponed","message":"m","retryCount":2,"repeatCount":9,"actionName":"MainAction"}}`,
		},
		{
			"error action", func(r *job.Record) { r.Phase = job.ErrorAction },
			`"expectedExecutionTime":"2015-11-13T23:17:00Z","status":"failed","message":"m","retryCount":0,"repeatCount":9,"actionName":"ErrorAction"}}`,
		},
		{
			"skipped", func(r *job.Record) { r.Outcome = job.Skipped; r.StartedAt, r.EndedAt = time.Time{}, time.Time{} },
			`"startTime":"2015-11-13T23:17:00Z","endTime":"2015-11-13T23:17:00Z","expectedExecutionTime":"2015-11-13T23:17:00Z","status":"skipped","message":"m","retryCount":0,"repeatCount":9,"actionName":"MainAction"}}`,
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r := record()
			r.Message = "m"
			c.change(r)
			if got := string(WriteRecord(r)); !strings.HasSuffix(got, c.want) {
				t.Errorf("%s does not end in %s", got, c.want)
			}
		})
	}
}

// AZURE §5: "so that names sort newest first; second = any unique number".
func TestRecordNamesSort(t *testing.T) {
	var names []string
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		start    time.Time
		sequence uint64
	}{{at.AddDate(30, 0, 0), 9}, {at.Add(100), 1}, {at, 12}, {at, 2}, {at.AddDate(-30, 0, 0), 1}, {time.Unix(0, 0), 0}} {
		r := &job.Record{Result: job.Result{StartedAt: c.start}, Sequence: c.sequence}
		var row struct{ Name string }
		if err := json.Unmarshal(WriteRecord(r), &row); err != nil {
			t.Fatal(err)
		}
		if len(row.Name) != len("//")+20+1+20 {
			t.Errorf("name %s has not two numbers of 20 digits", row.Name)
		}
		names = append(names, row.Name)
	}
	if !slices.IsSorted(names) || len(slices.Compact(names)) != 6 {
		t.Errorf("names do not sort newest first: %q", names)
	}
}
