package gosdk

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler"
)

// A job is created, read, replaced, patched and deleted. Each answer is the whole
// resource.
func TestJob(t *testing.T) {
	t.Parallel()
	c := connected(t)
	want := scheduler.JobDefinition{
		ID: c.id(collection, "jobs", "Angelus"), Type: new("Microsoft.Scheduler/jobCollections/jobs"), Name: new(collection + "/Angelus"),
		Properties: &scheduler.JobProperties{
			StartTime:  at(later),
			Action:     &scheduler.JobAction{Type: scheduler.HTTPS, Request: request(nil)},
			Recurrence: &scheduler.JobRecurrence{Frequency: "day", Interval: new(int32(2)), Count: new(int32(10))},
			State:      "enabled",
			Status:     neverRun(),
		},
	}
	want.Properties.Status.NextExecutionTime = at(later)
	put := *want.Properties
	put.Recurrence = &scheduler.JobRecurrence{Frequency: scheduler.Day, Interval: new(int32(2)), Count: new(int32(10))}
	put.State = scheduler.JobStateEnabled
	created := c.put("Angelus", put)
	wantStatus(t, created.Response, http.StatusCreated)
	same(t, created, want)
	same(t, c.get("Angelus"), want)

	// Names match in any case and keep theirs, of resource group, collection and job.
	other, err := c.jobs.Get(t.Context(), strings.ToUpper(group), strings.ToUpper(collection), "aNGELUS")
	checked(t, other, err)
	same(t, other, want)

	replaced := c.put("ANGELUS", *created.Properties)
	wantStatus(t, replaced.Response, http.StatusOK)
	same(t, replaced, want)

	// PATCH merges: the rest of the recurrence stays, count too.
	patched := c.patch("Angelus", scheduler.JobProperties{Recurrence: &scheduler.JobRecurrence{Frequency: scheduler.Week, Interval: new(int32(3))}})
	wantStatus(t, patched.Response, http.StatusOK)
	want.Properties.Recurrence = &scheduler.JobRecurrence{Frequency: "week", Interval: new(int32(3)), Count: new(int32(10))}
	same(t, patched, want)

	patched = c.patch("Angelus", scheduler.JobProperties{StartTime: at(later.AddDate(0, 0, 1))})
	want.Properties.StartTime = at(later.AddDate(0, 0, 1))
	want.Properties.Status.NextExecutionTime = want.Properties.StartTime
	same(t, patched, want)
	same(t, c.get("Angelus"), want)

	// PUT replaces: once, now without recurrence.
	replaced = c.put("Angelus", scheduler.JobProperties{StartTime: at(later), Action: want.Properties.Action})
	want.Properties.StartTime, want.Properties.Recurrence = at(later), nil
	want.Properties.Status.NextExecutionTime = at(later)
	same(t, replaced, want)

	deleted, err := c.jobs.Delete(t.Context(), group, collection, "Angelus")
	checked(t, deleted, err)
	wantStatus(t, deleted, http.StatusOK)
	_, err = c.jobs.Get(t.Context(), group, collection, "Angelus")
	wantError(t, err, http.StatusNotFound, "NotFound", "Job 'Angelus' cannot be found.")
}

// neverRun is the status of a job that has not run.
func neverRun() *scheduler.JobStatus {
	return &scheduler.JobStatus{ExecutionCount: new(int32(0)), FailureCount: new(int32(0)), FaultedCount: new(int32(0))}
}

// A disabled job has no next execution, and no status at all while it never ran.
// It may be run nevertheless.
func TestJobStates(t *testing.T) {
	t.Parallel()
	c, target := connected(t), newTarget(t)
	daily := scheduler.JobProperties{
		StartTime: at(later), Recurrence: &scheduler.JobRecurrence{Frequency: scheduler.Day},
		Action: &scheduler.JobAction{Type: scheduler.HTTP, Request: &scheduler.HTTPRequest{URI: &target.URL, Method: new("GET")}},
		State:  scheduler.JobStateDisabled,
	}
	created := c.put("j", daily)
	if p := created.Properties; p.State != "disabled" || p.Status != nil {
		t.Errorf("put disabled: state %s, status %v", p.State, p.Status)
	}
	c.run("j")
	ran := c.settled("j", 1)
	same(t, ran.State, scheduler.JobState("disabled"))
	same(t, ran.Status.NextExecutionTime, nilTime)

	enabled := c.patch("j", scheduler.JobProperties{State: scheduler.JobStateEnabled}).Properties
	same(t, enabled.State, scheduler.JobState("enabled"))
	same(t, enabled.Status.NextExecutionTime, at(later))
	same(t, enabled.Status.ExecutionCount, new(int32(1)))

	// An extra run, before startTime, leaves the schedule alone.
	c.run("j")
	ran = c.settled("j", 2)
	same(t, ran.Status.NextExecutionTime, at(later))

	disabled := c.patch("j", scheduler.JobProperties{State: scheduler.JobStateDisabled}).Properties
	same(t, disabled.State, scheduler.JobState("disabled"))
	same(t, disabled.Status.NextExecutionTime, nilTime)
	same(t, disabled.Status.ExecutionCount, new(int32(2)))
}

// A collection takes its jobs with it, and a job made again is another.
func TestDeleted(t *testing.T) {
	t.Parallel()
	c, target := connected(t), newTarget(t)
	p := scheduler.JobProperties{StartTime: at(later), Action: call(target.URL)}
	first := c.put("j", p)
	c.run("j")
	c.settled("j", 1)
	deleted, err := c.jobs.Delete(t.Context(), group, collection, "j")
	checked(t, deleted, err)
	same(t, c.put("j", p), first)
	same(t, len(c.history("j", "")), 0)

	deleteCollection(c, collection)
	c.putCollection(collection, scheduler.JobCollectionDefinition{Location: new("West Europe")})
	_, err = c.jobs.Get(t.Context(), group, collection, "j")
	wantError(t, err, http.StatusNotFound, "NotFound", "Job 'j' cannot be found.")
}

// Names may hold what a URL must escape, and links to pages do.
func TestNames(t *testing.T) {
	t.Parallel()
	c := connected(t)
	names := []string{"Glocke (1) à 5$", "Glöckner's @home", "鐘"}
	for _, name := range names {
		created := c.put(name, scheduler.JobProperties{StartTime: at(later), Action: call("http://127.0.0.1/")})
		same(t, created.Name, new(collection+"/"+name))
		same(t, c.get(name), created)
	}
	it, err := c.jobs.ListComplete(t.Context(), group, collection, new(int32(1)), nil, "")
	checked(t, it, err)
	var got []string
	for _, j := range all(t, &it) {
		got = append(got, strings.TrimPrefix(*j.Name, collection+"/"))
	}
	same(t, got, names)
}

// Times of any zone are answered in UTC, to .NET's 100 ns.
func TestTimes(t *testing.T) {
	t.Parallel()
	c := connected(t)
	start := later.Add(123456789).In(time.FixedZone("", 19800))
	end := later.AddDate(0, 1, 0).In(time.FixedZone("", -3600))
	got := c.put("j", scheduler.JobProperties{
		StartTime: at(start), Action: call("http://127.0.0.1/"), Recurrence: &scheduler.JobRecurrence{Frequency: scheduler.Day, EndTime: at(end)},
	}).Properties
	same(t, got.StartTime, at(later.Add(123456800)))
	same(t, got.Recurrence.EndTime, at(end.UTC()))
}

// This SDK writes a request that has no authentication with an explicit null,
// which a PATCH takes for what it is: the authentication goes.
func TestPatchOfRequest(t *testing.T) {
	t.Parallel()
	c := connected(t)
	basic := scheduler.BasicAuthentication{Username: new("quasimodo"), Password: new(secret)}
	c.put("j", scheduler.JobProperties{StartTime: at(later), Action: &scheduler.JobAction{Type: scheduler.HTTPS, Request: request(basic)}})
	patched := c.patch("j", scheduler.JobProperties{Action: &scheduler.JobAction{Request: &scheduler.HTTPRequest{Body: new("changed")}}})
	want := request(nil)
	want.Body = new("changed")
	same(t, patched.Properties.Action, &scheduler.JobAction{Type: scheduler.HTTPS, Request: want})
}
