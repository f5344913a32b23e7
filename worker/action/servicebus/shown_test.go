package servicebus

import (
	"errors"
	"strings"
	"testing"

	"github.com/Azure/go-amqp"

	"github.com/carillon-scheduler/carillon/shared/job"
)

// Whatever an error holds, its own text is not shown, nor a condition that does
// not look like one.
func TestNothingOfAnErrorIsShown(t *testing.T) {
	const secret = "S3cret"
	d := &job.Dispatch{Action: job.Action{Type: job.ServiceBusQueue, Bus: &job.ServiceBusMessage{Entity: "q", Namespace: "ns"}}}
	refused := &amqp.Error{Condition: secret, Description: secret, Info: map[string]any{secret: secret}}
	for _, err := range []error{
		errors.New(secret),
		refused,
		&amqp.LinkError{RemoteErr: refused},
		&amqp.Error{Condition: "amqp:not-found", Description: secret},
		&amqp.Error{Condition: "amqp:" + secret},
		errors.Join(errSetUp, errors.New(secret)),
		&lineError{errors.New(secret)},
	} {
		for _, tried := range []bool{false, true} {
			if r := failure(t.Context(), d, err, tried); r.Outcome != job.Failed || strings.Contains(r.Message, secret) {
				t.Errorf("%T: %s: %s", err, r.Outcome, r.Message)
			}
		}
	}
}
