package wire

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/shared/recur"
)

// stored is a definition with everything that a patch could lose.
const stored = `{
	"startTime":"2015-07-13T00:00:00Z",
	"action":{
		"request":{
			"uri":"http://h/","method":"GET","headers":{"Content-Type":"a","X-Keep":"b"},"body":"x",
			"authentication":{"username":"u","password":"SECRET1","type":"Basic"}
		},
		"type":"Http",
		"retryPolicy":{"retryType":"fixed","retryInterval":"00:01:00","retryCount":2},
		"errorAction":{"queueMessage":{"storageAccount":"acc","queueName":"que","sasToken":"SECRET2","message":"m"},"type":"StorageQueue"}
	},
	"policy":{"missed":"all","overlap":"skip"},
	"recurrence":{"frequency":"week","count":10000,"endTime":"2020-10-10T10:10:10Z","interval":2,"schedule":{"hours":[1,2],"weekDays":["monday"]}},
	"state":"enabled"
}`

func read(t *testing.T, properties string) job.Definition {
	t.Helper()
	d, err := ReadJob([]byte(`{"properties":` + properties + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// AZURE §2: "PATCH is a deep merge (RFC 7396): recurrence:{frequency,interval}
// keeps count and endTime; an action.request without authentication keeps it;
// explicit null removes." Each patch is given with the PUT that means the same.
func TestPatchJob(t *testing.T) {
	for _, c := range []struct {
		name, patch string
		change      func(d *job.Definition)
	}{
		{"nothing", `{}`, func(*job.Definition) {}},
		{"no properties", ``, func(*job.Definition) {}},
		{"recurrence keeps count and endTime", `{"recurrence":{"frequency":"Week","interval":1}}`, func(d *job.Definition) {
			d.Recurrence.Interval = 1
		}},
		{"case of keys", `{"RECURRENCE":{"Count":"5"},"STATE":"Disabled"}`, func(d *job.Definition) {
			d.Recurrence.Count = 5
			d.State = job.Disabled
		}},
		{"arrays replace", `{"recurrence":{"schedule":{"hours":[3]}}}`, func(d *job.Definition) {
			d.Recurrence.Schedule.Hours = []int{3}
		}},
		{"null removes", `{"startTime":null,"recurrence":{"count":null,"endTime":null,"schedule":null},"action":{"retryPolicy":null,"errorAction":null}}`, func(d *job.Definition) {
			d.StartAt = time.Time{}
			d.Recurrence = &recur.Spec{Frequency: recur.Week, Interval: 2}
			d.Action.Retry, d.Action.Error = nil, nil
		}},
		{"action.request without authentication keeps it", `{"action":{"request":{"uri":"http://other/"}}}`, func(d *job.Definition) {
			d.Action.Request.URI = "http://other/"
		}},
		{"null authentication removes it", `{"action":{"request":{"authentication":null}}}`, func(d *job.Definition) {
			d.Action.Request.Authentication = nil
		}},
		{"headers match whatever their case", `{"action":{"request":{"headers":{"content-type":"c","x-keep":null,"New":"d"}}}}`, func(d *job.Definition) {
			d.Action.Request.Headers = map[string]string{"content-type": "c", "New": "d"}
		}},
		{"null headers", `{"action":{"request":{"headers":null}}}`, func(d *job.Definition) { d.Action.Request.Headers = nil }},
		{"retryPolicy merges", `{"action":{"retryPolicy":{"retryCount":5}}}`, func(d *job.Definition) {
			*d.Action.Retry.Count = 5
		}},
		{"retryPolicy in request", `{"action":{"request":{"retryPolicy":{"retryType":"None"}}}}`, func(d *job.Definition) {
			d.Action.Retry.Fixed = false
		}},
		{"retryPolicy in properties", `{"retryPolicy":{"retryType":"None"}}`, func(d *job.Definition) {
			d.Action.Retry.Fixed = false
		}},
		{"null retryPolicy in properties", `{"retryPolicy":null}`, func(d *job.Definition) { d.Action.Retry = nil }},
		{"errorAction in properties", `{"errorAction":{"queueMessage":{"message":"n"}}}`, func(d *job.Definition) {
			d.Action.Error.Queue.Message = "n"
		}},
		{"messageFormat", `{"action":{"errorAction":{"queueMessage":{"messageFormat":"BASE64"}}}}`, func(d *job.Definition) {
			d.Action.Error.Queue.Format = job.QueueBase64
		}},
		{"policy merges", `{"policy":{"overlap":"queue"}}`, func(d *job.Definition) { d.Policy.Overlap = job.OverlapQueue }},
		{"null in a policy", `{"policy":{"missed":null}}`, func(d *job.Definition) { d.Policy.Missed = "" }},
		{"null policy", `{"policy":null}`, func(d *job.Definition) { d.Policy = job.Policy{} }},
		{"null errorAction in properties", `{"errorAction":null}`, func(d *job.Definition) { d.Action.Error = nil }},
		{"the same authentication without its secret keeps it", `{"action":{"request":{"authentication":{"username":"u","type":"basic"}}}}`, func(*job.Definition) {}},
		{"an empty secret keeps it", `{"action":{"request":{"authentication":{"password":""}}}}`, func(*job.Definition) {}},
		{"a null secret keeps it", `{"action":{"request":{"authentication":{"password":null}}}}`, func(*job.Definition) {}},
		{"a new secret", `{"action":{"request":{"authentication":{"password":"NEW"}}}}`, func(d *job.Definition) {
			d.Action.Request.Authentication.Password = "NEW"
		}},
		{"another user with a secret", `{"action":{"request":{"authentication":{"username":"v","password":"NEW"}}}}`, func(d *job.Definition) {
			d.Action.Request.Authentication.Username, d.Action.Request.Authentication.Password = "v", "NEW"
		}},
		{"the account's case is not its identity", `{"action":{"errorAction":{"queueMessage":{"storageAccount":"ACC"}}}}`, func(d *job.Definition) {
			d.Action.Error.Queue.StorageAccount = "ACC"
		}},
		{"another type of authentication", `{"action":{"request":{"authentication":{"type":"ActiveDirectoryOAuth","tenant":"t","audience":"a","clientId":"c","secret":"s"}}}}`, func(d *job.Definition) {
			d.Action.Request.Authentication = &job.Authentication{Type: job.ActiveDirectoryOAuth, Tenant: "t", Audience: "a", ClientID: "c", Secret: "s"}
		}},
		{"another type of action", `{"action":{"type":"StorageQueue","queueMessage":{"storageAccount":"acc","queueName":"que","sasToken":"T","message":"m"}}}`, func(d *job.Definition) {
			d.Action.Type, d.Action.Request = job.StorageQueue, nil
			d.Action.Queue = &job.QueueMessage{StorageAccount: "acc", QueueName: "que", SASToken: "T", Message: "m"}
		}},
		{"the document itself", stored, func(*job.Definition) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := read(t, stored)
			c.change(&want)
			body := `{}`
			if c.patch != "" {
				body = `{"properties":` + c.patch + `}`
			}
			got, err := PatchJob(read(t, stored), []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPatchJobRefuses(t *testing.T) {
	for _, c := range []struct{ name, patch, field, reason string }{
		// "PATCH with status, or a state other than enabled/disabled, is 400."
		{"status", `{"status":{}}`, "status", "must not be given"},
		{"status, whatever its case", `{"Status":{"executionCount":0}}`, "status", "must not be given"},
		{"state", `{"state":"Completed"}`, "state", "must be enabled or disabled"},
		{"properties", `5`, "properties", "must be an object, got a number"},
		{"type of a merged field", `{"action":{"request":{"uri":5}}}`, "action.request.uri", "must be a string"},
		{"object replaced", `{"recurrence":"none"}`, "recurrence", "must be an object"},
		{"another user", `{"action":{"request":{"authentication":{"username":"v"}}}}`, "action.request.authentication.password", "must be given"},
		{"user name's case", `{"action":{"request":{"authentication":{"username":"U"}}}}`, "action.request.authentication.password", "must be given"},
		{"another type", `{"action":{"request":{"authentication":{"type":"ActiveDirectoryOAuth"}}}}`, "action.request.authentication.secret", "must be given"},
		{"another queue", `{"action":{"errorAction":{"queueMessage":{"queueName":"other"}}}}`, "action.errorAction.queueMessage.sasToken", "must be given"},
		{"another account", `{"action":{"errorAction":{"queueMessage":{"storageAccount":"other"}}}}`, "action.errorAction.queueMessage.sasToken", "must be given"},
		{"the error action's secret is not the action's", `{"action":{"type":"StorageQueue","queueMessage":{"storageAccount":"acc","queueName":"que"}}}`, "action.queueMessage.sasToken", "must be given"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := PatchJob(read(t, stored), []byte(`{"properties":`+c.patch+`}`))
			wantInvalid(t, err, c.field, c.reason)
		})
	}
}

// AZURE §2: "keeps the stored secret on PATCH", of every kind of
// authentication, as long as it is the same one.
func TestPatchKeepsSecrets(t *testing.T) {
	oauth := `{"action":{"type":"Http","request":{"authentication":{"type":"ActiveDirectoryOAuth","tenant":"t","audience":"a","clientId":"c","secret":"S"}}}}`
	bus := `{"action":{"type":"ServiceBusQueue","serviceBusQueueMessage":{"queueName":"q","namespace":"n","authentication":{"sasKeyName":"k","sasKey":"S"}}}}`
	oauthPath, busPath := "action.request.authentication.secret", "action.serviceBusQueueMessage.authentication.sasKey"
	for _, c := range []struct{ name, stored, patch, lost string }{
		{"oauth", oauth, `{"action":{"request":{"authentication":{"type":"ActiveDirectoryOAuth","tenant":"t","audience":"a","clientId":"c"}}}}`, ""},
		{"oauth tenant", oauth, `{"action":{"request":{"authentication":{"tenant":"x"}}}}`, oauthPath},
		{"oauth audience", oauth, `{"action":{"request":{"authentication":{"audience":"x"}}}}`, oauthPath},
		{"oauth client", oauth, `{"action":{"request":{"authentication":{"clientId":"x"}}}}`, oauthPath},
		{"bus", bus, `{"action":{"serviceBusQueueMessage":{"message":"x"}}}`, ""},
		{"bus namespace's case", bus, `{"action":{"serviceBusQueueMessage":{"namespace":"N"}}}`, ""},
		{"bus queue", bus, `{"action":{"serviceBusQueueMessage":{"queueName":"x"}}}`, ""},
		{"bus namespace", bus, `{"action":{"serviceBusQueueMessage":{"namespace":"x"}}}`, busPath},
		{"bus key name", bus, `{"action":{"serviceBusQueueMessage":{"authentication":{"sasKeyName":"x"}}}}`, busPath},
		{"bus topic of the namespace", bus, `{"action":{"type":"ServiceBusTopic","serviceBusTopicMessage":{"topicPath":"t","namespace":"n","authentication":{"sasKeyName":"k"}}}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := PatchJob(read(t, c.stored), []byte(`{"properties":`+c.patch+`}`))
			if c.lost != "" {
				wantInvalid(t, err, c.lost, "must be given")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(secretsOf(d), "S"); n != 1 {
				t.Errorf("%d secrets kept, want 1", n)
			}
		})
	}
}

// A patch changes neither the definition it is given nor what it shares memory
// with.
func TestPatchCopies(t *testing.T) {
	was := read(t, stored)
	_, err := PatchJob(was, []byte(`{"properties":{"action":{"request":{"headers":{"X-Keep":"z"}}},"recurrence":{"schedule":{"hours":[9]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(read(t, stored), was); diff != "" {
		t.Error(diff)
	}
}
