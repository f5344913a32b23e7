package gosdk

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler"
	"github.com/Azure/go-autorest/autorest/date"
)

// What is not there is 404, in Azure's words, to every operation.
func TestNotFound(t *testing.T) {
	t.Parallel()
	c := connected(t)
	const (
		noCollection = "The Resource 'Microsoft.Scheduler/jobcollections/Nix' under resource group 'rg' was not found."
		noJob        = "Job 'Nix' cannot be found."
	)
	job := scheduler.JobDefinition{Properties: &scheduler.JobProperties{Action: call("http://127.0.0.1/")}}
	for _, row := range []struct {
		name, code, message string
		do                  func(ctx context.Context) error
	}{
		{"collection", "ResourceNotFound", noCollection, func(ctx context.Context) error {
			_, err := c.collections.Get(ctx, group, "Nix")
			return err
		}},
		{"collection in another group", "ResourceNotFound", "The Resource 'Microsoft.Scheduler/jobcollections/jc' under resource group 'other' was not found.", func(ctx context.Context) error {
			_, err := c.collections.Get(ctx, "other", collection)
			return err
		}},
		{"patch of a collection", "ResourceNotFound", noCollection, func(ctx context.Context) error {
			_, err := c.collections.Patch(ctx, group, "Nix", scheduler.JobCollectionDefinition{})
			return err
		}},
		{"put of a job into no collection", "ResourceNotFound", noCollection, func(ctx context.Context) error {
			_, err := c.jobs.CreateOrUpdate(ctx, group, "Nix", "j", job)
			return err
		}},
		{"list of jobs of no collection", "ResourceNotFound", noCollection, func(ctx context.Context) error {
			_, err := c.jobs.List(ctx, group, "Nix", nil, nil, "")
			return err
		}},
		{"job", "NotFound", noJob, func(ctx context.Context) error {
			_, err := c.jobs.Get(ctx, group, collection, "Nix")
			return err
		}},
		{"patch of a job", "NotFound", noJob, func(ctx context.Context) error {
			_, err := c.jobs.Patch(ctx, group, collection, "Nix", job)
			return err
		}},
		{"delete of a job", "NotFound", noJob, func(ctx context.Context) error {
			_, err := c.jobs.Delete(ctx, group, collection, "Nix")
			return err
		}},
		{"run", "NotFound", noJob, func(ctx context.Context) error {
			_, err := c.jobs.Run(ctx, group, collection, "Nix")
			return err
		}},
		{"history", "NotFound", noJob, func(ctx context.Context) error {
			_, err := c.jobs.ListJobHistory(ctx, group, collection, "Nix", nil, nil, "")
			return err
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			wantError(t, row.do(t.Context()), http.StatusNotFound, row.code, row.message)
		})
	}

	// The SDK makes an error of the long operations' 404, too, if a poorer one.
	for name, do := range map[string]func() (err error){
		"delete":  func() (err error) { _, err = c.collections.Delete(t.Context(), group, "Nix"); return err },
		"enable":  func() (err error) { _, err = c.collections.Enable(t.Context(), group, "Nix"); return err },
		"disable": func() (err error) { _, err = c.collections.Disable(t.Context(), group, "Nix"); return err },
	} {
		wantServiceError(t, name, do(), "ResourceNotFound", noCollection)
	}
}

// A definition that is wrong is 400, and the message names the field.
func TestBadRequest(t *testing.T) {
	t.Parallel()
	c := connected(t)
	for _, row := range []struct {
		name    string
		change  func(p *scheduler.JobProperties)
		message string
	}{
		{"no action", func(p *scheduler.JobProperties) { p.Action = nil }, "action.type must be Http, Https, StorageQueue, ServiceBusQueue or ServiceBusTopic"},
		{"no request", func(p *scheduler.JobProperties) { p.Action.Request = nil }, "action.request must be given with type Http"},
		{"no uri", func(p *scheduler.JobProperties) { p.Action.Request.URI = nil }, "action.request.uri must be given"},
		{"http for Https", func(p *scheduler.JobProperties) { p.Action.Type = scheduler.HTTPS }, "action.request.uri must begin with https:// with type Https"},
		{"method", func(p *scheduler.JobProperties) { p.Action.Request.Method = new("RING") }, "action.request.method must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS"},
		{"no queue", func(p *scheduler.JobProperties) { p.Action.Type = scheduler.StorageQueue }, "action.queueMessage must be given with type StorageQueue"},
		{"retry count", func(p *scheduler.JobProperties) { p.Action.RetryPolicy.RetryCount = new(int32(21)) }, "action.retryPolicy.retryCount must be between 0 and 20"},
		{"frequency", func(p *scheduler.JobProperties) { p.Recurrence.Frequency = "Fortnight" }, "recurrence.frequency must be second, minute, hour, day, week, month or year"},
		{"empty hours", func(p *scheduler.JobProperties) {
			p.Recurrence.Schedule = &scheduler.JobRecurrenceSchedule{Hours: &[]int32{}}
		}, "recurrence.schedule.hours must not be empty"},
		{"endTime in the past", func(p *scheduler.JobProperties) { p.Recurrence.EndTime = at(time.Now().AddDate(0, 0, -1)) }, "recurrence.endTime must not be in the past"},
		{"startTime too far ahead", func(p *scheduler.JobProperties) { p.StartTime = &date.Time{Time: time.Now().AddDate(2, 0, 0)} }, "startTime must be at most 18 months ahead"},
		{"state", func(p *scheduler.JobProperties) { p.State = "Resting" }, "state must be enabled or disabled"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := scheduler.JobProperties{Action: call("http://127.0.0.1/"), Recurrence: &scheduler.JobRecurrence{Frequency: scheduler.Day}}
			row.change(&p)
			_, err := c.jobs.CreateOrUpdate(t.Context(), group, collection, "j", scheduler.JobDefinition{Properties: &p})
			wantError(t, err, http.StatusBadRequest, "BadRequest", row.message)
		})
	}
	_, err := c.jobs.List(t.Context(), group, collection, nil, nil, "state eq Resting")
	wantError(t, err, http.StatusBadRequest, "BadRequest", `$filter must be "state eq" and one of enabled, disabled, completed, faulted`)
	_, err = c.collections.CreateOrUpdate(t.Context(), group, "x", scheduler.JobCollectionDefinition{})
	wantError(t, err, http.StatusBadRequest, "BadRequest", "location must be given")
}

// What a collection does not allow is 409. The SDK parses the body of each, and
// would register the subscription if that asked for it.
func TestConflict(t *testing.T) {
	t.Parallel()
	c := connect(t)
	with := func(sku scheduler.SkuDefinition, quota *scheduler.JobCollectionQuota) scheduler.JobCollectionDefinition {
		return scheduler.JobCollectionDefinition{
			Location: new("West Europe"), Properties: &scheduler.JobCollectionProperties{Sku: &scheduler.Sku{Name: sku}, Quota: quota},
		}
	}
	job := func(f scheduler.RecurrenceFrequency) scheduler.JobDefinition {
		return scheduler.JobDefinition{Properties: &scheduler.JobProperties{
			StartTime: at(later), Action: call("http://127.0.0.1/"), Recurrence: &scheduler.JobRecurrence{Frequency: f},
		}}
	}
	c.putCollection(collection, with(scheduler.Standard, &scheduler.JobCollectionQuota{MaxJobCount: new(int32(1))}))
	_, err := c.jobs.CreateOrUpdate(t.Context(), group, collection, "one", job(scheduler.Minute))
	checked(t, 0, err)

	_, err = c.jobs.CreateOrUpdate(t.Context(), group, collection, "two", job(scheduler.Minute))
	wantError(t, err, http.StatusConflict, "Conflict", "The job collection holds as many jobs as its quota allows. Delete one, or raise the quota's maxJobCount.")
	_, err = c.jobs.CreateOrUpdate(t.Context(), group, collection, "one", job("Second"))
	wantError(t, err, http.StatusConflict, "Conflict", "The job's recurrence is faster than its collection allows, which is once in 1 minute.")

	c.putCollection("free", with(scheduler.Free, nil))
	_, err = c.collections.CreateOrUpdate(t.Context(), group, "free2", with(scheduler.Free, nil))
	wantError(t, err, http.StatusConflict, "Conflict", "A subscription may have one Free job collection, and it has 'free' in resource group 'rg'.")
	_, err = c.collections.Patch(t.Context(), group, collection, with(scheduler.Standard, &scheduler.JobCollectionQuota{
		MaxRecurrence: &scheduler.JobMaxRecurrence{Frequency: scheduler.Hour, Interval: new(int32(1))},
	}))
	wantError(t, err, http.StatusConflict, "Conflict", "Job 'one' does not fit what job collection 'jc' is to become: The job's recurrence is faster than its collection allows, which is once in 1 hour.")
	_, err = c.jobs.CreateOrUpdate(t.Context(), group, "free", "j", scheduler.JobDefinition{Properties: &scheduler.JobProperties{
		Action: &scheduler.JobAction{Type: scheduler.HTTPS, Request: request(scheduler.BasicAuthentication{Username: new("u"), Password: new(secret)})},
	}})
	wantError(t, err, http.StatusConflict, "Conflict", "A Free collection does not allow action.request.authentication.")
}
