package source

import (
	"errors"
	"fmt"
	"net/http"
)

// Reason is a stable code for why a request was refused.
type Reason string

// The reasons.
const (
	ReasonUnknownSource Reason = "unknown_source"
	ReasonMethod        Reason = "method"
	ReasonEncoding      Reason = "body_encoding"
	ReasonTooLarge      Reason = "too_large"
	ReasonEmpty         Reason = "body_empty"
	ReasonNotConfigured Reason = "not_configured"
	ReasonNoSignature   Reason = "signature_missing"
	ReasonBadSignature  Reason = "signature_wrong"
	ReasonTimestamp     Reason = "timestamp"
	ReasonJSON          Reason = "body_json"
)

// Refusal is a request that was turned away, before anything was recorded. Its message is for the sender's people
// and shows no body, no signature and no secret.
type Refusal struct {
	Status  int // HTTP status
	Reason  Reason
	Message string // says what to do next
}

func (r *Refusal) Error() string { return r.Message }

func refuse(status int, reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func refuseUnknown(name string) *Refusal {
	if !validName(name) {
		return refuse(http.StatusNotFound, ReasonUnknownSource, "this address names no source; it ends in /hooks/ and the source's name")
	}
	return refuse(http.StatusNotFound, ReasonUnknownSource, "no source %q is configured; check the address at the sender", name)
}

// shownMethod keeps a sender's invention out of messages.
func shownMethod(method string) string {
	switch method {
	case "GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS":
		return method
	}
	return "another method"
}

// StatusOf is the HTTP status and the message for the sender. A malfunction is a 503 that keeps its inner
// details: the sender tries again, and nothing is lost.
func StatusOf(err error) (status int, message string) {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Status, r.Message
	}
	return http.StatusServiceUnavailable, "nothing was recorded; please send it again later"
}
