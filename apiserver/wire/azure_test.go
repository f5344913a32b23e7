package wire

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/recur"
)

// The rules of AZURE §2, sentence by sentence: what is PUT, and what is answered.
func TestRules(t *testing.T) {
	const http = `"action":{"request":{"uri":"http://h/","method":"GET"},"type":"Http"}`
	for _, c := range []struct{ rule, put, want string }{
		{
			"Case out: PascalCase for action.type, errorAction.type",
			`{"action":{"type":"hTTPs","request":{"uri":"https://h/","method":"GET"},"errorAction":{"type":"HTTP","request":{"uri":"http://h/","method":"GET"}}}}`,
			`{"action":{"request":{"uri":"https://h/","method":"GET"},"type":"Https","errorAction":{"request":{"uri":"http://h/","method":"GET"},"type":"Http"}},"state":"enabled"}`,
		},
		{
			"Case out: PascalCase for HTTP authentication.type",
			`{"action":{"type":"http","request":{"uri":"http://h/","method":"GET","authentication":{"type":"activedirectoryoauth","tenant":"t","audience":"a","clientId":"c","secret":"s"}}}}`,
			`{"action":{"request":{"uri":"http://h/","method":"GET","authentication":{"tenant":"t","audience":"a","clientId":"c","type":"ActiveDirectoryOAuth"}},"type":"Http"},"state":"enabled"}`,
		},
		{
			"camelCase for job state, frequency, weekDays, retryType",
			`{"action":{"type":"HTTP","request":{"uri":"http://h/","method":"GET"},"retryPolicy":{"retryType":"NONE"}},"recurrence":{"frequency":"Week","schedule":{"weekDays":["Monday","SUNDAY"]}},"state":"Disabled"}`,
			`{"action":{"request":{"uri":"http://h/","method":"GET"},"type":"Http","retryPolicy":{"retryType":"none"}},"recurrence":{"frequency":"week","interval":1,"schedule":{"weekDays":["monday","sunday"]}},"state":"disabled"}`,
		},
		{
			"camelCase for transportType, Service Bus authentication.type",
			`{"action":{"type":"servicebusqueue","serviceBusQueueMessage":{"queueName":"q","namespace":"n","transportType":"AMQP","authentication":{"type":"SharedAccessKey","sasKeyName":"k","sasKey":"s"},"message":"m"}}}`,
			`{"action":{"serviceBusQueueMessage":{"queueName":"q","namespace":"n","transportType":"amqp","authentication":{"sasKeyName":"k","type":"sharedAccessKey"},"message":"m"},"type":"ServiceBusQueue"},"state":"enabled"}`,
		},
		{
			`Case in: keys match case-insensitively (every SDK sends "Occurrence"; the answer is "occurrence")`,
			`{"ACTION":{"Type":"Http","REQUEST":{"URI":"http://h/","Method":"GET"}},"Recurrence":{"FREQUENCY":"month","schedule":{"monthlyOccurrences":[{"Day":"Friday","Occurrence":-1}]}}}`,
			`{` + http + `,"recurrence":{"frequency":"month","interval":1,"schedule":{"monthlyOccurrences":[{"day":"friday","occurrence":-1}]}},"state":"enabled"}`,
		},
		{
			"Of keys that differ in case the last one wins",
			`{` + http + `,"state":"Enabled","State":"Disabled"}`,
			`{` + http + `,"state":"disabled"}`,
		},
		{
			"Numbers may come as strings",
			`{"action":{"type":"Http","request":{"uri":"http://h/","method":"GET"},"retryPolicy":{"retryType":"fixed","retryCount":" 3 "}},"recurrence":{"frequency":"day","interval":"5","count":"10","schedule":{"hours":["1","2"],"minutes":"30"}}}`,
			`{"action":{"request":{"uri":"http://h/","method":"GET"},"type":"Http","retryPolicy":{"retryType":"fixed","retryCount":3}},"recurrence":{"frequency":"day","count":10,"interval":5,"schedule":{"minutes":[30],"hours":[1,2]}},"state":"enabled"}`,
		},
		{
			"Numbers may be whole in other words",
			`{` + http + `,"recurrence":{"frequency":"day","interval":5.0,"count":1e1}}`,
			`{` + http + `,"recurrence":{"frequency":"day","count":10,"interval":5},"state":"enabled"}`,
		},
		{
			"A single value may stand for an array",
			`{` + http + `,"recurrence":{"frequency":"month","schedule":{"minutes":0,"hours":6,"monthDays":-1,"monthlyOccurrences":{"day":"monday"},"months":12}}}`,
			`{` + http + `,"recurrence":{"frequency":"month","interval":1,"schedule":{"minutes":[0],"hours":[6],"monthDays":[-1],"monthlyOccurrences":[{"day":"monday"}],"months":[12]}},"state":"enabled"}`,
		},
		{
			"hours 0..23, 24 means 0",
			`{` + http + `,"recurrence":{"frequency":"day","schedule":{"hours":[24,12]}}}`,
			`{` + http + `,"recurrence":{"frequency":"day","interval":1,"schedule":{"hours":[0,12]}},"state":"enabled"}`,
		},
		{
			"Secrets are absent from every answer, not null",
			`{"action":{"type":"StorageQueue","queueMessage":{"storageAccount":"acc","queueName":"que","sasToken":"TOP","message":"m"},"errorAction":{"type":"Http","request":{"uri":"http://h/","method":"GET","authentication":{"type":"Basic","username":"u","password":"TOP"}}}}}`,
			`{"action":{"queueMessage":{"storageAccount":"acc","queueName":"que","message":"m"},"type":"StorageQueue","errorAction":{"request":{"uri":"http://h/","method":"GET","authentication":{"username":"u","type":"Basic"}},"type":"Http"}},"state":"enabled"}`,
		},
		{
			"Case in and out, of our own messageFormat; absent stays absent, as above",
			`{"action":{"type":"StorageQueue","queueMessage":{"storageAccount":"acc","queueName":"que","sasToken":"TOP","messageFormat":"ENVELOPE"},"errorAction":{"type":"StorageQueue","queueMessage":{"storageAccount":"acc","queueName":"que","sasToken":"TOP","MessageFormat":"Base64"}}}}`,
			`{"action":{"queueMessage":{"storageAccount":"acc","queueName":"que","messageFormat":"envelope"},"type":"StorageQueue","errorAction":{"queueMessage":{"storageAccount":"acc","queueName":"que","messageFormat":"base64"},"type":"StorageQueue"}},"state":"enabled"}`,
		},
		{
			"Case in and out, of our own policy; what it leaves out, or an empty one, stays absent",
			`{` + http + `,"policy":{"MISSED":"All","overlap":"QUEUE","other":1}}`,
			`{` + http + `,"policy":{"missed":"all","overlap":"queue"},"state":"enabled"}`,
		},
		{
			"A policy may say one thing",
			`{` + http + `,"Policy":{"overlap":"skip","missed":null}}`,
			`{` + http + `,"policy":{"overlap":"skip"},"state":"enabled"}`,
		},
		{
			"An empty policy is none",
			`{` + http + `,"policy":{}}`,
			`{` + http + `,"state":"enabled"}`,
		},
		{
			"Verbatim: uri, method's case, header names and their case, body",
			`{"action":{"type":"Http","request":{"uri":"http://H/A%20b?x=<&>","method":"gEt","headers":{"X-aB":"v","content-TYPE":"t"},"body":"<a>&\n\u2028é"}}}`,
			`{"action":{"request":{"uri":"http://H/A%20b?x=<&>","method":"gEt","headers":{"X-aB":"v","content-TYPE":"t"},"body":"<a>&\n\u2028é"},"type":"Http"},"state":"enabled"}`,
		},
		{
			"Verbatim: customMessageProperties, even if they differ only in case",
			`{"action":{"type":"ServiceBusTopic","serviceBusTopicMessage":{"topicPath":"t","namespace":"n","message":"m","CustomMessageProperties":{"App":"1","app":"2"}}}}`,
			`{"action":{"serviceBusTopicMessage":{"topicPath":"t","namespace":"n","message":"m","customMessageProperties":{"App":"1","app":"2"}},"type":"ServiceBusTopic"},"state":"enabled"}`,
		},
		{
			"Headers that differ only in case are one: the last",
			`{"action":{"type":"Http","request":{"uri":"http://h/","method":"GET","headers":{"accept":"a","Accept":"b"}}}}`,
			`{"action":{"request":{"uri":"http://h/","method":"GET","headers":{"Accept":"b"}},"type":"Http"},"state":"enabled"}`,
		},
		{
			"Absent stays absent: startTime, retryPolicy; state absent answers enabled",
			`{` + http + `}`,
			`{` + http + `,"state":"enabled"}`,
		},
		{
			"null is absent",
			`{"startTime":null,"action":{"type":"Http","request":{"uri":"http://h/","method":"GET","body":null,"headers":{"a":null},"authentication":null},"retryPolicy":null,"errorAction":null},"recurrence":null,"state":null}`,
			`{` + http + `,"state":"enabled"}`,
		},
		{
			"recurrence.interval absent answers 1",
			`{` + http + `,"recurrence":{"frequency":"hour"}}`,
			`{` + http + `,"recurrence":{"frequency":"hour","interval":1},"state":"enabled"}`,
		},
		{
			"Times: UTC, Z, trailing zeros trimmed",
			`{"startTime":"2016-04-04T02:00:00.5000000+02:00",` + http + `,"recurrence":{"frequency":"day","endTime":"2016-11-04"}}`,
			`{"startTime":"2016-04-04T00:00:00.5Z",` + http + `,"recurrence":{"frequency":"day","endTime":"2016-11-04T00:00:00Z","interval":1},"state":"enabled"}`,
		},
		{
			"retryInterval: answer the .NET TimeSpan",
			`{"action":{"type":"Http","request":{"uri":"http://h/","method":"GET"},"retryPolicy":{"retryType":"Fixed","retryInterval":"PT1D","retryCount":0}}}`,
			`{"action":{"request":{"uri":"http://h/","method":"GET"},"type":"Http","retryPolicy":{"retryType":"fixed","retryInterval":"1.00:00:00","retryCount":0}},"state":"enabled"}`,
		},
		{
			"retryPolicy is read from action.request.retryPolicy, and always answered in action",
			`{"action":{"type":"Http","request":{"uri":"http://h/","method":"GET","retryPolicy":{"retryType":"None"}}},"retryPolicy":{"retryType":"Fixed"}}`,
			`{"action":{"request":{"uri":"http://h/","method":"GET"},"type":"Http","retryPolicy":{"retryType":"none"}},"state":"enabled"}`,
		},
		{
			"retryPolicy is read from properties.retryPolicy",
			`{` + http + `,"RetryPolicy":{"retryType":"None"}}`,
			`{"action":{"request":{"uri":"http://h/","method":"GET"},"type":"Http","retryPolicy":{"retryType":"none"}},"state":"enabled"}`,
		},
		{
			"retryPolicy is read from action.retryPolicy first",
			`{"action":{"type":"Http","request":{"uri":"http://h/","method":"GET","retryPolicy":{"retryType":"None"}},"retryPolicy":{"retryType":"fixed"}},"retryPolicy":{"retryType":"None"}}`,
			`{"action":{"request":{"uri":"http://h/","method":"GET"},"type":"Http","retryPolicy":{"retryType":"fixed"}},"state":"enabled"}`,
		},
		{
			"errorAction from properties.errorAction, with the policy in its request",
			`{` + http + `,"errorAction":{"type":"Http","request":{"uri":"http://e/","method":"GET","retryPolicy":{"retryType":"None"}}}}`,
			`{"action":{"request":{"uri":"http://h/","method":"GET"},"type":"Http","errorAction":{"request":{"uri":"http://e/","method":"GET"},"type":"Http","retryPolicy":{"retryType":"none"}}},"state":"enabled"}`,
		},
		{
			"errorAction from action.errorAction first",
			`{"action":{"type":"Http","request":{"uri":"http://h/","method":"GET"},"errorAction":{"type":"Http","request":{"uri":"http://1/","method":"GET"}}},"errorAction":{"type":"Http","request":{"uri":"http://2/","method":"GET"}}}`,
			`{"action":{"request":{"uri":"http://h/","method":"GET"},"type":"Http","errorAction":{"request":{"uri":"http://1/","method":"GET"},"type":"Http"}},"state":"enabled"}`,
		},
		{
			"PUT ignores what is read-only, the counters, and what it does not know",
			`{` + http + `,"status":{"executionCount":"many"},"id":7,"provisioningState":{},"state":"Enabled"}`,
			`{` + http + `,"state":"enabled"}`,
		},
		{
			"action.type chooses the part, others are ignored",
			`{"action":{"type":"Http","request":{"uri":"http://h/","method":"GET"},"queueMessage":{"storageAccount":5}}}`,
			`{` + http + `,"state":"enabled"}`,
		},
		{
			"brokeredMessageProperties, all of them, in the documentation's order",
			`{"action":{"type":"ServiceBusQueue","serviceBusQueueMessage":{"queueName":"q","namespace":"n","message":"m","brokeredMessageProperties":{"viaPartitionKey":"v","to":"t","timeToLive":"P1D","sessionId":"s","scheduledEnqueueTimeUtc":"2016-01-01T00:00Z","replyToSessionId":"rs","replyTo":"r","partitionKey":"p","messageId":"mi","label":"l","forcePersistence":"True","correlationId":"c","contentType":"ct"}}}}`,
			`{"action":{"serviceBusQueueMessage":{"queueName":"q","namespace":"n","message":"m","brokeredMessageProperties":{"contentType":"ct","correlationId":"c","forcePersistence":true,"label":"l","messageId":"mi","partitionKey":"p","replyTo":"r","replyToSessionId":"rs","scheduledEnqueueTimeUtc":"2016-01-01T00:00:00Z","sessionId":"s","timeToLive":"1.00:00:00","to":"t","viaPartitionKey":"v"}},"type":"ServiceBusQueue"},"state":"enabled"}`,
		},
		{
			"forcePersistence false and empty properties stay",
			`{"action":{"type":"ServiceBusQueue","serviceBusQueueMessage":{"queueName":"q","namespace":"n","transportType":"NotSpecified","message":"m","brokeredMessageProperties":{"forcePersistence":false}},"errorAction":{"type":"ServiceBusQueue","serviceBusQueueMessage":{"queueName":"q","namespace":"n","message":"m","brokeredMessageProperties":{}}}}}`,
			`{"action":{"serviceBusQueueMessage":{"queueName":"q","namespace":"n","transportType":"notSpecified","message":"m","brokeredMessageProperties":{"forcePersistence":false}},"type":"ServiceBusQueue","errorAction":{"serviceBusQueueMessage":{"queueName":"q","namespace":"n","message":"m","brokeredMessageProperties":{}},"type":"ServiceBusQueue"}},"state":"enabled"}`,
		},
		{
			"Service Bus authentication without a type is by key; NotSpecified is none",
			`{"action":{"type":"ServiceBusQueue","serviceBusQueueMessage":{"queueName":"q","namespace":"n","authentication":{"sasKeyName":"k","sasKey":"s"}},"errorAction":{"type":"ServiceBusQueue","serviceBusQueueMessage":{"queueName":"q","namespace":"n","authentication":{"type":"NotSpecified"}}}}}`,
			`{"action":{"serviceBusQueueMessage":{"queueName":"q","namespace":"n","authentication":{"sasKeyName":"k","type":"sharedAccessKey"}},"type":"ServiceBusQueue","errorAction":{"serviceBusQueueMessage":{"queueName":"q","namespace":"n","authentication":{"type":"notSpecified"}},"type":"ServiceBusQueue"}},"state":"enabled"}`,
		},
		{
			"HTTP authentication NotSpecified is none",
			`{"action":{"type":"Http","request":{"uri":"http://h/","method":"GET","authentication":{"type":"NotSpecified"}}}}`,
			`{` + http + `,"state":"enabled"}`,
		},
		{
			"a retry policy without a type is fixed",
			`{"action":{"type":"Http","request":{"uri":"http://h/","method":"GET"},"retryPolicy":{"retryCount":2}}}`,
			`{"action":{"request":{"uri":"http://h/","method":"GET"},"type":"Http","retryPolicy":{"retryType":"fixed","retryCount":2}},"state":"enabled"}`,
		},
		{
			"frequency second is ours",
			`{` + http + `,"recurrence":{"frequency":"Second","interval":30}}`,
			`{` + http + `,"recurrence":{"frequency":"second","interval":30},"state":"enabled"}`,
		},
		{
			"a byte order mark is no part of the text",
			"\uFEFF", `{}`,
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if c.put == "\uFEFF" {
				if _, err := ReadJob([]byte("\uFEFF{\"properties\":{}}")); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(c.want, answer(t, c.put)); diff != "" {
				t.Error(diff)
			}
			// "documents read back must go in again": all but their secrets do.
			if !strings.Contains(c.put, "TOP") && !strings.Contains(c.put, `"sasKey":`) && !strings.Contains(c.put, `"secret":`) {
				if diff := cmp.Diff(c.want, answer(t, c.want)); diff != "" {
					t.Errorf("read back: %s", diff)
				}
			}
		})
	}
}

// The job of AZURE §2 (but for its short names of account and queue), all of it.
func TestWriteJob(t *testing.T) {
	d, err := ReadJob(golden(t, "job.put.json"))
	if err != nil {
		t.Fatal(err)
	}
	j := &job.Job{
		Ref:        job.Ref{CollectionRef: job.CollectionRef{Subscription: "S", ResourceGroup: "RG", Collection: "jc"}, Job: "j"},
		Definition: d,
		Status:     job.Status{State: job.Enabled, NextExecutionAt: time.Date(2016, 4, 4, 0, 0, 0, 0, time.UTC)},
	}
	if diff := cmp.Diff(string(golden(t, "job.json")), string(WriteJob(j))); diff != "" {
		t.Error(diff)
	}
}

func golden(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.TrimSpace(string(b)))
}

// AZURE §2: "Order inside: … status lastExecutionTime, nextExecutionTime,
// executionCount, failureCount, faultedCount." and "status is omitted for a
// disabled job that never ran".
func TestStatus(t *testing.T) {
	at := time.Date(2016, 4, 4, 0, 0, 0, 469_507_000, time.UTC)
	ran := job.Counters{Executions: 3, Failures: 2, Faults: 1}
	for _, c := range []struct {
		name   string
		state  job.State // asked for
		status job.Status
		want   string
	}{
		{"disabled, never ran", job.Disabled, job.Status{State: job.Disabled}, `"state":"disabled"`},
		{"disabled, of a store that keeps no state", job.Disabled, job.Status{}, `"state":"disabled"`},
		{
			"enabled, waiting", job.Enabled,
			job.Status{State: job.Enabled, NextExecutionAt: at},
			`"state":"enabled","status":{"nextExecutionTime":"2016-04-04T00:00:00.469507Z","executionCount":0,"failureCount":0,"faultedCount":0}`,
		},
		{
			"disabled, ran", job.Disabled,
			job.Status{State: job.Disabled, LastExecutionAt: at, Counters: ran},
			`"state":"disabled","status":{"lastExecutionTime":"2016-04-04T00:00:00.469507Z","executionCount":3,"failureCount":2,"faultedCount":1}`,
		},
		{
			"disabled during its first attempt", job.Disabled,
			job.Status{State: job.Disabled, LastExecutionAt: at},
			`"state":"disabled","status":{"lastExecutionTime":"2016-04-04T00:00:00.469507Z","executionCount":0,"failureCount":0,"faultedCount":0}`,
		},
		{
			"completed", job.Enabled,
			job.Status{State: job.Completed, LastExecutionAt: at, Counters: ran},
			`"state":"completed","status":{"lastExecutionTime":"2016-04-04T00:00:00.469507Z","executionCount":3,"failureCount":2,"faultedCount":1}`,
		},
		{
			"faulted", job.Enabled,
			job.Status{State: job.Faulted, LastExecutionAt: at, NextExecutionAt: at, Counters: ran},
			`"state":"faulted","status":{"lastExecutionTime":"2016-04-04T00:00:00.469507Z","nextExecutionTime":"2016-04-04T00:00:00.469507Z","executionCount":3,"failureCount":2,"faultedCount":1}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := &job.Job{Definition: job.Definition{State: c.state}, Status: c.status}
			_, got, _ := strings.Cut(string(WriteJob(j)), `"properties":{`)
			if diff := cmp.Diff(c.want+"}}", got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Documents as Microsoft's pages show them.
func TestExamples(t *testing.T) {
	bus := func(kind job.ActionType, entity string) job.Action {
		return job.Action{Type: kind, Bus: &job.ServiceBusMessage{
			Entity: entity, Namespace: "mySBNamespace", TransportType: "netMessaging",
			AuthType: "sharedAccessKey", SASKeyName: "QPolicy", SASKey: "KEY", Message: "Some message",
			Brokered: &job.BrokeredMessageFields{}, Custom: map[string]string{"appname": "FromScheduler"},
		}}
	}
	request := func(uri, method string) job.Action {
		return job.Action{Type: job.HTTP, Request: &job.Request{URI: uri, Method: method}}
	}
	http := request("http://contoso.com/some-method", "PUT")
	http.Request.Body = "Posting from a timer"
	http.Request.Headers = map[string]string{"Content-Type": "application/json"}
	http.Retry = &job.RetryPolicy{}
	http.Error = new(request("http://contoso.com/notifyError", "POST"))

	for _, c := range []struct {
		file string
		want job.Definition
	}{
		{"http-job.jsonc", job.Definition{
			StartAt: time.Date(2012, 8, 4, 0, 0, 0, 0, time.UTC),
			Action:  http,
			Recurrence: &recur.Spec{
				Frequency: recur.Week, Interval: 1, Count: 10, EndAt: time.Date(2012, 11, 4, 0, 0, 0, 0, time.UTC),
				Schedule: &recur.Schedule{
					WeekDays: []time.Weekday{time.Monday, time.Wednesday, time.Friday},
					Hours:    []int{10, 22},
				},
			},
			State: job.Disabled,
		}},
		{"storage-queue-action.jsonc", job.Definition{State: job.Enabled, Action: job.Action{
			Type:  job.StorageQueue,
			Queue: &job.QueueMessage{StorageAccount: "myStorageAccount", QueueName: "myqueue", SASToken: "TOKEN", Message: "My message body"},
		}}},
		{"service-bus-queue-action.jsonc", job.Definition{State: job.Enabled, Action: bus(job.ServiceBusQueue, "q1")}},
		{"service-bus-topic-action.jsonc", job.Definition{State: job.Enabled, Action: bus(job.ServiceBusTopic, "t1")}},
	} {
		t.Run(c.file, func(t *testing.T) {
			d, err := ReadLoose(golden(t, c.file))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, d); diff != "" {
				t.Error(diff)
			}
			now := time.Date(2012, 8, 1, 0, 0, 0, 0, time.UTC)
			if err := d.Validate(now, job.Ceilings{}); err != nil {
				t.Errorf("not valid: %v", err)
			}
		})
	}
}
