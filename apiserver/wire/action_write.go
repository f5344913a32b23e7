package wire

import (
	"github.com/carillon-scheduler/carillon/shared/job"
)

// As in job_write.go, the order of members is the live service's. No type here
// has a place for a secret.
type (
	action struct {
		Request     *request       `json:"request,omitempty"`
		Queue       *queueMessage  `json:"queueMessage,omitempty"`
		BusQueue    *busMessage    `json:"serviceBusQueueMessage,omitempty"`
		BusTopic    *busMessage    `json:"serviceBusTopicMessage,omitempty"`
		Type        job.ActionType `json:"type,omitempty"`
		RetryPolicy *retryPolicy   `json:"retryPolicy,omitempty"`
		ErrorAction *action        `json:"errorAction,omitempty"`
	}
	request struct {
		URI            string            `json:"uri,omitempty"`
		Method         string            `json:"method,omitempty"`
		Headers        map[string]string `json:"headers,omitempty"`
		Body           string            `json:"body,omitempty"`
		Authentication *authentication   `json:"authentication,omitempty"`
	}
	authentication struct {
		Username   string `json:"username,omitempty"`
		Tenant     string `json:"tenant,omitempty"`
		Audience   string `json:"audience,omitempty"`
		ClientID   string `json:"clientId,omitempty"`
		Thumbprint string `json:"certificateThumbprint,omitempty"`
		// The live service had the first name, Azure's SDKs read the second.
		Expiration     string                 `json:"certificateExpiration,omitempty"`
		ExpirationDate string                 `json:"certificateExpirationDate,omitempty"`
		SubjectName    string                 `json:"certificateSubjectName,omitempty"`
		Type           job.AuthenticationType `json:"type"`
	}
	queueMessage struct {
		StorageAccount string `json:"storageAccount,omitempty"`
		QueueName      string `json:"queueName,omitempty"`
		Message        string `json:"message,omitempty"`
		Format         string `json:"messageFormat,omitempty"` // ours; Azure's clients ignore it
	}
	busMessage struct {
		QueueName      string             `json:"queueName,omitempty"`
		TopicPath      string             `json:"topicPath,omitempty"`
		Namespace      string             `json:"namespace,omitempty"`
		TransportType  string             `json:"transportType,omitempty"`
		Authentication *busAuthentication `json:"authentication,omitempty"`
		Message        string             `json:"message,omitempty"`
		Brokered       *brokered          `json:"brokeredMessageProperties,omitempty"`
		Custom         map[string]string  `json:"customMessageProperties,omitempty"`
	}
	busAuthentication struct {
		SASKeyName string `json:"sasKeyName,omitempty"`
		Type       string `json:"type"`
	}
	brokered struct {
		ContentType             string `json:"contentType,omitempty"`
		CorrelationID           string `json:"correlationId,omitempty"`
		ForcePersistence        *bool  `json:"forcePersistence,omitempty"`
		Label                   string `json:"label,omitempty"`
		MessageID               string `json:"messageId,omitempty"`
		PartitionKey            string `json:"partitionKey,omitempty"`
		ReplyTo                 string `json:"replyTo,omitempty"`
		ReplyToSessionID        string `json:"replyToSessionId,omitempty"`
		ScheduledEnqueueTimeUTC string `json:"scheduledEnqueueTimeUtc,omitempty"`
		SessionID               string `json:"sessionId,omitempty"`
		TimeToLive              string `json:"timeToLive,omitempty"`
		To                      string `json:"to,omitempty"`
		ViaPartitionKey         string `json:"viaPartitionKey,omitempty"`
	}
	retryPolicy struct {
		Type     string `json:"retryType"`
		Interval string `json:"retryInterval,omitempty"`
		Count    *int   `json:"retryCount,omitempty"`
	}
)

func writeAction(a *job.Action) *action {
	w := &action{Type: a.Type}
	switch a.Type {
	case job.HTTP, job.HTTPS:
		w.Request = writeRequest(a.Request)
	case job.StorageQueue:
		if q := a.Queue; q != nil {
			w.Queue = &queueMessage{q.StorageAccount, q.QueueName, q.Message, q.Format}
		}
	case job.ServiceBusQueue:
		w.BusQueue = writeBus(a.Bus)
		if w.BusQueue != nil {
			w.BusQueue.QueueName = a.Bus.Entity
		}
	case job.ServiceBusTopic:
		w.BusTopic = writeBus(a.Bus)
		if w.BusTopic != nil {
			w.BusTopic.TopicPath = a.Bus.Entity
		}
	}
	if p := a.Retry; p != nil {
		w.RetryPolicy = &retryPolicy{Type: "none", Count: p.Count}
		if p.Fixed {
			w.RetryPolicy.Type = "fixed"
		}
		if p.Interval > 0 {
			w.RetryPolicy.Interval = FormatSpan(p.Interval)
		}
	}
	if a.Error != nil {
		w.ErrorAction = writeAction(a.Error)
	}
	return w
}

func writeRequest(r *job.Request) *request {
	if r == nil {
		return nil
	}
	w := &request{URI: r.URI, Method: r.Method, Headers: r.Headers, Body: r.Body}
	if a := r.Authentication; a != nil {
		expires := formatGiven(a.ExpiresAt)
		w.Authentication = &authentication{
			Username:       a.Username,
			Tenant:         a.Tenant,
			Audience:       a.Audience,
			ClientID:       a.ClientID,
			Thumbprint:     a.Thumbprint,
			Expiration:     expires,
			ExpirationDate: expires,
			SubjectName:    a.SubjectName,
			Type:           a.Type,
		}
	}
	return w
}

func writeBus(m *job.ServiceBusMessage) *busMessage {
	if m == nil {
		return nil
	}
	w := &busMessage{
		Namespace:     m.Namespace,
		TransportType: m.TransportType,
		Message:       m.Message,
		Custom:        m.Custom,
	}
	if m.AuthType != "" {
		w.Authentication = &busAuthentication{m.SASKeyName, m.AuthType}
	}
	if f := m.Brokered; f != nil {
		w.Brokered = &brokered{
			ContentType:             f.ContentType,
			CorrelationID:           f.CorrelationID,
			ForcePersistence:        f.ForcePersistence,
			Label:                   f.Label,
			MessageID:               f.MessageID,
			PartitionKey:            f.PartitionKey,
			ReplyTo:                 f.ReplyTo,
			ReplyToSessionID:        f.ReplyToSessionID,
			ScheduledEnqueueTimeUTC: formatGiven(f.ScheduledEnqueueTimeUTC),
			SessionID:               f.SessionID,
			To:                      f.To,
			ViaPartitionKey:         f.ViaPartitionKey,
		}
		if f.TimeToLive != nil {
			w.Brokered.TimeToLive = FormatSpan(*f.TimeToLive)
		}
	}
	return w
}
