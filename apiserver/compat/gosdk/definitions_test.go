package gosdk

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/services/scheduler/mgmt/2016-03-01/scheduler"
)

// later is when jobs start that are not to run in a test.
var later = time.Now().UTC().Truncate(time.Hour).AddDate(0, 0, 2)

// Each type of action, and of authentication, is accepted as action and as error
// action. It is answered without its secrets, goes in again when these are put
// back, is refused by PUT when they are not, and keeps them under PATCH.
func TestActions(t *testing.T) {
	t.Parallel()
	c := connected(t)
	for _, row := range actionRows(t) {
		name := strings.ReplaceAll(row.name, " ", "_")
		put, want := row.put, row.want
		put.ErrorAction, want.ErrorAction = asErrorAction(row.put), asErrorAction(row.want)
		answer := scheduler.JobDefinition{
			ID: c.id(collection, "jobs", name), Type: new("Microsoft.Scheduler/jobCollections/jobs"), Name: new(collection + "/" + name),
			Properties: &scheduler.JobProperties{
				StartTime: at(later), Action: &want, State: "enabled",
				Status: &scheduler.JobStatus{
					NextExecutionTime: at(later), ExecutionCount: new(int32(0)), FailureCount: new(int32(0)), FaultedCount: new(int32(0)),
				},
			},
		}
		t.Run(row.name, func(t *testing.T) {
			c := *c
			c.t = t
			created := c.put(name, scheduler.JobProperties{StartTime: at(later), Action: &put})
			wantStatus(t, created.Response, http.StatusCreated)
			same(t, created, answer)
			read := c.get(name)
			same(t, read, answer)

			again := *read.Properties
			again.Action = completed(again.Action, &row.put)
			replaced := c.put(name, again)
			wantStatus(t, replaced.Response, http.StatusOK)
			same(t, replaced, answer)

			same(t, c.patch(name, *read.Properties), answer)

			if row.secret == "" {
				return
			}
			for _, path := range []string{"action.", "action.errorAction."} {
				lacking := *completed(read.Properties.Action, &row.put)
				if path == "action." {
					withoutSecret := *read.Properties.Action
					withoutSecret.ErrorAction = lacking.ErrorAction
					lacking = withoutSecret
				} else {
					lacking.ErrorAction = read.Properties.Action.ErrorAction
				}
				_, err := c.jobs.CreateOrUpdate(t.Context(), group, collection, name, scheduler.JobDefinition{
					Properties: &scheduler.JobProperties{Action: &lacking},
				})
				wantError(t, err, http.StatusBadRequest, "BadRequest", path+row.secret+" must be given: answers leave secrets out")
			}
		})
	}
}

// completed returns an action that was read with the secrets of the one that was
// put, as its error action's too.
func completed(read, put *scheduler.JobAction) *scheduler.JobAction {
	a := *read
	if a.Request != nil {
		r := *a.Request
		r.Authentication = completedAuthentication(r.Authentication, put.Request.Authentication)
		a.Request = &r
	}
	if a.QueueMessage != nil {
		m := *a.QueueMessage
		m.SasToken = put.QueueMessage.SasToken
		a.QueueMessage = &m
	}
	if a.ServiceBusQueueMessage != nil {
		m, auth := *a.ServiceBusQueueMessage, *a.ServiceBusQueueMessage.Authentication
		auth.SasKey, m.Authentication = put.ServiceBusQueueMessage.Authentication.SasKey, &auth
		a.ServiceBusQueueMessage = &m
	}
	if a.ServiceBusTopicMessage != nil {
		m, auth := *a.ServiceBusTopicMessage, *a.ServiceBusTopicMessage.Authentication
		auth.SasKey, m.Authentication = put.ServiceBusTopicMessage.Authentication.SasKey, &auth
		a.ServiceBusTopicMessage = &m
	}
	a.ErrorAction = asErrorAction(a)
	return &a
}

func completedAuthentication(read, put scheduler.BasicHTTPAuthentication) scheduler.BasicHTTPAuthentication {
	switch read := read.(type) {
	case scheduler.BasicAuthentication:
		read.Password = put.(scheduler.BasicAuthentication).Password
		return read
	case scheduler.OAuthAuthentication:
		read.Secret = put.(scheduler.OAuthAuthentication).Secret
		return read
	case scheduler.ClientCertAuthentication:
		full := put.(scheduler.ClientCertAuthentication)
		read.Pfx, read.Password = full.Pfx, full.Password
		return read
	default:
		return read
	}
}

// Retry policies, of an action and of its error action.
func TestRetryPolicies(t *testing.T) {
	t.Parallel()
	c := connected(t)
	fixed := func(interval string, count *int32) *scheduler.RetryPolicy {
		return &scheduler.RetryPolicy{RetryType: "fixed", RetryInterval: &interval, RetryCount: count}
	}
	for _, row := range []struct {
		name      string
		put, want *scheduler.RetryPolicy
	}{
		{"the default is not answered", nil, nil},
		{"none", &scheduler.RetryPolicy{RetryType: scheduler.None}, &scheduler.RetryPolicy{RetryType: "none"}},
		{"fixed", &scheduler.RetryPolicy{RetryType: scheduler.Fixed, RetryInterval: new("00:01:00"), RetryCount: new(int32(2))}, fixed("00:01:00", new(int32(2)))},
		{"fixed alone", &scheduler.RetryPolicy{RetryType: scheduler.Fixed}, &scheduler.RetryPolicy{RetryType: "fixed"}},
		{"no retry after all", fixed("00:00:15", new(int32(0))), fixed("00:00:15", new(int32(0)))},
		{"days", fixed("30.12:00:00", nil), fixed("30.12:00:00", nil)},
		{"ISO 8601", fixed("PT30S", nil), fixed("00:00:30", nil)},
		{"ISO 8601 in days", fixed("P1D", nil), fixed("1.00:00:00", nil)},
		{"as the documentation has a day", fixed("PT1D", nil), fixed("1.00:00:00", nil)},
		{"the longest", fixed("P18M", new(int32(20))), fixed("545.00:00:00", new(int32(20)))},
	} {
		action := scheduler.JobAction{Type: scheduler.HTTPS, Request: request(nil), RetryPolicy: row.put}
		action.ErrorAction = asErrorAction(action)
		got := c.put("j", scheduler.JobProperties{StartTime: at(later), Action: &action}).Properties.Action
		t.Run(row.name, func(t *testing.T) {
			same(t, got.RetryPolicy, row.want)
			same(t, got.ErrorAction.RetryPolicy, row.want)
		})
	}
}
