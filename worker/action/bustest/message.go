package bustest

import "time"

// A Message is one that an entity accepted. Zero values were not given.
type Message struct {
	Entity   string // as the link named it
	Host     string // the host that the connection was opened for
	Agent    string // who the client says it is
	Audience string // what the token was made for that let the link in

	Header     bool          // whether there is one
	TimeToLive time.Duration // of the header

	MessageID, To, Subject, ReplyTo, CorrelationID, ContentType string
	ExpiresAt, CreatedAt                                        time.Time
	SessionID, ReplyToSessionID                                 string // AMQP: group-id, reply-to-group-id

	Annotations map[string]any
	Properties  map[string]any // of the application
	Body        []byte         // of all data sections
	Sections    int            // data sections
}

// The sections of a message (AMQP 1.0, part 3).
const (
	sectionHeader      = 0x70
	sectionAnnotations = 0x72
	sectionProperties  = 0x73
	sectionApplication = 0x74
	sectionData        = 0x75
	sectionValue       = 0x77
)

// parse reads a message. value is its body if that is an AMQP value.
func parse(raw []byte) (m Message, value any, err error) {
	for len(raw) > 0 {
		var section any
		if section, raw, err = decode(raw); err != nil {
			return Message{}, nil, err
		}
		d, _ := section.(described)
		list, _ := d.value.([]any)
		switch d.code {
		case sectionHeader:
			ms, _ := field[uint32](list, 2)
			m.Header, m.TimeToLive = true, time.Duration(ms)*time.Millisecond
		case sectionAnnotations:
			m.Annotations, _ = d.value.(map[string]any)
		case sectionProperties:
			m.setProperties(list)
		case sectionApplication:
			m.Properties, _ = d.value.(map[string]any)
		case sectionData:
			data, _ := d.value.([]byte)
			m.Body = append(m.Body, data...)
			m.Sections++
		case sectionValue:
			value = d.value
		}
	}
	return m, value, nil
}

func (m *Message) setProperties(list []any) {
	m.MessageID, _ = field[string](list, 0)
	m.To, _ = field[string](list, 2)
	m.Subject, _ = field[string](list, 3)
	m.ReplyTo, _ = field[string](list, 4)
	m.CorrelationID, _ = field[string](list, 5)
	contentType, _ := field[symbol](list, 6)
	m.ContentType = string(contentType)
	m.ExpiresAt, _ = field[time.Time](list, 8)
	m.CreatedAt, _ = field[time.Time](list, 9)
	m.SessionID, _ = field[string](list, 10)
	m.ReplyToSessionID, _ = field[string](list, 12)
}

// field returns the i-th of a list if it is a T; lists may be cut off after
// their last value.
func field[T any](list []any, i int) (value T, ok bool) {
	if i < len(list) {
		value, ok = list[i].(T)
	}
	return value, ok
}
