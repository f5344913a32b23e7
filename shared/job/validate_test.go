package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/shared/recur"
)

func today() time.Time { return time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC) }

// sample is a valid definition of every kind of action; the error action is of
// the same kind.
func sample(t ActionType) *Definition {
	one := func() *Action {
		switch t {
		case HTTP, HTTPS:
			return &Action{Type: t, Request: &Request{URI: "https://h/", Method: "GET"}}
		case StorageQueue:
			return &Action{Type: t, Queue: &QueueMessage{StorageAccount: "account", QueueName: "queue", SASToken: "s"}}
		default:
			return &Action{Type: t, Bus: &ServiceBusMessage{
				Entity: "e", Namespace: "ns", AuthType: "sharedAccessKey", SASKeyName: "k", SASKey: "s", Brokered: &BrokeredMessageFields{},
			}}
		}
	}
	d := &Definition{Action: *one(), State: Enabled, Recurrence: &recur.Spec{Frequency: recur.Day}}
	d.Action.Retry = &RetryPolicy{Fixed: true}
	d.Action.Error = one()
	return d
}

// wantInvalid checks that err is of the field, or nil if that is empty.
func wantInvalid(t *testing.T, err error, field string) {
	t.Helper()
	var invalid *InvalidError
	switch {
	case field == "" && err != nil:
		t.Errorf("refused: %v", err)
	case field != "" && (!errors.As(err, &invalid) || invalid.Field != field || invalid.Reason == ""):
		t.Errorf("error %v, want an InvalidError of %q", err, field)
	}
}

func TestValidateSamples(t *testing.T) {
	for _, kind := range ActionTypes() {
		if err := sample(kind).Validate(today(), Ceilings{}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// Every bound of AZURE §6 and §7 that holds whatever the collection, met exactly
// and exceeded by one. An empty field means that the definition is valid.
func TestValidate(t *testing.T) {
	now := today()
	ahead := now.AddDate(0, 18, 0)
	chars := func(n int) string { return strings.Repeat("x", n) }
	headers := func(n, length int) map[string]string {
		h := make(map[string]string)
		for i := range n {
			h[fmt.Sprintf("x%03d", i)] = chars(length)
		}
		return h
	}
	auth := func(d *Definition, a Authentication) { d.Action.Request.Authentication = &a }
	for _, c := range []struct {
		name   string
		kind   ActionType
		change func(d *Definition)
		field  string
	}{
		{"start 18 months ahead", HTTP, func(d *Definition) { d.StartAt = ahead }, ""},
		{"start later", HTTP, func(d *Definition) { d.StartAt = ahead.Add(1) }, "startTime"},
		{"start in the past", HTTP, func(d *Definition) { d.StartAt = now.AddDate(-10, 0, 0) }, ""},
		{"start in the year 1", HTTP, func(d *Definition) { d.StartAt = time.Time{}.Add(time.Millisecond) }, ""},
		{"start in the year 0", HTTP, func(d *Definition) { d.StartAt = time.Time{}.Add(-1) }, "startTime"},

		{"no type", HTTP, func(d *Definition) { d.Action = Action{} }, "action.type"},
		{"no request", HTTP, func(d *Definition) { d.Action.Request = nil }, "action.request"},
		{"no queueMessage", StorageQueue, func(d *Definition) { d.Action.Queue = nil }, "action.queueMessage"},
		{"no serviceBusQueueMessage", ServiceBusQueue, func(d *Definition) { d.Action.Bus = nil }, "action.serviceBusQueueMessage"},
		{"no serviceBusTopicMessage", ServiceBusTopic, func(d *Definition) { d.Action.Bus = nil }, "action.serviceBusTopicMessage"},

		{"no uri", HTTP, func(d *Definition) { d.Action.Request.URI = "" }, "action.request.uri"},
		{"URL of 2048", HTTP, func(d *Definition) { d.Action.Request.URI = "http://h/" + chars(2048-9) }, ""},
		{"URL of 2049", HTTP, func(d *Definition) { d.Action.Request.URI = "http://h/" + chars(2049-9) }, "action.request.uri"},
		{"relative", HTTP, func(d *Definition) { d.Action.Request.URI = "/path" }, "action.request.uri"},
		{"no scheme", HTTP, func(d *Definition) { d.Action.Request.URI = "h:80/path" }, "action.request.uri"},
		{"no host", HTTP, func(d *Definition) { d.Action.Request.URI = "http:///path" }, "action.request.uri"},
		{"only a port", HTTP, func(d *Definition) { d.Action.Request.URI = "http://:80/path" }, "action.request.uri"},
		{"ftp", HTTP, func(d *Definition) { d.Action.Request.URI = "ftp://h/" }, "action.request.uri"},
		{"type Http, https", HTTP, func(d *Definition) { d.Action.Request.URI = "HTTPS://h/" }, ""},
		{"type Https, http", HTTPS, func(d *Definition) { d.Action.Request.URI = "http://h/" }, "action.request.uri"},
		{"user information", HTTP, func(d *Definition) { d.Action.Request.URI = "http://u:p@h/" }, "action.request.uri"},
		{"CR LF in the URL", HTTP, func(d *Definition) { d.Action.Request.URI = "http://h/\r\nA: b" }, "action.request.uri"},
		{"port 65535", HTTP, func(d *Definition) { d.Action.Request.URI = "http://h:65535" }, ""},
		{"port 65536", HTTP, func(d *Definition) { d.Action.Request.URI = "http://h:65536" }, "action.request.uri"},
		{"port 0", HTTP, func(d *Definition) { d.Action.Request.URI = "http://h:0" }, "action.request.uri"},
		{"IPv6", HTTP, func(d *Definition) { d.Action.Request.URI = "http://[::1]:80/" }, ""},
		{"no method", HTTP, func(d *Definition) { d.Action.Request.Method = "" }, "action.request.method"},
		{"method in any case", HTTP, func(d *Definition) { d.Action.Request.Method = "oPTIONS" }, ""},
		{"method with more", HTTP, func(d *Definition) { d.Action.Request.Method = "GET / HTTP/1.1\r\n" }, "action.request.method"},
		{"CONNECT", HTTP, func(d *Definition) { d.Action.Request.Method = "CONNECT" }, "action.request.method"},
		{"50 headers", HTTP, func(d *Definition) { d.Action.Request.Headers = headers(50, 1) }, ""},
		{"51 headers", HTTP, func(d *Definition) { d.Action.Request.Headers = headers(51, 1) }, "action.request.headers"},
		{"headers of 4096", HTTP, func(d *Definition) { d.Action.Request.Headers = headers(32, 124) }, ""},
		{"headers of 4097", HTTP, func(d *Definition) {
			d.Action.Request.Headers = headers(32, 124)
			d.Action.Request.Headers["x000"] += "x"
		}, "action.request.headers"},
		{"header name with a space", HTTP, func(d *Definition) { d.Action.Request.Headers = map[string]string{"a b": ""} }, "action.request.headers"},
		{"header name with CR LF", HTTP, func(d *Definition) { d.Action.Request.Headers = map[string]string{"a\r\nb": ""} }, "action.request.headers"},
		{"no header name", HTTP, func(d *Definition) { d.Action.Request.Headers = map[string]string{"": "v"} }, "action.request.headers"},
		{"header with CR LF", HTTP, func(d *Definition) { d.Action.Request.Headers = map[string]string{"a": "b\r\nc: d"} }, "action.request.headers.a"},
		{"header with NUL", HTTP, func(d *Definition) { d.Action.Request.Headers = map[string]string{"a": "\x00"} }, "action.request.headers.a"},
		{"header with DEL", HTTP, func(d *Definition) { d.Action.Request.Headers = map[string]string{"a": "\x7f"} }, "action.request.headers.a"},
		{"header with tab and é", HTTP, func(d *Definition) { d.Action.Request.Headers = map[string]string{"!#$%&'*+-.^_`|~9Az": "\té"} }, ""},
		{"body of 8192", HTTP, func(d *Definition) { d.Action.Request.Body = strings.Repeat("é", 8192) }, ""},
		{"body of 8193", HTTP, func(d *Definition) { d.Action.Request.Body = strings.Repeat("é", 8193) }, "action.request.body"},
		{"body of 8192 to .NET", HTTP, func(d *Definition) { d.Action.Request.Body = strings.Repeat("\U0001F550", 4096) }, ""},
		{"body of 8193 to .NET", HTTP, func(d *Definition) { d.Action.Request.Body = "x" + strings.Repeat("\U0001F550", 4096) }, "action.request.body"},

		{"authentication type", HTTP, func(d *Definition) { auth(d, Authentication{Type: "x"}) }, "action.request.authentication.type"},
		{"basic", HTTP, func(d *Definition) { auth(d, Authentication{Type: Basic, Username: "u", Password: "p"}) }, ""},
		{"basic without username", HTTP, func(d *Definition) { auth(d, Authentication{Type: Basic, Password: "p"}) }, "action.request.authentication.username"},
		{"basic with a colon", HTTP, func(d *Definition) { auth(d, Authentication{Type: Basic, Username: "u:", Password: "p"}) }, "action.request.authentication.username"},
		{"basic without password", HTTP, func(d *Definition) { auth(d, Authentication{Type: Basic, Username: "u"}) }, "action.request.authentication.password"},
		{"basic password with CR", HTTP, func(d *Definition) { auth(d, Authentication{Type: Basic, Username: "u", Password: "\r"}) }, "action.request.authentication.password"},
		{"certificate without password", HTTP, func(d *Definition) { auth(d, Authentication{Type: ClientCertificate, PFX: "x"}) }, ""},
		{"expired certificate", HTTP, func(d *Definition) {
			auth(d, Authentication{Type: ClientCertificate, PFX: "x", ExpiresAt: now.AddDate(-1, 0, 0)})
		}, ""},
		{"certificate without pfx", HTTP, func(d *Definition) { auth(d, Authentication{Type: ClientCertificate, Password: "x"}) }, "action.request.authentication.pfx"},
		{"oauth", HTTP, func(d *Definition) {
			auth(d, Authentication{Type: ActiveDirectoryOAuth, Tenant: "a.b", Audience: "a", ClientID: "c", Secret: "s"})
		}, ""},
		{"oauth without tenant", HTTP, func(d *Definition) {
			auth(d, Authentication{Type: ActiveDirectoryOAuth, Audience: "a", ClientID: "c", Secret: "s"})
		}, "action.request.authentication.tenant"},
		{"oauth tenant with a path", HTTP, func(d *Definition) {
			auth(d, Authentication{Type: ActiveDirectoryOAuth, Tenant: "a/../b", Audience: "a", ClientID: "c", Secret: "s"})
		}, "action.request.authentication.tenant"},
		{"oauth without audience", HTTP, func(d *Definition) {
			auth(d, Authentication{Type: ActiveDirectoryOAuth, Tenant: "t", ClientID: "c", Secret: "s"})
		}, "action.request.authentication.audience"},
		{"oauth without clientId", HTTP, func(d *Definition) {
			auth(d, Authentication{Type: ActiveDirectoryOAuth, Tenant: "t", Audience: "a", Secret: "s"})
		}, "action.request.authentication.clientId"},
		{"oauth without secret", HTTP, func(d *Definition) {
			auth(d, Authentication{Type: ActiveDirectoryOAuth, Tenant: "t", Audience: "a", ClientID: "c"})
		}, "action.request.authentication.secret"},

		{"account of 3", StorageQueue, func(d *Definition) { d.Action.Queue.StorageAccount = "ab1" }, ""},
		{"account of 2", StorageQueue, func(d *Definition) { d.Action.Queue.StorageAccount = "ab" }, "action.queueMessage.storageAccount"},
		{"account of 24", StorageQueue, func(d *Definition) { d.Action.Queue.StorageAccount = chars(24) }, ""},
		{"account of 25", StorageQueue, func(d *Definition) { d.Action.Queue.StorageAccount = chars(25) }, "action.queueMessage.storageAccount"},
		{"account with capitals, as documented", StorageQueue, func(d *Definition) { d.Action.Queue.StorageAccount = "myStorageAccount" }, ""},
		{"account with a dot", StorageQueue, func(d *Definition) { d.Action.Queue.StorageAccount = "evil.com" }, "action.queueMessage.storageAccount"},
		{"queue of 3", StorageQueue, func(d *Definition) { d.Action.Queue.QueueName = "a-1" }, ""},
		{"queue of 2", StorageQueue, func(d *Definition) { d.Action.Queue.QueueName = "ab" }, "action.queueMessage.queueName"},
		{"queue of 63", StorageQueue, func(d *Definition) { d.Action.Queue.QueueName = chars(63) }, ""},
		{"queue of 64", StorageQueue, func(d *Definition) { d.Action.Queue.QueueName = chars(64) }, "action.queueMessage.queueName"},
		{"queue with capitals", StorageQueue, func(d *Definition) { d.Action.Queue.QueueName = "Queue" }, "action.queueMessage.queueName"},
		{"queue with a slash", StorageQueue, func(d *Definition) { d.Action.Queue.QueueName = "que/ue" }, "action.queueMessage.queueName"},
		{"queue with two hyphens", StorageQueue, func(d *Definition) { d.Action.Queue.QueueName = "que--ue" }, "action.queueMessage.queueName"},
		{"queue with a hyphen first", StorageQueue, func(d *Definition) { d.Action.Queue.QueueName = "-queue" }, "action.queueMessage.queueName"},
		{"queue with a hyphen last", StorageQueue, func(d *Definition) { d.Action.Queue.QueueName = "queue-" }, "action.queueMessage.queueName"},
		{"queue message", StorageQueue, func(d *Definition) { d.Action.Queue.Message = "\t\r\n<&>é\U0001F550" }, ""},
		{"queue message with NUL", StorageQueue, func(d *Definition) { d.Action.Queue.Message = "\x00" }, "action.queueMessage.message"},
		{"queue message with U+FFFE", StorageQueue, func(d *Definition) { d.Action.Queue.Message = "\uFFFE" }, "action.queueMessage.message"},
		{"queue message as large as can be", StorageQueue, func(d *Definition) { d.Action.Queue.Message = chars(47104) }, ""},
		{"queue message larger", StorageQueue, func(d *Definition) { d.Action.Queue.Message = chars(47105) }, "action.queueMessage.message"},
		{"queue message that grows", StorageQueue, func(d *Definition) { d.Action.Queue.Message = strings.Repeat("&", 9421) }, "action.queueMessage.message"},
		{"queue message that grows by its CRs", StorageQueue, func(d *Definition) { d.Action.Queue.Message = strings.Repeat("\r", 9421) }, "action.queueMessage.message"},
		{"queue message in the envelope, said", StorageQueue, func(d *Definition) {
			d.Action.Queue.Message, d.Action.Queue.Format = chars(47105), QueueEnvelope
		}, "action.queueMessage.message"},
		{"queue message in base64", StorageQueue, func(d *Definition) {
			d.Action.Queue.Message, d.Action.Queue.Format = "\x00\uFFFE"+chars(49148), QueueBase64
		}, ""},
		{"queue message in base64 larger", StorageQueue, func(d *Definition) {
			d.Action.Queue.Message, d.Action.Queue.Format = chars(49153), QueueBase64
		}, "action.queueMessage.message"},
		{"queue message as text", StorageQueue, func(d *Definition) {
			d.Action.Queue.Message, d.Action.Queue.Format = strings.Repeat("&", 65536), QueueText
		}, ""},
		{"queue message as text larger", StorageQueue, func(d *Definition) {
			d.Action.Queue.Message, d.Action.Queue.Format = strings.Repeat("é", 32768)+"x", QueueText
		}, "action.queueMessage.message"},
		{"queue message as text with NUL", StorageQueue, func(d *Definition) {
			d.Action.Queue.Message, d.Action.Queue.Format = "\x00", QueueText
		}, "action.queueMessage.message"},
		{"queue message of another format", StorageQueue, func(d *Definition) { d.Action.Queue.Format = "json" }, "action.queueMessage.messageFormat"},
		{"queue without sasToken", StorageQueue, func(d *Definition) { d.Action.Queue.SASToken = "" }, "action.queueMessage.sasToken"},
		{"sasToken with a line's end", StorageQueue, func(d *Definition) { d.Action.Queue.SASToken = "a\n" }, "action.queueMessage.sasToken"},

		{"no queueName", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Entity = "" }, "action.serviceBusQueueMessage.queueName"},
		{"no topicPath", ServiceBusTopic, func(d *Definition) { d.Action.Bus.Entity = "" }, "action.serviceBusTopicMessage.topicPath"},
		{"entity of 260", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Entity = chars(260) }, ""},
		{"entity of 261", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Entity = chars(261) }, "action.serviceBusQueueMessage.queueName"},
		{"entity path", ServiceBusTopic, func(d *Definition) { d.Action.Bus.Entity = "a/b.c_d-e" }, ""},
		{"entity with a slash at the end", ServiceBusTopic, func(d *Definition) { d.Action.Bus.Entity = "a/" }, "action.serviceBusTopicMessage.topicPath"},
		{"entity with a question mark", ServiceBusTopic, func(d *Definition) { d.Action.Bus.Entity = "a?b" }, "action.serviceBusTopicMessage.topicPath"},
		{"no namespace", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Namespace = "" }, "action.serviceBusQueueMessage.namespace"},
		{"namespace", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Namespace = "mySBNamespace" }, ""},
		{"namespace as a host", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Namespace = "my-ns.servicebus.windows.net" }, ""},
		{"namespace as a host with a port", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Namespace = "127.0.0.1:5671" }, ""},
		{"namespace with a colon", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Namespace = "ns:" }, "action.serviceBusQueueMessage.namespace"},
		{"namespace with a word for a port", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Namespace = "ns:amqp" }, "action.serviceBusQueueMessage.namespace"},
		{"namespace with a path", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Namespace = "ns/x" }, "action.serviceBusQueueMessage.namespace"},
		{"namespace with a hyphen first", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Namespace = "-ns" }, "action.serviceBusQueueMessage.namespace"},
		{"namespace with two dots", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Namespace = "ns..x" }, "action.serviceBusQueueMessage.namespace"},
		{"label of 63", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Namespace = chars(63) }, ""},
		{"label of 64", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Namespace = chars(64) }, "action.serviceBusQueueMessage.namespace"},
		{"host of 254", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Namespace = strings.Repeat("x.", 126) + "xx" }, "action.serviceBusQueueMessage.namespace"},
		{"transport", ServiceBusQueue, func(d *Definition) { d.Action.Bus.TransportType = "udp" }, "action.serviceBusQueueMessage.transportType"},
		{"bus authentication", ServiceBusQueue, func(d *Definition) { d.Action.Bus.AuthType = "x" }, "action.serviceBusQueueMessage.authentication.type"},
		{"bus without authentication", ServiceBusQueue, func(d *Definition) { b := d.Action.Bus; b.AuthType, b.SASKeyName, b.SASKey = "", "", "" }, ""},
		{"bus without sasKeyName", ServiceBusQueue, func(d *Definition) { d.Action.Bus.SASKeyName = "" }, "action.serviceBusQueueMessage.authentication.sasKeyName"},
		{"bus without sasKey", ServiceBusTopic, func(d *Definition) { d.Action.Bus.SASKey = "" }, "action.serviceBusTopicMessage.authentication.sasKey"},
		{"messageId of 128", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Brokered.MessageID = chars(128) }, ""},
		{"messageId of 129", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Brokered.MessageID = chars(129) }, "action.serviceBusQueueMessage.brokeredMessageProperties.messageId"},
		{"viaPartitionKey of 129", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Brokered.ViaPartitionKey = chars(129) }, "action.serviceBusQueueMessage.brokeredMessageProperties.viaPartitionKey"},
		{"partitionKey as sessionId", ServiceBusQueue, func(d *Definition) { b := d.Action.Bus.Brokered; b.PartitionKey, b.SessionID = "a", "a" }, ""},
		{"partitionKey beside sessionId", ServiceBusQueue, func(d *Definition) { b := d.Action.Bus.Brokered; b.PartitionKey, b.SessionID = "a", "b" }, "action.serviceBusQueueMessage.brokeredMessageProperties.partitionKey"},
		{"timeToLive", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Brokered.TimeToLive = new(time.Duration(1)) }, ""},
		{"timeToLive 0", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Brokered.TimeToLive = new(time.Duration(0)) }, "action.serviceBusQueueMessage.brokeredMessageProperties.timeToLive"},
		{"custom without a name", ServiceBusQueue, func(d *Definition) { d.Action.Bus.Custom = map[string]string{"": "x"} }, "action.serviceBusQueueMessage.customMessageProperties"},

		{"retry 15 s", HTTP, func(d *Definition) { d.Action.Retry.Interval = 15 * time.Second }, ""},
		{"retry under 15 s", HTTP, func(d *Definition) { d.Action.Retry.Interval = 15*time.Second - 1 }, "action.retryPolicy.retryInterval"},
		{"retry 18 months", HTTP, func(d *Definition) { d.Action.Retry.Interval = 548 * 24 * time.Hour }, ""},
		{"retry over 18 months", HTTP, func(d *Definition) { d.Action.Retry.Interval = 548*24*time.Hour + 1 }, "action.retryPolicy.retryInterval"},
		{"retry 0 times", HTTP, func(d *Definition) { d.Action.Retry.Count = new(0) }, ""},
		{"retry -1 times", HTTP, func(d *Definition) { d.Action.Retry.Count = new(-1) }, "action.retryPolicy.retryCount"},
		{"retry 20 times", HTTP, func(d *Definition) { d.Action.Retry.Count = new(20) }, ""},
		{"retry 21 times", HTTP, func(d *Definition) { d.Action.Retry.Count = new(21) }, "action.retryPolicy.retryCount"},
		{"no retry, whatever else is said", HTTP, func(d *Definition) { d.Action.Retry = &RetryPolicy{Interval: 1, Count: new(99)} }, ""},
		{"error action's error action", HTTP, func(d *Definition) { d.Action.Error.Error = &Action{} }, "action.errorAction.errorAction"},
		{"error action's retry", HTTP, func(d *Definition) { d.Action.Error.Retry = &RetryPolicy{Fixed: true, Interval: 1} }, "action.errorAction.retryPolicy.retryInterval"},
		{"error action's type", HTTP, func(d *Definition) { d.Action.Error.Type = "x" }, "action.errorAction.type"},

		{"once", HTTP, func(d *Definition) { d.Recurrence = nil }, ""},
		{"no frequency", HTTP, func(d *Definition) { d.Recurrence.Frequency = 0 }, "recurrence.frequency"},
		{"1000 minutes", HTTP, func(d *Definition) { d.Recurrence = &recur.Spec{Frequency: recur.Minute, Interval: 1000} }, ""},
		{"1001 minutes", HTTP, func(d *Definition) { d.Recurrence = &recur.Spec{Frequency: recur.Minute, Interval: 1001} }, "recurrence.interval"},
		{"548 days", HTTP, func(d *Definition) { d.Recurrence.Interval = 548 }, ""},
		{"549 days", HTTP, func(d *Definition) { d.Recurrence.Interval = 549 }, "recurrence.interval"},
		{"count 1", HTTP, func(d *Definition) { d.Recurrence.Count = 1 }, ""},
		{"count -1", HTTP, func(d *Definition) { d.Recurrence.Count = -1 }, "recurrence.count"},
		{"end 18 months ahead", HTTP, func(d *Definition) { d.Recurrence.EndAt = ahead }, ""},
		{"end later", HTTP, func(d *Definition) { d.Recurrence.EndAt = ahead.Add(1) }, "recurrence.endTime"},
		{"end now", HTTP, func(d *Definition) { d.StartAt, d.Recurrence.EndAt = now.AddDate(0, 0, -1), now }, ""},
		{"end in the past", HTTP, func(d *Definition) { d.StartAt, d.Recurrence.EndAt = now.AddDate(0, 0, -1), now.Add(-1) }, "recurrence.endTime"},
		{"end with start", HTTP, func(d *Definition) { d.StartAt = now.AddDate(0, 0, 1); d.Recurrence.EndAt = d.StartAt }, ""},
		{"end before start", HTTP, func(d *Definition) { d.StartAt = now.AddDate(0, 0, 1); d.Recurrence.EndAt = d.StartAt.Add(-1) }, "recurrence.endTime"},
		{"empty hours", HTTP, func(d *Definition) { d.Recurrence.Schedule = &recur.Schedule{Hours: []int{}} }, "recurrence.schedule.hours"},
		{"weekDays with day", HTTP, func(d *Definition) { d.Recurrence.Schedule = &recur.Schedule{WeekDays: []time.Weekday{0}} }, "recurrence.schedule.weekDays"},
		{"30 February", HTTP, func(d *Definition) {
			d.Recurrence = &recur.Spec{Frequency: recur.Month, Schedule: &recur.Schedule{Months: []int{2}, MonthDays: []int{30}}}
		}, "recurrence.schedule"},
		{"disabled", HTTP, func(d *Definition) { d.State = Disabled }, ""},
		{"no state", HTTP, func(d *Definition) { d.State = "" }, "state"},
		{"final state", HTTP, func(d *Definition) { d.State = Completed }, "state"},
		{"the first of two", HTTP, func(d *Definition) { d.State = ""; d.Action.Request.Method = "" }, "action.request.method"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := sample(c.kind)
			c.change(d)
			wantInvalid(t, d.Validate(now, Ceilings{}), c.field)
		})
	}
}

// What is wrong in an action is wrong in an error action too, under its name.
func TestValidateErrorAction(t *testing.T) {
	for _, kind := range ActionTypes() {
		d := sample(kind)
		d.Action.Error = &Action{Type: kind}
		d.Action.Error.Request, d.Action.Error.Queue, d.Action.Error.Bus = nil, nil, nil
		err := d.Validate(today(), Ceilings{})
		var invalid *InvalidError
		if !errors.As(err, &invalid) || !strings.HasPrefix(invalid.Field, "action.errorAction.") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	d := sample(HTTP)
	d.Action.Error.Request.URI = "x"
	wantInvalid(t, d.Validate(today(), Ceilings{}), "action.errorAction.request.uri")
}

// No reason quotes a value: URIs, header values and secrets can hold what must
// not be shown.
func TestReasonsQuoteNoValue(t *testing.T) {
	const canary = "cAnArY"
	for _, change := range []func(d *Definition){
		func(d *Definition) { d.Action.Request.URI = "http://h:" + canary },
		func(d *Definition) { d.Action.Request.URI = "http://u:" + canary + "@h/" },
		func(d *Definition) { d.Action.Request.Method = canary },
		func(d *Definition) { d.Action.Request.Headers = map[string]string{"a": canary + "\r"} },
		func(d *Definition) {
			d.Action.Request.Authentication = &Authentication{Type: Basic, Username: "u", Password: canary + "\r"}
		},
	} {
		d := sample(HTTP)
		change(d)
		if err := d.Validate(today(), Ceilings{}); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("error %v", err)
		}
	}
}

// A definition with what the store may have kept of it stays valid.
func TestValidateStored(t *testing.T) {
	for _, kind := range ActionTypes() {
		b, err := json.Marshal(sample(kind))
		if err != nil {
			t.Fatal(err)
		}
		var d Definition
		if err := json.Unmarshal(b, &d); err != nil {
			t.Fatal(err)
		}
		if err := d.Validate(today(), Ceilings{}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestValidName(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "http_job": true, "Job-1 (test)": true, "a.b": true, "früh": true, "ジョブ": true, ".a": true,
		strings.Repeat("é", 100): true, strings.Repeat("x", 101): false, "": false,
		".": false, "..": false, "a.": false, "a ": false, " a": false, " ": false,
		"a/b": false, `a\b`: false, "a?b": false, "a%b": false, "a#b": false, "a&b": false, "a<b": false, "a>b": false, "a:b": false,
		"a+b": false, "a*b": false, `a"b`: false, "a\x00b": false, "a\nb": false, "a\u0085b": false, "a\x7f": false, "\xff": false,
	} {
		err := ValidName("jobName", name)
		field := "jobName"
		if ok {
			field = ""
		}
		t.Run(name, func(t *testing.T) { wantInvalid(t, err, field) })
	}
}
