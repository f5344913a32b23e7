package wire

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/recur"
)

// Written, completed with the secrets that answers leave out, and read, a
// definition is the same.
func TestRoundTrip(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 123_456_700, time.UTC)
	complete := strings.NewReplacer(
		`"type":"Basic"`, `"type":"Basic","password":"P"`,
		`"type":"ActiveDirectoryOAuth"`, `"type":"ActiveDirectoryOAuth","secret":"S"`,
		`"storageAccount"`, `"sasToken":"T","storageAccount"`,
		`"sasKeyName"`, `"sasKey":"K","sasKeyName"`,
	)
	request := func(a *job.Authentication) *job.Request {
		return &job.Request{
			URI: "https://h:8443/a/b?c=<d>&e#f", Method: "pAtCh", Body: "{\"a\":\"\\u0000 <é> \U0001F550\"}\r\n\t",
			Headers: map[string]string{"X-a": "1", "Content-Type": "text/plain; charset=utf-8", "x-B": ""}, Authentication: a,
		}
	}
	bus := &job.ServiceBusMessage{
		Entity: "a/b.c_d-e", Namespace: "ns.example.org", TransportType: "amqp", AuthType: "sharedAccessKey", SASKeyName: "k", SASKey: "K", Message: "\x00",
		Brokered: &job.BrokeredMessageFields{
			ContentType: "a", CorrelationID: "b", ForcePersistence: new(false), Label: "c", MessageID: "d", PartitionKey: "e", ReplyTo: "f",
			ReplyToSessionID: "g", ScheduledEnqueueTimeUTC: at, SessionID: "h", TimeToLive: new(36*time.Hour + 100), To: "i", ViaPartitionKey: "j",
		},
		Custom: map[string]string{"N": "1", "n": "2", "": "3"},
	}
	queue := &job.QueueMessage{StorageAccount: "acc", QueueName: "que", SASToken: "T", Message: "<&>", Format: job.QueueText}
	for _, d := range []job.Definition{
		{State: job.Enabled, Action: job.Action{Type: job.HTTP, Request: request(nil)}},
		{
			State: job.Disabled, StartAt: at, Policy: job.Policy{Missed: job.MissedLatest, Overlap: job.OverlapAllow},
			Action: job.Action{
				Type:    job.HTTPS,
				Request: request(&job.Authentication{Type: job.Basic, Username: "u", Password: "P"}),
				Retry:   &job.RetryPolicy{Fixed: true, Interval: 548 * 24 * time.Hour, Count: new(0)},
				Error:   &job.Action{Type: job.StorageQueue, Queue: queue, Retry: &job.RetryPolicy{Interval: time.Minute, Count: new(2)}},
			},
			Recurrence: &recur.Spec{Frequency: recur.Second, Interval: 1000, Count: 1 << 30, EndAt: at},
		},
		{
			State: job.Enabled,
			Action: job.Action{
				Type: job.ServiceBusQueue, Bus: bus, Retry: &job.RetryPolicy{Fixed: true},
				Error: &job.Action{Type: job.ServiceBusTopic, Bus: &job.ServiceBusMessage{Entity: "t", AuthType: "notSpecified", TransportType: "notSpecified"}},
			},
			Recurrence: &recur.Spec{Frequency: recur.Month, Interval: 18, Schedule: &recur.Schedule{
				Months: []int{1, 12}, MonthDays: []int{-31, 31}, Hours: []int{0, 23}, Minutes: []int{59, 0},
				MonthlyOccurrences: []recur.MonthlyOccurrence{{Day: time.Sunday, Occurrence: -5}, {Day: time.Monday}},
			}},
		},
		{
			State: job.Enabled,
			Action: job.Action{Type: job.HTTP, Request: request(&job.Authentication{
				Type: job.ActiveDirectoryOAuth, Tenant: "t", Audience: "a", ClientID: "c", Secret: "S",
			})},
			Recurrence: &recur.Spec{Frequency: recur.Week, Interval: 1, Schedule: &recur.Schedule{WeekDays: []time.Weekday{time.Saturday, time.Sunday}}},
		},
	} {
		got, err := ReadJob([]byte(complete.Replace(string(WriteJob(&job.Job{Definition: d})))))
		if err != nil {
			t.Errorf("%s: %v", written(t, d), err)
			continue
		}
		if diff := cmp.Diff(d, got); diff != "" {
			t.Error(diff)
		}
	}
}
