package job

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// ActionType says what a job does, spelled as the wire spells it.
type ActionType string

// The action types.
const (
	HTTP            ActionType = "Http"
	HTTPS           ActionType = "Https"
	StorageQueue    ActionType = "StorageQueue"
	ServiceBusQueue ActionType = "ServiceBusQueue"
	ServiceBusTopic ActionType = "ServiceBusTopic"
)

// ActionTypes lists the action types.
func ActionTypes() []ActionType {
	return []ActionType{HTTP, HTTPS, StorageQueue, ServiceBusQueue, ServiceBusTopic}
}

// Action is what a job does when it is due. The part that Type names is set,
// the others are nil.
type Action struct {
	Type    ActionType         `json:"type"`
	Request *Request           `json:"request,omitempty"`      // Http, Https
	Queue   *QueueMessage      `json:"queueMessage,omitempty"` // StorageQueue
	Bus     *ServiceBusMessage `json:"busMessage,omitempty"`   // ServiceBusQueue, ServiceBusTopic

	Retry *RetryPolicy `json:"retry,omitempty"` // nil: the default; see [Action.Policy]
	Error *Action      `json:"error,omitempty"` // run after the last failure; nil in an error action
}

// Request is an HTTP call.
type Request struct {
	URI            string            `json:"uri"`
	Method         string            `json:"method"` // in the user's case
	Headers        map[string]string `json:"headers,omitempty"`
	Body           string            `json:"body,omitempty"`
	Authentication *Authentication   `json:"auth,omitempty"`
}

// AuthenticationType says how an HTTP call proves who it is, spelled as the
// wire spells it.
type AuthenticationType string

// The authentication types of HTTP calls.
const (
	Basic                AuthenticationType = "Basic"
	ClientCertificate    AuthenticationType = "ClientCertificate"
	ActiveDirectoryOAuth AuthenticationType = "ActiveDirectoryOAuth"
)

// Authentication is how an HTTP call proves who it is. The fields of its Type
// are set.
type Authentication struct {
	Type AuthenticationType `json:"type"`

	Username string `json:"username,omitempty"` // Basic
	// Password is that of Basic, or of a client certificate's PFX file.
	Password Secret `json:"password,omitempty"`

	PFX         Secret    `json:"pfx,omitempty"` // base64
	Thumbprint  string    `json:"thumbprint,omitempty"`
	ExpiresAt   time.Time `json:"expiresAt,omitzero"`
	SubjectName string    `json:"subjectName,omitempty"`

	Tenant   string `json:"tenant,omitempty"` // ActiveDirectoryOAuth
	Audience string `json:"audience,omitempty"`
	ClientID string `json:"clientId,omitempty"`
	Secret   Secret `json:"secret,omitempty"`
}

// QueueMessage is a message for an Azure Storage queue.
type QueueMessage struct {
	StorageAccount string `json:"storageAccount"`
	QueueName      string `json:"queueName"`
	SASToken       Secret `json:"sasToken,omitempty"` // with or without a leading "?"
	Message        string `json:"message"`
	Format         string `json:"format,omitempty"` // what is made of Message; "": not given, so [QueueEnvelope]
}

// What is sent to a Storage queue. The choice is an extension of ours: the live
// service sent the envelope.
const (
	QueueEnvelope = "envelope" // base64 of Azure's XML around the message
	QueueBase64   = "base64"   // base64 of the message
	QueueText     = "text"     // the message as it stands
)

// ServiceBusMessage is a message for a Service Bus queue or topic.
type ServiceBusMessage struct {
	Entity        string                 `json:"entity"` // queue name or topic path
	Namespace     string                 `json:"namespace"`
	TransportType string                 `json:"transportType,omitempty"`
	SASKeyName    string                 `json:"sasKeyName,omitempty"`
	SASKey        Secret                 `json:"sasKey,omitempty"`
	AuthType      string                 `json:"authType,omitempty"` // "sharedAccessKey", "notSpecified", or empty: no authentication given
	Message       string                 `json:"message"`
	Brokered      *BrokeredMessageFields `json:"brokered,omitempty"`
	Custom        map[string]string      `json:"custom,omitempty"` // nil: not given
}

// BrokeredMessageFields are the broker's properties of a Service Bus message.
// nil and zero values were not given.
type BrokeredMessageFields struct {
	ContentType             string         `json:"contentType,omitempty"`
	CorrelationID           string         `json:"correlationId,omitempty"`
	ForcePersistence        *bool          `json:"forcePersistence,omitempty"`
	Label                   string         `json:"label,omitempty"`
	MessageID               string         `json:"messageId,omitempty"`
	PartitionKey            string         `json:"partitionKey,omitempty"`
	ReplyTo                 string         `json:"replyTo,omitempty"`
	ReplyToSessionID        string         `json:"replyToSessionId,omitempty"`
	ScheduledEnqueueTimeUTC time.Time      `json:"scheduledEnqueueTimeUtc,omitzero"`
	SessionID               string         `json:"sessionId,omitempty"`
	TimeToLive              *time.Duration `json:"timeToLive,omitempty"`
	To                      string         `json:"to,omitempty"`
	ViaPartitionKey         string         `json:"viaPartitionKey,omitempty"`
}

// RetryPolicy says how often a failed action is tried again.
type RetryPolicy struct {
	Fixed    bool          `json:"fixed"`              // false: retryType none
	Interval time.Duration `json:"interval,omitempty"` // 0: not given
	Count    *int          `json:"count,omitempty"`    // nil: not given
}

// What a retry policy leaves out (Azure documentation: Scheduler concepts,
// retryPolicy: "by default, four times at 30-second intervals").
const (
	DefaultRetryInterval = 30 * time.Second
	DefaultRetryCount    = 4
)

// Retries returns how often the action is tried again after a failure and how
// long after it.
func (p *RetryPolicy) Retries() (count int, interval time.Duration) {
	count, interval = DefaultRetryCount, DefaultRetryInterval
	switch {
	case p == nil:
		return count, interval
	case !p.Fixed:
		return 0, 0
	}
	if p.Count != nil {
		count = *p.Count
	}
	if p.Interval > 0 {
		interval = p.Interval
	}
	return count, interval
}

// Phase says which action of a job an attempt performs.
type Phase string

// The phases, spelled as history's actionName.
const (
	MainAction  Phase = "MainAction"
	ErrorAction Phase = "ErrorAction"
)

// In returns the action of the phase, with the policy under which it is
// retried: an error action without one of its own has the main action's
// (our decision). It returns nil if there is no such action.
func (a *Action) In(p Phase) (*Action, *RetryPolicy) {
	if p == MainAction {
		return a, a.Retry
	}
	if a.Error == nil {
		return nil, nil
	}
	if a.Error.Retry != nil {
		return a.Error, a.Error.Retry
	}
	return a.Error, a.Retry
}

// Secret is text that must reach nobody but the target of an action. It prints
// and logs as "[secret]"; only its JSON, which store and queue keep, holds it.
type Secret string

// String hides the secret.
func (Secret) String() string { return "[secret]" }

// GoString hides the secret.
func (Secret) GoString() string { return "[secret]" }

// Format hides the secret whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[secret]")) }

// LogValue hides the secret.
func (Secret) LogValue() slog.Value { return slog.StringValue("[secret]") }

// Clone returns a deep copy.
func (a *Action) Clone() *Action {
	b, err := json.Marshal(a)
	if err != nil {
		panic("job: marshal action: " + err.Error()) // strings, numbers and times
	}
	c := new(Action)
	if err := json.Unmarshal(b, c); err != nil {
		panic("job: unmarshal action: " + err.Error())
	}
	return c
}

// Host returns the host that the action calls, for messages and logs: never a
// path, a query or user information.
func (a *Action) Host() string {
	switch {
	case a.Request != nil:
		_, rest, _ := strings.Cut(a.Request.URI, "://")
		rest, _, _ = strings.Cut(rest, "/")
		rest, _, _ = strings.Cut(rest, "?")
		if i := strings.LastIndexByte(rest, '@'); i >= 0 {
			rest = rest[i+1:]
		}
		return rest
	case a.Queue != nil:
		return a.Queue.StorageAccount
	case a.Bus != nil:
		return a.Bus.Namespace
	}
	return ""
}
