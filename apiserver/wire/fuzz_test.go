package wire

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// checkRead checks that an error is an InvalidError with a field and a reason.
func checkRead(t *testing.T, err error) {
	t.Helper()
	var invalid *job.InvalidError
	if !errors.As(err, &invalid) || invalid.Field == "" || invalid.Reason == "" {
		t.Fatalf("error %#v is no InvalidError with a field and a reason", err)
	}
}

// checkStable checks that a definition, written, is read as the same: by a PATCH
// of it onto itself, since a PUT would lack the secrets.
func checkStable(t *testing.T, d job.Definition) {
	t.Helper()
	again, err := PatchJob(d, []byte(`{"properties":`+written(t, d)+`}`))
	if err != nil {
		t.Fatalf("%s is not read back: %v", written(t, d), err)
	}
	if diff := cmp.Diff(d, again); diff != "" {
		t.Fatal(diff)
	}
}

// seeds adds documents of every kind.
func seeds(f *testing.F) {
	for _, s := range []string{
		`{"properties":{}}`,
		`{"properties":` + stored + `}`,
		`{"properties":{"action":{"type":"ServiceBusTopic","serviceBusTopicMessage":{"topicPath":"t","namespace":"n","authentication":{"sasKeyName":"k","sasKey":"s"},"brokeredMessageProperties":{"timeToLive":"P1D","forcePersistence":false},"customMessageProperties":{"A":"1","a":"2"}},"retryPolicy":{"retryType":"none","retryCount":"1"}}}}`,
		`{"properties":{"action":{"type":"Http","request":{"authentication":{"type":"ActiveDirectoryOAuth","secret":"s"}}},"recurrence":{"frequency":"month","schedule":{"hours":24,"minutes":[],"months":1,"monthDays":[-1],"monthlyOccurrences":[{"day":"friday","Occurrence":1}]}}}}`,
		`{"properties":{"action":{"type":"Http","errorAction":{}}}}`,
		`{"properties":{"retryPolicy":{},"errorAction":{"type":"Http"},"startTime":"2012-08-04T00:00Z","recurrence":{"endTime":"2012-11-04","count":1}}}`,
	} {
		f.Add([]byte(s))
	}
	for _, name := range []string{"job.put.json", "job.json", "collection.json", "http-job.jsonc", "storage-queue-action.jsonc"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

func FuzzReadJob(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := ReadJob(body)
		if err != nil {
			checkRead(t, err)
			return
		}
		checkStable(t, d)
		_ = d.Validate(d.StartAt, job.Ceilings{})
	})
}

func FuzzReadLoose(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := ReadLoose(body)
		if err != nil {
			checkRead(t, err)
			return
		}
		// Without its secrets, which are not written, it is read as the same.
		without, err := ReadLoose([]byte(written(t, d)))
		if err != nil {
			t.Fatalf("%s is not read back: %v", written(t, d), err)
		}
		if diff := cmp.Diff(written(t, d), written(t, without)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzPatchJob(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		was, err := ReadJob([]byte(`{"properties":` + stored + `}`))
		if err != nil {
			t.Fatal(err)
		}
		d, err := PatchJob(was, body)
		if err != nil {
			checkRead(t, err)
			return
		}
		checkStable(t, d)
		again, err := PatchJob(d, body)
		if err != nil {
			t.Fatalf("patched twice: %v", err)
		}
		if diff := cmp.Diff(d, again); diff != "" {
			t.Fatalf("patched twice: %s", diff)
		}
	})
}

func FuzzCollection(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := ReadCollection(body)
		if err != nil {
			checkRead(t, err)
			return
		}
		again, err := ReadCollection(WriteCollection(&c))
		if diff := cmp.Diff(c, again); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
		_ = c.Validate(job.Ceilings{})
	})
}
