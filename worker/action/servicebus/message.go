package servicebus

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
)

// The annotations of Service Bus (Azure documentation: AMQP in Service Bus,
// message annotations).
const (
	annotationPartition    = "x-opt-partition-key"
	annotationViaPartition = "x-opt-via-partition-key"
	annotationScheduled    = "x-opt-scheduled-enqueue-time"
)

// message makes d's message (AZURE, outbound): the job's text as its body, the
// broker's properties where AMQP has a place for them, the job's own properties
// with those that tell about the execution. It has the execution tag for its id
// if the job sets none, so that an entity that looks for duplicates finds them.
func message(d *job.Dispatch, now time.Time) *azservicebus.AMQPAnnotatedMessage {
	bus := d.Action.Bus
	properties := &azservicebus.AMQPAnnotatedMessageProperties{MessageID: d.Tag}
	m := &azservicebus.AMQPAnnotatedMessage{
		Body:                  azservicebus.AMQPAnnotatedMessageBody{Data: [][]byte{[]byte(bus.Message)}},
		Properties:            properties,
		ApplicationProperties: applicationProperties(d),
		MessageAnnotations:    map[any]any{},
	}
	b := bus.Brokered
	if b == nil {
		return m
	}
	if b.MessageID != "" {
		properties.MessageID = b.MessageID
	}
	if b.CorrelationID != "" {
		properties.CorrelationID = b.CorrelationID
	}
	properties.ContentType = given(b.ContentType)
	properties.Subject = given(b.Label)
	properties.To = given(b.To)
	properties.ReplyTo = given(b.ReplyTo)
	properties.GroupID = given(b.SessionID)
	properties.ReplyToGroupID = given(b.ReplyToSessionID)
	if b.PartitionKey != "" {
		m.MessageAnnotations[annotationPartition] = b.PartitionKey
	}
	if b.ViaPartitionKey != "" {
		m.MessageAnnotations[annotationViaPartition] = b.ViaPartitionKey
	}
	if !b.ScheduledEnqueueTimeUTC.IsZero() {
		m.MessageAnnotations[annotationScheduled] = b.ScheduledEnqueueTimeUTC.UTC()
	}
	if b.TimeToLive != nil {
		setTimeToLive(m, *b.TimeToLive, now)
	}
	return m
}

// given returns nil for what was not given.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// setTimeToLive gives m so long to live, at least a millisecond. What the header
// has no room for, more than 49 days, is said by two properties, as Microsoft's
// .NET client says it.
func setTimeToLive(m *azservicebus.AMQPAnnotatedMessage, ttl time.Duration, now time.Time) {
	const (
		most            = math.MaxUint32 * time.Millisecond
		defaultPriority = 4
	)
	if ttl > most {
		created := now.UTC().Truncate(time.Millisecond)
		expires := created.Add(ttl)
		m.Properties.CreationTime, m.Properties.AbsoluteExpiryTime = &created, &expires
	}
	m.Header = &azservicebus.AMQPAnnotatedMessageHeader{TTL: min(max(ttl, time.Millisecond), most), Priority: defaultPriority}
}

// applicationProperties returns the job's own properties and beside them, under
// the names of the HTTP action's headers, what tells about the execution. One
// that the job sets itself wins, whatever its case (AZURE, outbound).
func applicationProperties(d *job.Dispatch) map[string]any {
	facts := [...]struct{ name, value string }{
		{"x-ms-scheduler-jobid", d.Job},
		{"x-ms-scheduler-jobcollection", d.Collection},
		{"x-ms-scheduler-expected-execution-time", expected(d.At)},
		{"x-ms-scheduler-attempt", strconv.Itoa(d.RetryCount + 1)},
		{"x-ms-execution-tag", d.Tag},
		{"x-ms-client-request-id", action.RequestID(d)},
	}
	custom := d.Action.Bus.Custom
	properties := make(map[string]any, len(custom)+len(facts))
	own := make(map[string]bool, len(custom))
	for name, value := range custom {
		properties[name] = value
		own[strings.ToLower(name)] = true
	}
	for _, f := range facts {
		if !own[f.name] {
			properties[f.name] = f.value
		}
	}
	return properties
}

// expected writes a nominal time as the HTTP action does.
func expected(at time.Time) string {
	at = at.UTC()
	if at.Nanosecond() == 0 {
		return at.Format("2006-01-02T15:04:05Z")
	}
	return at.Format("2006-01-02T15:04:05.000Z")
}
