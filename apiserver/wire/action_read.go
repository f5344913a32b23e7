package wire

import (
	"strings"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// action reads an action with its error action. Secrets that it leaves out are
// taken from was, which may be nil.
func (n node) action(was *job.Action) job.Action {
	if !n.isObject() {
		return job.Action{}
	}
	a := n.performance(was)
	if fallback := n.get("errorAction"); fallback.isObject() {
		var wasError *job.Action
		if was != nil {
			wasError = was.Error
		}
		a.Error = new(fallback.performance(wasError))
		if again := fallback.get("errorAction"); again.given() {
			again.fail("must not be given: an error action has none of its own")
		}
	}
	return a
}

// performance reads an action but for its error action: its type, the part that
// goes with the type, and how it is retried. Parts of other types are ignored.
func (n node) performance(was *job.Action) job.Action {
	if was == nil {
		was = new(job.Action)
	}
	a := job.Action{
		Type:  choice(n.get("type"), job.ActionTypes()...),
		Retry: n.get("retryPolicy").retry(),
	}
	switch a.Type {
	case job.HTTP, job.HTTPS:
		a.Request = n.get("request").request(was.Request)
	case job.StorageQueue:
		a.Queue = n.get("queueMessage").queue(was.Queue)
	case job.ServiceBusQueue:
		a.Bus = n.get("serviceBusQueueMessage").bus("queueName", was.Bus)
	case job.ServiceBusTopic:
		a.Bus = n.get("serviceBusTopicMessage").bus("topicPath", was.Bus)
	}
	return a
}

func (n node) request(was *job.Request) *job.Request {
	if !n.isObject() {
		return nil
	}
	if was == nil {
		was = new(job.Request)
	}
	return &job.Request{
		URI:            n.get("uri").text(),
		Method:         n.get("method").text(),
		Headers:        n.get("headers").texts(),
		Body:           n.get("body").text(),
		Authentication: n.get("authentication").authentication(was.Authentication),
	}
}

func (n node) queue(was *job.QueueMessage) *job.QueueMessage {
	if !n.isObject() {
		return nil
	}
	q := &job.QueueMessage{
		StorageAccount: n.get("storageAccount").text(),
		QueueName:      n.get("queueName").text(),
		Message:        n.get("message").text(),
		Format:         choice(n.get("messageFormat"), job.QueueEnvelope, job.QueueBase64, job.QueueText),
	}
	var kept job.Secret
	if was != nil && strings.EqualFold(was.StorageAccount, q.StorageAccount) && was.QueueName == q.QueueName {
		kept = was.SASToken
	}
	q.SASToken = n.get("sasToken").secret(kept)
	return q
}

// bus reads a Service Bus message for the entity that the member named entity
// names.
func (n node) bus(entity string, was *job.ServiceBusMessage) *job.ServiceBusMessage {
	if !n.isObject() {
		return nil
	}
	m := &job.ServiceBusMessage{
		Entity:        n.get(entity).text(),
		Namespace:     n.get("namespace").text(),
		TransportType: choice(n.get("transportType"), "netMessaging", "amqp", "notSpecified"),
		Message:       n.get("message").text(),
		Brokered:      n.get("brokeredMessageProperties").brokered(),
		Custom:        n.get("customMessageProperties").texts(),
	}
	if auth := n.get("authentication"); auth.isObject() {
		auth.sharedAccessKey(m, was)
	}
	return m
}

func (n node) brokered() *job.BrokeredMessageFields {
	if !n.isObject() {
		return nil
	}
	f := &job.BrokeredMessageFields{
		ContentType:             n.get("contentType").text(),
		CorrelationID:           n.get("correlationId").text(),
		ForcePersistence:        n.get("forcePersistence").flag(),
		Label:                   n.get("label").text(),
		MessageID:               n.get("messageId").text(),
		PartitionKey:            n.get("partitionKey").text(),
		ReplyTo:                 n.get("replyTo").text(),
		ReplyToSessionID:        n.get("replyToSessionId").text(),
		ScheduledEnqueueTimeUTC: n.get("scheduledEnqueueTimeUtc").time(),
		SessionID:               n.get("sessionId").text(),
		To:                      n.get("to").text(),
		ViaPartitionKey:         n.get("viaPartitionKey").text(),
	}
	if ttl := n.get("timeToLive"); ttl.given() {
		f.TimeToLive = new(ttl.span())
	}
	return f
}

// retry reads a retry policy. One without a retryType is fixed: it would not
// have been given to say nothing.
func (n node) retry() *job.RetryPolicy {
	if !n.isObject() {
		return nil
	}
	interval, count := n.get("retryInterval"), n.get("retryCount")
	p := &job.RetryPolicy{
		Fixed:    choice(n.get("retryType"), "fixed", "none") != "none",
		Interval: interval.span(),
	}
	if p.Fixed && interval.given() && p.Interval == 0 {
		interval.fail("must be at least 00:00:15") // the domain's 0 means not given
	}
	if count.given() {
		p.Count = new(count.whole())
	}
	return p
}
