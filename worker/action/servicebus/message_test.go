package servicebus_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
	"github.com/carillon-scheduler/carillon/worker/action/bustest"
	"github.com/carillon-scheduler/carillon/worker/action/servicebus"
)

// facts are the properties that tell about the execution of d.
func facts(d *job.Dispatch) map[string]any {
	return map[string]any{
		"x-ms-scheduler-jobid":                   "job",
		"x-ms-scheduler-jobcollection":           "collection",
		"x-ms-scheduler-expected-execution-time": "2015-09-10T00:00:00Z",
		"x-ms-scheduler-attempt":                 "2",
		"x-ms-execution-tag":                     d.Tag,
		"x-ms-client-request-id":                 action.RequestID(d),
	}
}

// AZURE §8, Service Bus: message as the body, brokeredMessageProperties onto the
// AMQP message, customMessageProperties as application properties, the
// execution facts beside them; as two Service Buses see them.
func TestWholeMessage(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 6e6, time.UTC)
	for name, start := range map[string]func(t testing.TB, secure bool) target{"bustest": startBustest, "rhea": startRhea} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := start(t, false)
			d := newDispatch(to.address, "orders/express")
			d.Action.Type = job.ServiceBusTopic
			d.Action.Bus.Message = "<größe>日本語😀</größe>"
			d.Action.Bus.Custom = map[string]string{"k1": "v1", "größe": "XL", "X-MS-Scheduler-Attempt": "mine", "empty": ""}
			d.Action.Bus.Brokered = &job.BrokeredMessageFields{
				ContentType: "text/xml", CorrelationID: "corr", ForcePersistence: new(true), Label: "label", MessageID: "id",
				PartitionKey: "session", ReplyTo: "answers", ReplyToSessionID: "answer-session", ScheduledEnqueueTimeUTC: at,
				SessionID: "session", TimeToLive: new(90 * time.Second), To: "somewhere", ViaPartitionKey: "via",
			}
			deliver(t, newAction(t, servicebus.Config{Endpoint: to.endpoint, Network: to.network}), d)

			properties := facts(d)
			delete(properties, "x-ms-scheduler-attempt")
			for name, value := range d.Action.Bus.Custom {
				properties[name] = value
			}
			want := []bustest.Message{{
				Entity: "orders/express", Host: "127.0.0.1", Audience: "amqp://127.0.0.1/orders/express",
				Header: true, TimeToLive: 90 * time.Second,
				MessageID: "id", To: "somewhere", Subject: "label", ReplyTo: "answers", CorrelationID: "corr", ContentType: "text/xml",
				SessionID: "session", ReplyToSessionID: "answer-session",
				Annotations: map[string]any{
					"x-opt-partition-key": "session", "x-opt-via-partition-key": "via", "x-opt-scheduled-enqueue-time": at,
				},
				Properties: properties, Body: []byte(d.Action.Bus.Message), Sections: 1,
			}}
			if diff := cmp.Diff(want, to.messages(t), cmpopts.IgnoreFields(bustest.Message{}, "Agent")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// AZURE §8: each property stands in its place, alone; what is not given is absent.
func TestProperties(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{})
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	for name, test := range map[string]struct {
		given job.BrokeredMessageFields
		want  bustest.Message
	}{
		"none":                    {job.BrokeredMessageFields{}, bustest.Message{}},
		"forcePersistence":        {job.BrokeredMessageFields{ForcePersistence: new(true)}, bustest.Message{}},
		"contentType":             {job.BrokeredMessageFields{ContentType: "x"}, bustest.Message{ContentType: "x"}},
		"correlationId":           {job.BrokeredMessageFields{CorrelationID: "x"}, bustest.Message{CorrelationID: "x"}},
		"label":                   {job.BrokeredMessageFields{Label: "x"}, bustest.Message{Subject: "x"}},
		"messageId":               {job.BrokeredMessageFields{MessageID: "x"}, bustest.Message{MessageID: "x"}},
		"replyTo":                 {job.BrokeredMessageFields{ReplyTo: "x"}, bustest.Message{ReplyTo: "x"}},
		"replyToSessionId":        {job.BrokeredMessageFields{ReplyToSessionID: "x"}, bustest.Message{ReplyToSessionID: "x"}},
		"sessionId":               {job.BrokeredMessageFields{SessionID: "x"}, bustest.Message{SessionID: "x"}},
		"to":                      {job.BrokeredMessageFields{To: "x"}, bustest.Message{To: "x"}},
		"partitionKey":            {job.BrokeredMessageFields{PartitionKey: "x"}, bustest.Message{Annotations: map[string]any{"x-opt-partition-key": "x"}}},
		"viaPartitionKey":         {job.BrokeredMessageFields{ViaPartitionKey: "x"}, bustest.Message{Annotations: map[string]any{"x-opt-via-partition-key": "x"}}},
		"scheduledEnqueueTimeUtc": {job.BrokeredMessageFields{ScheduledEnqueueTimeUTC: at}, bustest.Message{Annotations: map[string]any{"x-opt-scheduled-enqueue-time": at.UTC()}}},
		"timeToLive":              {job.BrokeredMessageFields{TimeToLive: new(time.Minute)}, bustest.Message{Header: true, TimeToLive: time.Minute}},
		"timeToLive, short":       {job.BrokeredMessageFields{TimeToLive: new(time.Nanosecond)}, bustest.Message{Header: true, TimeToLive: time.Millisecond}},
	} {
		d := newDispatch(s.Address(), name)
		d.Action.Bus.Brokered = &test.given
		deliver(t, a, d)
		want := test.want
		if want.MessageID == "" {
			want.MessageID = d.Tag // so that duplicate detection works
		}
		want.Entity, want.Host, want.Audience = name, "127.0.0.1", "amqp://127.0.0.1/"+name
		want.Properties, want.Body, want.Sections = facts(d), []byte("membership"), 1
		got := s.Messages()
		if diff := cmp.Diff(want, got[len(got)-1], cmpopts.EquateEmpty(), cmpopts.IgnoreFields(bustest.Message{}, "Agent")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// More than the header has room for is said as Microsoft's .NET client says it.
func TestLongTimeToLive(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	d := newDispatch(s.Address(), "q")
	ttl := 90 * 24 * time.Hour
	d.Action.Bus.Brokered = &job.BrokeredMessageFields{TimeToLive: new(ttl)}
	before := time.Now().Truncate(time.Millisecond)
	deliver(t, newAction(t, servicebus.Config{}), d)
	m := s.Messages()[0]
	if m.TimeToLive != math.MaxUint32*time.Millisecond {
		t.Errorf("time to live in the header: %v", m.TimeToLive)
	}
	if m.CreatedAt.Before(before) || m.CreatedAt.After(time.Now()) || m.ExpiresAt.Sub(m.CreatedAt) != ttl {
		t.Errorf("from %v to %v", m.CreatedAt, m.ExpiresAt)
	}
}

func TestExpectedTimeHasMilliseconds(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	d := newDispatch(s.Address(), "q")
	d.At = time.Date(2015, 9, 10, 2, 0, 0, 7e6, time.FixedZone("", 7200))
	deliver(t, newAction(t, servicebus.Config{}), d)
	if got := s.Messages()[0].Properties["x-ms-scheduler-expected-execution-time"]; got != "2015-09-10T00:00:00.007Z" {
		t.Errorf("%v", got)
	}
}

// AZURE §8: "without overwriting the job's own", whatever their case.
func TestOwnPropertiesWin(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{})
	for name := range facts(newDispatch("", "")) {
		for _, spelled := range []string{name, strings.ToUpper(name)} {
			d := newDispatch(s.Address(), "q")
			d.Action.Bus.Custom = map[string]string{spelled: "mine"}
			deliver(t, a, d)
			want := facts(d)
			delete(want, name)
			want[spelled] = "mine"
			got := s.Messages()
			if diff := cmp.Diff(want, got[len(got)-1].Properties); diff != "" {
				t.Errorf("%s (-want +got):\n%s", spelled, diff)
			}
		}
	}
}

// A body is a data section, even an empty one; a large one comes in parts.
func TestBodies(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{})
	for i, text := range []string{"", "\x00\x01", strings.Repeat("x", 200_000)} {
		d := newDispatch(s.Address(), "q")
		d.Action.Bus.Message = text
		deliver(t, a, d)
		if m := s.Messages()[i]; string(m.Body) != text || m.Sections != 1 {
			t.Errorf("%d bytes: %d in %d sections", len(text), len(m.Body), m.Sections)
		}
	}
}

func TestAgent(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	deliver(t, newAction(t, servicebus.Config{Agent: "Carillon/1.2.3"}), newDispatch(s.Address(), "q"))
	if agent := s.Messages()[0].Agent; !strings.HasPrefix(agent, "Carillon/1.2.3 ") {
		t.Errorf("%q", agent)
	}
}

// An endpoint may be an IPv6 address.
func TestIPv6(t *testing.T) {
	s, err := bustest.Start(bustest.Config{Address: "[::1]:0", Keys: map[string]string{keyName: secret}})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(s.Close)
	deliver(t, newAction(t, servicebus.Config{Endpoint: "amqp://" + s.Address()}), newDispatch("ns", "q"))
	if m := s.Messages(); len(m) != 1 || m[0].Audience != "amqp://[::1]/q" {
		t.Errorf("%+v", m)
	}
}

// AZURE §8: "netMessaging and amqp both go over AMQP 1.0".
func TestTransportTypes(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{})
	for _, kind := range []string{"", "netMessaging", "amqp", "notSpecified"} {
		d := newDispatch(s.Address(), "q")
		d.Action.Bus.TransportType = kind
		deliver(t, a, d)
	}
	if n := len(s.Messages()); n != 4 {
		t.Errorf("%d messages", n)
	}
}

// AZURE §5: first quoted = queue or topic, next quoted = namespace, and a colon.
func TestSuccessSentence(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{Endpoint: "amqp://" + s.Address()})
	for kind, want := range map[job.ActionType]string{
		job.ServiceBusQueue: "ServiceBusQueue Action - Message to 'e/f' in namespace 'ns': succeeded",
		job.ServiceBusTopic: "ServiceBusTopic Action - Message to 'e/f' in namespace 'ns': succeeded",
	} {
		d := newDispatch("ns", "e/f")
		d.Action.Type = kind
		if diff := cmp.Diff(action.Report{Outcome: job.Succeeded, Message: want}, do(t, a, d)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func BenchmarkSend(b *testing.B) {
	s := newPeer(b, bustest.Config{})
	a := newAction(b, servicebus.Config{})
	deliver(b, a, newDispatch(s.Address(), "q"))
	for _, parallelism := range []int{1, 32} {
		b.Run(fmt.Sprint(parallelism, " a processor"), func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(parallelism)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if r := a.Do(b.Context(), newDispatch(s.Address(), "q")); r.Outcome != job.Succeeded {
						b.Error(r.Message)
					}
				}
			})
		})
	}
}
