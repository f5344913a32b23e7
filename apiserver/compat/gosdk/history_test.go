package gosdk

import (
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler"
	"github.com/Azure/go-autorest/autorest/date"
)

var nilTime *date.Time

// call is an action that calls a URI and is retried once, after a second.
func call(uri string) *scheduler.JobAction {
	return &scheduler.JobAction{
		Type:        scheduler.HTTP,
		Request:     &scheduler.HTTPRequest{URI: &uri, Method: new("POST")},
		RetryPolicy: &scheduler.RetryPolicy{RetryType: scheduler.Fixed, RetryInterval: new("00:00:01"), RetryCount: new(int32(1))},
	}
}

// settled waits until a job has executed so many occurrences.
func (c *azureClient) settled(name string, executions int32) *scheduler.JobProperties {
	c.t.Helper()
	return c.until(name, func(p *scheduler.JobProperties) bool {
		return p.Status != nil && *p.Status.ExecutionCount == executions
	})
}

// ended waits until a job is in a final state.
func (c *azureClient) ended(name string, state scheduler.JobState) *scheduler.JobProperties {
	c.t.Helper()
	return c.until(name, func(p *scheduler.JobProperties) bool { return p.State == state })
}

func (c *azureClient) until(name string, done func(*scheduler.JobProperties) bool) *scheduler.JobProperties {
	c.t.Helper()
	var p *scheduler.JobProperties
	eventually(c.t, func() error {
		if p = c.get(name).Properties; !done(p) {
			return fmt.Errorf("%s is still %s, status %+v", name, p.State, p.Status)
		}
		return nil
	})
	return p
}

// A row is what a test can foretell of a row of history.
type row struct {
	Action               scheduler.JobHistoryActionName
	Status               scheduler.JobExecutionStatus // empty, which is the SDK's null, for a completed one
	RetryCount, Repeated int32
	Message              string // what it begins with
}

// wantHistory waits for a job's history to have so many rows, the newest first,
// and checks them.
func wantHistory(c *azureClient, name string, want ...row) []scheduler.JobHistoryDefinition {
	c.t.Helper()
	var list []scheduler.JobHistoryDefinition
	eventually(c.t, func() error {
		if list = c.history(name, ""); len(list) < len(want) {
			return fmt.Errorf("%d rows of history, want %d", len(list), len(want))
		}
		return nil
	})
	var got []row
	names := regexp.MustCompile(`^` + collection + `/` + name + `/\d{20}:\d{20}$`)
	for i, h := range list {
		p := h.Properties
		message := *p.Message
		if i < len(want) && strings.HasPrefix(message, want[i].Message) {
			message = want[i].Message
		}
		got = append(got, row{p.ActionName, p.Status, *p.RetryCount, *p.RepeatCount, message})
		record := (*h.Name)[strings.LastIndex(*h.Name, "/")+1:]
		same(c.t, h.ID, c.id(collection, "jobs", name, "history", record))
		same(c.t, h.Type, new("Microsoft.Scheduler/jobCollections/jobs/history"))
		if !names.MatchString(*h.Name) {
			c.t.Errorf("name %s", *h.Name)
		}
		if p.StartTime.Before(p.ExpectedExecutionTime.Time) || p.EndTime.Before(p.StartTime.Time) {
			c.t.Errorf("expected %v, started %v, ended %v", p.ExpectedExecutionTime, p.StartTime, p.EndTime)
		}
		if i > 0 && *list[i-1].Name > *h.Name {
			c.t.Errorf("%s stands before %s", *list[i-1].Name, *h.Name)
		}
	}
	same(c.t, got, want)
	return list
}

const (
	answeredOK    = "Http Action - Response from host '127.0.0.1': 'OK' Response Headers: "
	answeredError = "Http Action - Response from host '127.0.0.1': 'InternalServerError' Response Headers: "
	answeredBusy  = "Http Action - Response from host '127.0.0.1': 'TooManyRequests' Response Headers: "
)

// A job that is to run once, with nothing said of when, runs now and is then
// completed. The request is the job's, verbatim.
func TestRunsOnce(t *testing.T) {
	t.Parallel()
	c, target := connected(t), newTarget(t)
	action := call(target.URL + "/bells?n=1")
	action.Request.Method, action.Request.Body = new("PUT"), new("ding dong é")
	action.Request.Headers = map[string]*string{"content-type": new("text/x-bell")}
	action.Request.Authentication = scheduler.BasicAuthentication{Username: new("quasimodo"), Password: new(secret)}
	c.put("once", scheduler.JobProperties{Action: action})

	p := c.ended("once", "completed")
	list := wantHistory(c, "once", row{scheduler.MainAction, "", 0, 1, answeredOK})
	if m := *list[0].Properties.Message; !strings.HasSuffix(m, " Body: bong") {
		t.Errorf("message %q", m)
	}
	same(t, p.Status, &scheduler.JobStatus{
		ExecutionCount: new(int32(1)), FailureCount: new(int32(0)), FaultedCount: new(int32(0)),
		LastExecutionTime: p.Status.LastExecutionTime,
	})
	if p.Status.LastExecutionTime == nil {
		t.Error("no lastExecutionTime")
	}

	got := target.requests()
	if len(got) != 1 {
		t.Fatalf("%d requests", len(got))
	}
	same(t, []string{got[0].Method, got[0].Path, got[0].Body}, []string{"PUT", "/bells", "ding dong é"})
	user, password, _ := (&http.Request{Header: got[0].Header}).BasicAuth()
	same(t,
		[]string{got[0].Header.Get("Content-Type"), got[0].Header.Get("X-Ms-Scheduler-Jobid"), user, password},
		[]string{"text/x-bell", "once", "quasimodo", secret},
	)

	// What is completed is so for good: it can only be deleted.
	_, err := c.jobs.Patch(t.Context(), group, collection, "once", scheduler.JobDefinition{Properties: &scheduler.JobProperties{State: scheduler.JobStateDisabled}})
	const over = "Job 'once' is completed and can no longer be changed or run, only deleted."
	wantError(t, err, http.StatusConflict, "Conflict", over)
	_, err = c.jobs.Run(t.Context(), group, collection, "once")
	wantError(t, err, http.StatusConflict, "Conflict", over)
	deleted, err := c.jobs.Delete(t.Context(), group, collection, "once")
	checked(t, deleted, err)
}

// A password that a PATCH leaves out, as every answer does, stays.
func TestPatchKeepsPassword(t *testing.T) {
	t.Parallel()
	c, target := connected(t), newTarget(t)
	action := call(target.URL)
	action.Request.Authentication = scheduler.BasicAuthentication{Username: new("quasimodo"), Password: new(secret)}
	read := c.put("j", scheduler.JobProperties{StartTime: at(later), Action: action})
	read.Properties.Action.Request.Body = new("changed")
	c.patch("j", *read.Properties)
	c.run("j")
	c.settled("j", 1)
	got := target.requests()[0]
	user, password, _ := (&http.Request{Header: got.Header}).BasicAuth()
	same(t, []string{got.Body, user, password}, []string{"changed", "quasimodo", secret})
}

// A job whose retries fail, too, runs its error action, and is then faulted.
// History has each attempt.
func TestFaulted(t *testing.T) {
	t.Parallel()
	c, target := connected(t), newTarget(t)
	action := call(target.URL + "/fail")
	action.ErrorAction = asErrorAction(*call(target.URL + "/alarm"))
	c.put("j", scheduler.JobProperties{Action: action})
	wantHistory(c, "j",
		row{scheduler.ErrorAction, "", 0, 1, answeredOK},
		row{scheduler.MainAction, "failed", 1, 1, answeredError},
		row{scheduler.MainAction, "failed", 0, 1, answeredError},
	)
	p := c.ended("j", "faulted")
	same(t, p.Status.ExecutionCount, new(int32(1)))
	same(t, p.Status.FailureCount, new(int32(2)))
	same(t, p.Status.FaultedCount, new(int32(1)))
	var paths []string
	for _, r := range target.requests() {
		paths = append(paths, r.Path)
	}
	same(t, paths, []string{"/fail", "/fail", "/alarm"})
	_, err := c.jobs.CreateOrUpdate(t.Context(), group, collection, "j", scheduler.JobDefinition{Properties: &scheduler.JobProperties{Action: action}})
	wantError(t, err, http.StatusConflict, "Conflict", "Job 'j' is faulted and can no longer be changed or run, only deleted.")
}

// A recurring job goes on after a faulted occurrence.
func TestRecurringSurvivesFault(t *testing.T) {
	t.Parallel()
	c := connected(t)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	checked(t, nobody, err)
	nobody.Close()
	action := call("http://" + nobody.Addr().String())
	action.RetryPolicy = &scheduler.RetryPolicy{RetryType: scheduler.None}
	c.put("j", scheduler.JobProperties{Action: action, Recurrence: &scheduler.JobRecurrence{Frequency: scheduler.Day}})
	p := c.settled("j", 1)
	wantHistory(c, "j", row{scheduler.MainAction, "failed", 0, 1, "Http Action - Request to host '127.0.0.1' failed: ConnectFailure Unable to connect to the remote server"})
	same(t, p.State, scheduler.JobState("enabled"))
	same(t, p.Status.FailureCount, new(int32(1)))
	same(t, p.Status.FaultedCount, new(int32(1)))
	same(t, p.Status.NextExecutionTime, at(c.history("j", "")[0].Properties.ExpectedExecutionTime.AddDate(0, 0, 1)))
}

// A target that is too busy, and says until when, is asked again then.
func TestPostponed(t *testing.T) {
	t.Parallel()
	c, target := connected(t), newTarget(t)
	c.put("j", scheduler.JobProperties{Action: call(target.URL + "/busy")})
	wantHistory(c, "j",
		row{scheduler.MainAction, "", 1, 1, answeredOK},
		row{scheduler.MainAction, "postponed", 0, 1, answeredBusy},
	)
	same(t, c.ended("j", "completed").Status.ExecutionCount, new(int32(1)))
}

// A series that has run as often as count says is completed. Frequency second,
// which is ours, goes where the collection's quota allows it.
func TestSeriesEnds(t *testing.T) {
	t.Parallel()
	c, target := connect(t), newTarget(t)
	c.putCollection(collection, scheduler.JobCollectionDefinition{
		Location: new("West Europe"), Properties: &scheduler.JobCollectionProperties{Quota: &scheduler.JobCollectionQuota{
			MaxRecurrence: &scheduler.JobMaxRecurrence{Frequency: "second", Interval: new(int32(1))},
		}},
	})
	c.put("j", scheduler.JobProperties{
		Action: call(target.URL), Recurrence: &scheduler.JobRecurrence{Frequency: "Second", Count: new(int32(3))},
	})
	p := c.ended("j", "completed")
	same(t, p.Status.ExecutionCount, new(int32(3)))
	same(t, p.Status.NextExecutionTime, nilTime)
	wantHistory(c, "j",
		row{scheduler.MainAction, "", 0, 3, answeredOK},
		row{scheduler.MainAction, "", 0, 2, answeredOK},
		row{scheduler.MainAction, "", 0, 1, answeredOK},
	)
}
