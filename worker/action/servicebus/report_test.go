package servicebus_test

import (
	"strings"
	"testing"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action/bustest"
	"github.com/carillon-scheduler/carillon/worker/action/servicebus"
)

// fails performs d, which must fail for a reason.
func fails(t *testing.T, a *servicebus.Action, d *job.Dispatch, want string) {
	t.Helper()
	r := do(t, a, d)
	prefix := string(d.Action.Type) + " Action - Message to '" + d.Action.Bus.Entity + "' in namespace '" + d.Action.Bus.Namespace + "' failed: "
	if r.Outcome != job.Failed || r.Message != prefix+want {
		t.Errorf("%s:\ngot  %s\nwant %s", r.Outcome, r.Message, prefix+want)
	}
}

// Whatever the service answers, whether it refuses the link or the message, has
// a sentence.
func TestAnswers(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{})
	const (
		invalid = "ArgumentException The service finds a property of the message not valid."
		key     = "Unauthorized The namespace, or the queue, does not know the key, or the key does not allow sending."
	)
	for condition, want := range map[string]string{
		"amqp:not-found":                         "MessagingEntityNotFound The namespace has no queue of this name.",
		"amqp:resource-deleted":                  "MessagingEntityNotFound The queue was deleted.",
		"com.microsoft:entity-disabled":          "MessagingEntityDisabled The queue is disabled.",
		"amqp:unauthorized-access":               key,
		"com.microsoft:auth-failed":              key,
		"amqp:link:message-size-exceeded":        "MessageSizeExceeded The message is larger than the queue takes.",
		"amqp:resource-limit-exceeded":           "QuotaExceeded The queue is full, or another quota of the namespace is used up.",
		"amqp:not-allowed":                       "InvalidOperation The queue does not take such a message: one with sessions takes only messages with a sessionId, say.",
		"com.microsoft:argument-error":           invalid,
		"com.microsoft:argument-out-of-range":    invalid,
		"amqp:invalid-field":                     invalid,
		"amqp:decode-error":                      invalid,
		"com.microsoft:server-busy":              "ServerBusy The service is busy and asks to come again later.",
		"com.microsoft:timeout":                  "Timeout The service could not finish in its own time.",
		"amqp:internal-error":                    "MessagingException The service met an internal error.",
		"com.microsoft:something-new":            "MessagingCommunication The service ended the link or refused the message: com.microsoft:something-new.",
		"amqp:link:detach-forced":                "MessagingCommunication The service ended the link or refused the message: amqp:link:detach-forced.",
		"com.microsoft:operation-cancelled":      "MessagingCommunication The service ended the link or refused the message: com.microsoft:operation-cancelled.",
		"com.microsoft:entity-moved-to-hell":     "MessagingCommunication The service ended the link or refused the message: com.microsoft:entity-moved-to-hell.",
		"amqp:connection:forced":                 "MessagingCommunication The service ended the link or refused the message: amqp:connection:forced.",
		"amqp:link:transfer-limit-exceeded":      "MessagingCommunication The service ended the link or refused the message: amqp:link:transfer-limit-exceeded.",
		"com.microsoft:session-cannot-be-locked": "MessagingCommunication The service ended the link or refused the message: com.microsoft:session-cannot-be-locked.",
	} {
		for _, b := range []bustest.Behavior{{Attach: condition}, {Reject: condition}} {
			d := newDispatch(s.Address(), condition)
			s.Behave(condition, b)
			d.RetryCount = d.Retries // or it would be postponed
			got := do(t, a, d)
			_, got.Message, _ = strings.Cut(got.Message, "failed: ")
			got.Message = strings.TrimSuffix(got.Message, " The message may have been delivered all the same.")
			if got.Outcome != job.Failed || got.Message != want {
				t.Errorf("%+v: %s:\ngot  %s\nwant %s", b, got.Outcome, got.Message, want)
			}
		}
	}
	d := newDispatch(s.Address(), "missing")
	d.Action.Type = job.ServiceBusTopic
	s.Missing("missing")
	fails(t, a, d, "MessagingEntityNotFound The namespace has no topic of this name.")
}

// A condition is text of the service, too.
func TestConditionsAreShownOnlyIfTheyLookLikeOne(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{})
	for _, condition := range []string{secret, "amqp:" + secret, "amqp:c2VjcmV0", "com.microsoft:x sig=x", "amqp:" + strings.Repeat("x", 61)} {
		for _, b := range []bustest.Behavior{{Reject: condition}, {Attach: condition}} {
			s.Behave("q", b)
			if r := do(t, a, newDispatch(s.Address(), "q")); r.Outcome != job.Failed || strings.Contains(r.Message, condition) {
				t.Errorf("%s: %s", r.Outcome, r.Message)
			}
		}
	}
}

// A service that is busy, wherever that shows, postpones while retries are left.
func TestBusyPostpones(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{})
	const busy = "com.microsoft:server-busy"
	for entity, b := range map[string]bustest.Behavior{"token": {Token: 503}, "link": {Attach: busy}, "message": {Reject: busy}} {
		s.Behave(entity, b)
		for count, want := range map[int]job.Outcome{0: job.Postponed, 1: job.Postponed, 2: job.Failed} {
			d := newDispatch(s.Address(), entity)
			d.RetryCount = count
			r := do(t, a, d)
			if r.Outcome != want || r.RetryAfter != 0 || !strings.HasSuffix(r.Message, "failed: ServerBusy The service is busy and asks to come again later.") {
				t.Errorf("%s, retry %d: %+v", entity, count, r)
			}
		}
	}
}

func TestTokens(t *testing.T) {
	s := newPeer(t, bustest.Config{Keys: map[string]string{keyName: secret, "other": "a"}})
	a := newAction(t, servicebus.Config{})
	const wrong = "Unauthorized The namespace, or the queue, does not know the key, or the key does not allow sending."
	for name, change := range map[string]func(*job.ServiceBusMessage){
		"key":   func(m *job.ServiceBusMessage) { m.SASKey = "a" },
		"name":  func(m *job.ServiceBusMessage) { m.SASKeyName = "other" },
		"none":  func(m *job.ServiceBusMessage) { m.SASKeyName = "nobody" },
		"case":  func(m *job.ServiceBusMessage) { m.SASKey = job.Secret(strings.ToUpper(secret)) },
		"space": func(m *job.ServiceBusMessage) { m.SASKey = secret + " " },
	} {
		d := newDispatch(s.Address(), name)
		change(d.Action.Bus)
		fails(t, a, d, wrong)
	}
	for status, want := range map[int32]string{
		401: wrong,
		404: "MessagingEntityNotFound The namespace has no queue of this name.",
		500: "MessagingException The service met an internal error.",
	} {
		s.Behave("q", bustest.Behavior{Token: status})
		fails(t, a, newDispatch(s.Address(), "q"), want)
	}
}

// Nothing is ever sent without a key.
func TestWithoutAKeyNothingIsSent(t *testing.T) {
	s := newPeer(t, bustest.Config{})
	a := newAction(t, servicebus.Config{})
	const (
		none = "The job gives no key: Service Bus takes messages only with a shared access key (authentication: sasKeyName, sasKey)."
		odd  = "The job's key is not valid: neither it nor its name can have a semicolon."
	)
	for _, test := range []struct {
		kind, name string
		key        job.Secret
		want       string
	}{
		{"", "", "", none},
		{"notSpecified", "", "", none},
		{"sharedAccessKey", keyName, "", none},
		{"sharedAccessKey", "", secret, none},
		{"sharedAccessKey", keyName, "x;Endpoint=sb://elsewhere", odd},
		{"sharedAccessKey", "x;SharedAccessKey=x", secret, odd},
		{"sharedAccessKey", keyName, job.SealedPrefix + "x", "The job's key could not be opened."},
	} {
		d := newDispatch(s.Address(), "q")
		d.Action.Bus.AuthType, d.Action.Bus.SASKeyName, d.Action.Bus.SASKey = test.kind, test.name, test.key
		fails(t, a, d, test.want)
	}
	fails(t, a, newDispatch("no/host", "q"), "The job's namespace is not valid.")
	if _, made := s.Connections(); made != 0 {
		t.Errorf("%d connections", made)
	}
}

// What the link says it takes too little for is not sent. As the same error may
// be that of a link lost before, a new link is asked too.
func TestTooLarge(t *testing.T) {
	s := newPeer(t, bustest.Config{MaxMessage: 1000})
	a := newAction(t, servicebus.Config{})
	d := newDispatch(s.Address(), "q")
	d.Action.Bus.Message = strings.Repeat("x", 1000)
	fails(t, a, d, "MessageSizeExceeded The message is larger than the queue takes.")
	deliver(t, a, newDispatch(s.Address(), "q"))
	if _, made := s.Connections(); made != 3 || len(s.Messages()) != 1 {
		t.Errorf("%d connections", made)
	}
}
