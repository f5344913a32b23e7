package job

import (
	"encoding/base64"
	"slices"
	"strings"
)

// Bounds of messages (Azure documentation: Queue storage naming and limits,
// Service Bus quotas).
const (
	maxQueueMessage = 64 << 10 // as sent; see [QueueMessage.Format]
	// maxEnvelope is more than the envelope of a Storage-queue message takes with
	// names of usual length; it is measured again when it is sent.
	maxEnvelope  = 2 << 10
	maxBusEntity = 260
	maxBusText   = 128 // ids and keys of a brokered message
)

func (q *QueueMessage) validate(path string) error {
	switch {
	case len(q.StorageAccount) < 3 || len(q.StorageAccount) > 24 || !isAccount(q.StorageAccount):
		return Invalid(path+".storageAccount", "must be 3 to 24 letters and digits")
	case len(q.QueueName) < 3 || len(q.QueueName) > 63 || !isQueue(q.QueueName):
		return Invalid(path+".queueName",
			"must be 3 to 63 lower case letters, digits and single hyphens, none of them first or last")
	case hasControl(string(q.SASToken)):
		return Invalid(path+".sasToken", "must not hold control characters")
	}
	if err := q.validateMessage(path); err != nil {
		return err
	}
	return required(path, "sasToken", string(q.SASToken))
}

// validateMessage checks what is sent, which depends on the format.
func (q *QueueMessage) validateMessage(path string) error {
	var size int
	var form string
	switch q.Format {
	case "", QueueEnvelope:
		size, form = base64.StdEncoding.EncodedLen(xmlLen(q.Message)+maxEnvelope), ", of base64 of XML"
	case QueueBase64:
		size, form = base64.StdEncoding.EncodedLen(len(q.Message)), ", of base64"
	case QueueText:
		size = len(q.Message)
	default:
		return Invalid(path+".messageFormat", "must be %s, %s or %s", QueueEnvelope, QueueBase64, QueueText)
	}
	switch {
	case q.Format != QueueBase64 && strings.ContainsFunc(q.Message, notXML):
		return Invalid(path+".message",
			"must not hold control characters but tab, CR and LF, unless messageFormat is %s: it is sent in XML", QueueBase64)
	case size > maxQueueMessage:
		return Invalid(path+".message", "must be smaller: a queue takes %d bytes%s", maxQueueMessage, form)
	}
	return nil
}

// isAccount reports whether s can name a storage account. The name is a label
// of a host name, so capitals do no harm; Microsoft's own examples have some.
func isAccount(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !isAlphanumeric(r) })
}

func isQueue(s string) bool {
	return s == strings.ToLower(s) && !strings.HasPrefix(s, "-") && !strings.HasSuffix(s, "-") &&
		!strings.Contains(s, "--") && isAccount(strings.ReplaceAll(s, "-", ""))
}

// notXML reports whether XML 1.0 has no way to write r.
func notXML(r rune) bool {
	return r < ' ' && r != '\t' && r != '\r' && r != '\n' || r == '\uFFFE' || r == '\uFFFF'
}

// xmlLen is the length of s with its special characters escaped. CR is one: bare,
// a parser would take it for the end of a line.
func xmlLen(s string) int {
	n := len(s)
	n += strings.Count(s, "\r") * (len("&#xD;") - 1)
	n += strings.Count(s, "&") * (len("&amp;") - 1)
	n += (strings.Count(s, "<") + strings.Count(s, ">")) * (len("&lt;") - 1)
	n += (strings.Count(s, `"`) + strings.Count(s, "'")) * (len("&quot;") - 1)
	return n
}

// validate checks a Service Bus message. entity is the member that names where
// it goes.
func (m *ServiceBusMessage) validate(path, entity string) error {
	switch {
	case m.Entity == "" || chars(m.Entity) > maxBusEntity || strings.ContainsAny(m.Entity, `@?#*\`) || hasControl(m.Entity) ||
		strings.HasPrefix(m.Entity, "/") || strings.HasSuffix(m.Entity, "/"):
		return Invalid(path+"."+entity, `must have 1 to %d characters, no slash at the ends and none of @?#*\`, maxBusEntity)
	case !isNamespace(m.Namespace):
		return Invalid(path+".namespace", "must be the name of a namespace or a host name")
	}
	switch m.TransportType {
	case "", "netMessaging", "amqp", "notSpecified":
	default:
		return Invalid(path+".transportType", "must be netMessaging, amqp or notSpecified")
	}
	switch m.AuthType {
	case "", "notSpecified":
	case "sharedAccessKey":
		err := required(path+".authentication", "sasKeyName", m.SASKeyName, "sasKey", string(m.SASKey))
		if err != nil {
			return err
		}
	default:
		return Invalid(path+".authentication.type", "must be sharedAccessKey or notSpecified")
	}
	if err := m.Brokered.validate(path + ".brokeredMessageProperties"); err != nil {
		return err
	}
	if _, ok := m.Custom[""]; ok {
		return Invalid(path+".customMessageProperties", "must not have an empty name")
	}
	return nil
}

// isNamespace reports whether s is a bare name or a host name, with or without
// a port.
func isNamespace(s string) bool {
	host, port, ok := strings.Cut(s, ":")
	if ok && (port == "" || strings.Trim(port, "0123456789") != "") {
		return false
	}
	return isHost(host)
}

// isHost reports whether s is a host name or an IPv4 address.
func isHost(s string) bool {
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") ||
			!isAccount(strings.ReplaceAll(label, "-", "")) {
			return false
		}
	}
	return true
}

func (f *BrokeredMessageFields) validate(path string) error {
	if f == nil {
		return nil
	}
	for text := range slices.Chunk([]string{
		"messageId", f.MessageID, "partitionKey", f.PartitionKey, "replyToSessionId", f.ReplyToSessionID,
		"sessionId", f.SessionID, "viaPartitionKey", f.ViaPartitionKey,
	}, 2) {
		if chars(text[1]) > maxBusText {
			return Invalid(path+"."+text[0], "must have at most %d characters", maxBusText)
		}
	}
	switch {
	case f.PartitionKey != "" && f.SessionID != "" && f.PartitionKey != f.SessionID:
		return Invalid(path+".partitionKey", "must equal sessionId where both are given")
	case f.TimeToLive != nil && *f.TimeToLive <= 0:
		return Invalid(path+".timeToLive", "must be longer than nothing")
	}
	return nil
}
