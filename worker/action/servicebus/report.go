package servicebus

import (
	"context"
	"errors"
	"net"
	"net/http"
	"regexp"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"

	"github.com/carillon-scheduler/carillon/shared/job"
	"github.com/carillon-scheduler/carillon/worker/action"
	"github.com/carillon-scheduler/carillon/worker/outbound"
)

// success reports that the service accepted d's message. Words and quotes are
// those that AzureRM.Scheduler needs: the entity and the namespace quoted, and a
// colon (AZURE, history; the format is ours).
func success(d *job.Dispatch) action.Report {
	return action.Report{
		Outcome: job.Succeeded,
		Message: action.Text(string(d.Action.Type)+" Action - Message to '"+d.Action.Bus.Entity+"' in namespace '"+
			action.Target(&d.Action)+"': succeeded", action.MaxMessage),
	}
}

// failure reports that d's message was not sent, or that it is not known whether
// it was, because of err. tried says that the message may have been sent.
func failure(ctx context.Context, d *job.Dispatch, err error, tried bool) action.Report {
	what := "queue"
	if d.Action.Type == job.ServiceBusTopic {
		what = "topic"
	}
	condition := conditionOf(err)
	text, answered := answers(what)[condition]
	if !answered {
		text = lost(ctx, err, condition)
		if tried {
			text = strings.TrimSuffix(text, ".") + ". The message may have been delivered all the same."
		}
	}
	report := action.Failure(&d.Action, text)
	if condition == busy && d.RetryCount < d.Retries {
		report.Outcome = job.Postponed
	}
	return report
}

// usable reports whether a connection that sending over ended with err can be
// used again: the service took the message, or refused this one only.
func usable(err error) bool {
	var (
		refused *amqp.Error
		link    *amqp.LinkError
		session *amqp.SessionError
		conn    *amqp.ConnError
	)
	return err == nil || errors.As(err, &refused) && !errors.As(err, &link) && !errors.As(err, &session) && !errors.As(err, &conn)
}

// Error conditions of Service Bus (Azure documentation: AMQP errors in Service
// Bus) that go-amqp has no names for.
const (
	busy          amqp.ErrCond = "com.microsoft:server-busy"
	timeout       amqp.ErrCond = "com.microsoft:timeout"
	disabled      amqp.ErrCond = "com.microsoft:entity-disabled"
	badArgument   amqp.ErrCond = "com.microsoft:argument-error"
	outOfRange    amqp.ErrCond = "com.microsoft:argument-out-of-range"
	authorization amqp.ErrCond = "com.microsoft:auth-failed"
)

// answers returns what to say when the service answers with a condition. Each
// text begins with the name of the exception that Microsoft's .NET client has
// for it. What the service itself says is not shown: it may hold the token.
func answers(what string) map[amqp.ErrCond]string {
	unauthorized := "Unauthorized The namespace, or the " + what + ", does not know the key, or the key does not allow sending."
	invalid := "ArgumentException The service finds a property of the message not valid."
	return map[amqp.ErrCond]string{
		amqp.ErrCondNotFound:              "MessagingEntityNotFound The namespace has no " + what + " of this name.",
		amqp.ErrCondResourceDeleted:       "MessagingEntityNotFound The " + what + " was deleted.",
		disabled:                          "MessagingEntityDisabled The " + what + " is disabled.",
		amqp.ErrCondUnauthorizedAccess:    unauthorized,
		authorization:                     unauthorized,
		amqp.ErrCondMessageSizeExceeded:   "MessageSizeExceeded The message is larger than the " + what + " takes.",
		amqp.ErrCondResourceLimitExceeded: "QuotaExceeded The " + what + " is full, or another quota of the namespace is used up.",
		amqp.ErrCondNotAllowed: "InvalidOperation The " + what + " does not take such a message: one with sessions takes only " +
			"messages with a sessionId, say.",
		badArgument:               invalid,
		outOfRange:                invalid,
		amqp.ErrCondInvalidField:  invalid,
		amqp.ErrCondDecodeError:   invalid,
		busy:                      "ServerBusy The service is busy and asks to come again later.",
		timeout:                   "Timeout The service could not finish in its own time.",
		amqp.ErrCondInternalError: "MessagingException The service met an internal error.",
	}
}

// The names of conditions that may be shown: no key and no signature looks like
// this. hidden is how one is written in the text of an amqp.Error, which is all
// that azservicebus leaves of some.
const shown = `(?:amqp|com\.microsoft):[a-z:-]{1,60}`

var (
	whole  = regexp.MustCompile(`^` + shown + `$`)
	hidden = regexp.MustCompile(`^\([a-z]+\): \*Error\{Condition: (` + shown + `), Description: `)
)

// conditionOf returns the error condition that the service answered with, or "".
func conditionOf(err error) amqp.ErrCond {
	var (
		refused *amqp.Error
		known   *azservicebus.Error
		rpc     interface{ RPCCode() int } // of azservicebus's answers from $cbs
	)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, azservicebus.ErrMessageTooLarge):
		return amqp.ErrCondMessageSizeExceeded
	case errors.As(err, &refused):
		return refused.Condition
	case errors.As(err, &known):
		switch known.Code {
		case azservicebus.CodeUnauthorizedAccess:
			return amqp.ErrCondUnauthorizedAccess
		case azservicebus.CodeNotFound:
			return amqp.ErrCondNotFound
		case azservicebus.CodeTimeout:
			return timeout
		default:
		}
		if m := hidden.FindStringSubmatch(known.Error()); m != nil {
			return amqp.ErrCond(m[1])
		}
	case errors.As(err, &rpc):
		switch rpc.RPCCode() {
		case http.StatusServiceUnavailable, http.StatusTooManyRequests:
			return busy
		case http.StatusInternalServerError:
			return amqp.ErrCondInternalError
		}
	}
	return ""
}

// lost says why there was no answer, or none that has a text.
func lost(ctx context.Context, err error, condition amqp.ErrCond) string {
	var (
		fault    *lineError
		timedOut net.Error
	)
	switch {
	case ctx.Err() != nil:
		return outbound.Reason(ctx, ctx.Err())
	case errors.Is(err, errClosed):
		return "RequestCanceled This worker is shutting down."
	case whole.MatchString(string(condition)):
		return "MessagingCommunication The service ended the link or refused the message: " + string(condition) + "."
	case errors.As(err, &timedOut) && timedOut.Timeout():
		return outbound.Reason(ctx, context.DeadlineExceeded)
	case errors.As(err, &fault):
		return outbound.Reason(ctx, fault)
	case errors.Is(err, errSetUp):
		return "ServerProtocolViolation The server committed a protocol violation."
	default:
		return "MessagingCommunication The service ended the link."
	}
}
