package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Wrong shapes: the field as on the wire from properties down, and what it may
// be (AZURE §4: "name the field and what it may be").
func TestReadJobRefuses(t *testing.T) {
	action := func(members string) string { return `{"action":{` + members + `}}` }
	request := func(members string) string { return action(`"type":"Http","request":{` + members + `}`) }
	auth := func(members string) string { return request(`"authentication":{` + members + `}`) }
	queue := func(members string) string { return action(`"type":"StorageQueue","queueMessage":{` + members + `}`) }
	bus := func(members string) string {
		return action(`"type":"ServiceBusTopic","serviceBusTopicMessage":{` + members + `}`)
	}
	recurrence := func(members string) string { return `{"recurrence":{` + members + `}}` }
	schedule := func(members string) string {
		return recurrence(`"frequency":"month","schedule":{` + members + `}`)
	}
	for _, c := range []struct{ name, properties, field, reason string }{
		{"no properties", `null`, "properties", "must be given"},
		{"properties", `[]`, "properties", "must be an object, got an array"},
		{"startTime type", `{"startTime":5}`, "startTime", "must be a string, got a number"},
		{"startTime", `{"startTime":""}`, "startTime", "must be a time such as"},
		{"startTime range", `{"startTime":"0001-01-01T00:00:00Z"}`, "startTime", "years 1 to 9999"},
		{"action type", `{"action":"x"}`, "action", "must be an object, got a string"},
		{"type", action(`"type":"Ftp"`), "action.type", "must be Http, Https, StorageQueue, ServiceBusQueue or ServiceBusTopic"},
		{"type's type", action(`"type":true`), "action.type", "must be a string, got true or false"},
		{"request", action(`"type":"Http","request":[]`), "action.request", "must be an object, got an array"},
		{"uri", request(`"uri":{}`), "action.request.uri", "must be a string, got an object"},
		{"method", request(`"method":1`), "action.request.method", "must be a string, got a number"},
		{"headers", request(`"headers":"a: b"`), "action.request.headers", "must be an object, got a string"},
		{"header", request(`"headers":{"X-Count":5}`), "action.request.headers.X-Count", "must be a string, got a number"},
		{"body", request(`"body":{"a":1}`), "action.request.body", "must be a string, got an object"},
		{"authentication", auth(``), "action.request.authentication.type", "must be given"},
		{"authentication type", auth(`"type":"Digest"`), "action.request.authentication.type", "must be Basic, ClientCertificate,"},
		{"password", auth(`"type":"Basic","username":"u"`), "action.request.authentication.password", "must be given"},
		{"password null", auth(`"type":"Basic","username":"u","password":null`), "action.request.authentication.password", "must be given"},
		{"password empty", auth(`"type":"Basic","username":"u","password":""`), "action.request.authentication.password", "must be given"},
		{"password number", auth(`"type":"Basic","username":"u","password":5`), "action.request.authentication.password", "must be a string"},
		{"secret", auth(`"type":"ActiveDirectoryOAuth","tenant":"t"`), "action.request.authentication.secret", "must be given"},
		{"pfx", auth(`"type":"ClientCertificate","password":"p"`), "action.request.authentication.pfx", "must be given"},
		{"pfx read back", auth(`"type":"ClientCertificate","certificateThumbprint":"AB"`), "action.request.authentication.pfx", "must be given"},
		{"pfx password", auth(`"type":"ClientCertificate","pfx":"AAAA"`), "action.request.authentication.password", "must be given with a pfx"},
		{"queueMessage", action(`"type":"StorageQueue","queueMessage":"m"`), "action.queueMessage", "must be an object, got a string"},
		{"storageAccount", queue(`"storageAccount":1`), "action.queueMessage.storageAccount", "must be a string"},
		{"sasToken", queue(`"storageAccount":"a"`), "action.queueMessage.sasToken", "must be given"},
		{"message", queue(`"message":[]`), "action.queueMessage.message", "must be a string, got an array"},
		{"messageFormat", queue(`"messageFormat":"json"`), "action.queueMessage.messageFormat", "must be envelope, base64 or text"},
		{"messageFormat's type", queue(`"messageFormat":1`), "action.queueMessage.messageFormat", "must be a string, got a number"},
		{"topicPath", bus(`"topicPath":1`), "action.serviceBusTopicMessage.topicPath", "must be a string"},
		{"transportType", bus(`"transportType":"udp"`), "action.serviceBusTopicMessage.transportType", "must be netMessaging, amqp or notSpecified"},
		{"bus authentication", bus(`"authentication":5`), "action.serviceBusTopicMessage.authentication", "must be an object"},
		{"bus authentication type", bus(`"authentication":{"type":"none"}`), "action.serviceBusTopicMessage.authentication.type", "must be sharedAccessKey or notSpecified"},
		{"sasKey", bus(`"authentication":{"sasKeyName":"k"}`), "action.serviceBusTopicMessage.authentication.sasKey", "must be given"},
		{"timeToLive", bus(`"brokeredMessageProperties":{"timeToLive":60}`), "action.serviceBusTopicMessage.brokeredMessageProperties.timeToLive", "must be a string, got a number"},
		{"forcePersistence", bus(`"brokeredMessageProperties":{"forcePersistence":"maybe"}`), "action.serviceBusTopicMessage.brokeredMessageProperties.forcePersistence", "must be true or false"},
		{"scheduledEnqueueTimeUtc", bus(`"brokeredMessageProperties":{"scheduledEnqueueTimeUtc":"soon"}`), "action.serviceBusTopicMessage.brokeredMessageProperties.scheduledEnqueueTimeUtc", "must be a time"},
		{"custom", bus(`"customMessageProperties":{"n":1}`), "action.serviceBusTopicMessage.customMessageProperties.n", "must be a string"},
		{"retryPolicy", action(`"retryPolicy":"none"`), "action.retryPolicy", "must be an object"},
		{"retryType", action(`"retryPolicy":{"retryType":"Exponential"}`), "action.retryPolicy.retryType", "must be fixed or none"},
		{"retryInterval", action(`"retryPolicy":{"retryInterval":"soon"}`), "action.retryPolicy.retryInterval", "must be a span"},
		{"retryInterval 0", action(`"retryPolicy":{"retryType":"fixed","retryInterval":"00:00:00"}`), "action.retryPolicy.retryInterval", "must be at least 00:00:15"},
		{"retryInterval negative", action(`"retryPolicy":{"retryType":"none","retryInterval":"-00:00:30"}`), "action.retryPolicy.retryInterval", "must not be negative"},
		{"retryInterval overflow", action(`"retryPolicy":{"retryInterval":"P293Y"}`), "action.retryPolicy.retryInterval", "292 years"},
		{"retryCount", action(`"retryPolicy":{"retryCount":1.5}`), "action.retryPolicy.retryCount", "must be a whole number"},
		{"retryCount overflow", action(`"retryPolicy":{"retryCount":4294967297}`), "action.retryPolicy.retryCount", "32 bits"},
		{"errorAction", action(`"errorAction":[]`), "action.errorAction", "must be an object"},
		{"errorAction's field", action(`"errorAction":{"type":"Http","request":{"uri":5}}`), "action.errorAction.request.uri", "must be a string"},
		{"errorAction's secret", action(`"errorAction":{"type":"StorageQueue","queueMessage":{}}`), "action.errorAction.queueMessage.sasToken", "must be given"},
		{"errorAction's errorAction", action(`"errorAction":{"errorAction":{}}`), "action.errorAction.errorAction", "must not be given"},
		{"errorAction elsewhere", `{"action":{},"errorAction":{"type":5}}`, "action.errorAction.type", "must be a string"},
		{"recurrence", `{"recurrence":"daily"}`, "recurrence", "must be an object"},
		{"frequency", recurrence(`"frequency":"fortnight"`), "recurrence.frequency", "must be second, minute, hour, day, week, month or year"},
		{"interval", recurrence(`"frequency":"day","interval":true`), "recurrence.interval", "must be a whole number, got true or false"},
		{"interval 0", recurrence(`"frequency":"day","interval":0`), "recurrence.interval", "must be 1 or more"},
		{"interval text", recurrence(`"frequency":"day","interval":"two"`), "recurrence.interval", "must be a whole number"},
		{"interval huge", recurrence(`"frequency":"day","interval":1e400`), "recurrence.interval", "must be a whole number"},
		{"interval NaN", recurrence(`"frequency":"day","interval":"NaN"`), "recurrence.interval", "must be a whole number"},
		{"count 0", recurrence(`"frequency":"day","count":0`), "recurrence.count", "must be 1 or more"},
		{"count negative", recurrence(`"frequency":"day","count":-1`), "recurrence.count", "must be 1 or more"},
		{"endTime", recurrence(`"frequency":"day","endTime":"never"`), "recurrence.endTime", "must be a time"},
		{"schedule", recurrence(`"frequency":"day","schedule":[]`), "recurrence.schedule", "must be an object"},
		{"hours", schedule(`"hours":"noon"`), "recurrence.schedule.hours", "must be a whole number"},
		{"hours item", schedule(`"hours":[1,"noon"]`), "recurrence.schedule.hours[1]", "must be a whole number"},
		{"hours null", schedule(`"hours":[1,null]`), "recurrence.schedule.hours[1]", "must not be null"},
		{"weekDays", schedule(`"weekDays":["mon"]`), "recurrence.schedule.weekDays[0]", "must be sunday, monday"},
		{"weekDays number", schedule(`"weekDays":[1]`), "recurrence.schedule.weekDays[0]", "must be a string, got a number"},
		{"monthlyOccurrences", schedule(`"monthlyOccurrences":["friday"]`), "recurrence.schedule.monthlyOccurrences[0]", "must be an object, got a string"},
		{"occurrence's day", schedule(`"monthlyOccurrences":[{"occurrence":1}]`), "recurrence.schedule.monthlyOccurrences[0].day", "must be given"},
		{"occurrence", schedule(`"monthlyOccurrences":{"day":"friday","occurrence":[]}`), "recurrence.schedule.monthlyOccurrences.occurrence", "must be a whole number, got an array"},
		{"policy", `{"policy":"skip"}`, "policy", "must be an object, got a string"},
		{"missed", `{"policy":{"missed":"newest"}}`, "policy.missed", "must be latest, all or skip"},
		{"missed type", `{"policy":{"missed":true}}`, "policy.missed", "must be a string"},
		{"overlap", `{"policy":{"overlap":"wait"}}`, "policy.overlap", "must be allow, skip or queue"},
		{"overlap empty", `{"policy":{"overlap":""}}`, "policy.overlap", "must be allow, skip or queue"},
		{"state", `{"state":"Paused"}`, "state", "must be enabled or disabled"},
		{"state final", `{"state":"completed"}`, "state", "must be enabled or disabled"},
		{"the first of two", `{"state":5,"startTime":5}`, "startTime", "must be a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadJob([]byte(`{"properties":` + c.properties + `}`))
			wantInvalid(t, err, c.field, c.reason)
		})
	}
	_, err := ReadJob([]byte(`{}`))
	wantInvalid(t, err, "properties", "must be given")
}

// What Azure called empty stays for package job to refuse.
func TestReadJobEmpty(t *testing.T) {
	d, err := ReadJob([]byte(`{"properties":{"recurrence":{"schedule":{"hours":[]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if h := d.Recurrence.Schedule.Hours; h == nil || len(h) > 0 {
		t.Errorf("hours %#v, want an empty slice", h)
	}
	if diff := cmp.Diff(`{"recurrence":{"interval":1,"schedule":{"hours":[]}},"state":"enabled"}`, written(t, d)); diff != "" {
		t.Error(diff)
	}
}

// No reason quotes what was given: it could be a secret in the wrong place.
func TestReasonsQuoteNothing(t *testing.T) {
	const canary = "cAnArY"
	for _, properties := range []string{
		`{"state":"cAnArY"}`, `{"policy":{"missed":"cAnArY"}}`, `{"startTime":"cAnArY"}`, `{"recurrence":{"interval":"cAnArY"}}`, `{"recurrence":{"frequency":"cAnArY"}}`,
		`{"action":{"type":"cAnArY"}}`, `{"action":{"retryPolicy":{"retryInterval":"cAnArY"}}}`,
		`{"action":{"type":"Http","request":{"authentication":{"type":"ClientCertificate","pfx":"cAnArY","password":"cAnArY"}}}}`,
	} {
		_, err := ReadJob([]byte(`{"properties":` + properties + `}`))
		if err == nil {
			t.Errorf("%s: no error", properties)
		} else if got := err.Error(); strings.Contains(got, canary) {
			t.Errorf("%s: %s", properties, got)
		}
	}
}
