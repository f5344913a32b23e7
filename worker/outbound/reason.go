package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
)

// Reason says in words why a call or a connection failed with err: a
// WebExceptionStatus of .NET and its text. Name resolution and refused
// connections are recorded; the others are .NET's texts for the same fault.
// Nothing of err's own text is in it, save the name that could not be resolved.
func Reason(ctx context.Context, err error) string {
	const closed = "The underlying connection was closed: "
	switch {
	case errors.Is(err, ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return "Timeout The operation has timed out"
	case ctx.Err() != nil:
		return "RequestCanceled The request was aborted: The request was canceled."
	case errors.Is(err, ErrTooManyRedirects):
		return "ProtocolError Too many automatic redirections were attempted."
	case errors.Is(err, ErrHeaderTooLarge):
		return "MessageLengthLimitExceeded " + closed + "The message length limit was exceeded."
	case errors.Is(err, ErrMalformed):
		return "ServerProtocolViolation The server committed a protocol violation."
	case errors.Is(err, ErrClosedIdle):
		return "KeepAliveFailure " + closed + "A connection that was expected to be kept alive was closed by the server."
	}
	if e, ok := errors.AsType[*RefusedError](err); ok {
		return "ConnectFailure Unable to connect to the remote server: " + e.Error() + "."
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "TrustFailure " + closed + "Could not establish trust relationship for the SSL/TLS secure channel."
	}
	if _, ok := errors.AsType[*HandshakeError](err); ok {
		return "SecureChannelFailure The request was aborted: Could not create SSL/TLS secure channel."
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return "NameResolutionFailure The remote name could not be resolved: '" + e.Name + "'"
	}
	if e, ok := errors.AsType[*net.OpError](err); ok {
		switch e.Op {
		case "dial":
			return "ConnectFailure Unable to connect to the remote server"
		case "remote error", "local error": // an alert of TLS, such as that about a client's certificate, comes late in TLS 1.3
			return "SecureChannelFailure The request was aborted: Could not create SSL/TLS secure channel."
		case "write":
			return "SendFailure " + closed + "An unexpected error occurred on a send."
		default:
			return "ReceiveFailure " + closed + "An unexpected error occurred on a receive."
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "ConnectionClosed " + closed + "The connection was closed unexpectedly."
	}
	return "UnknownError An exception of unknown type has occurred."
}
