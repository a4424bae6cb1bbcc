package target

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"holdfast/internal/clock"
	"holdfast/internal/operation"
	"holdfast/internal/target/wire"
)

// Engine carries out requests. Its fields are set once, before its first use; it is safe for several goroutines.
type Engine struct {
	Dial    wire.Dial
	TLS     *tls.Config // may be nil
	Clock   clock.Clock
	Secrets func(ctx context.Context, name string) (string, error)

	mu     sync.Mutex
	tokens map[string]token // OAuth access tokens by where and for whom they were asked
}

// Sent is what one attempt showed. Its zero value proves nothing.
type Sent struct {
	Verdict
	Evidence     operation.EvidenceKind
	RetryAfter   operation.Time   // the target asked for no request before this
	Status       int              // of the answer; zero without one
	BytesWritten int64            // of the request, handed to the connection above TLS
	AnswerDigest operation.Digest // of the answer's body, as far as it was read; "" without an answer
}

// Send makes one attempt: at most one request on one new connection (R2). The request must be filled. The fence
// is asked right before the first byte. Whatever goes wrong is in Sent: with no byte handed over it is proven not
// executed, and after the first byte only an answer that a rule knows proves anything.
func (e *Engine) Send(ctx context.Context, p *Profile, r Request, fence Fence) Sent {
	if err := sendable(p, r); err != nil {
		return unsent(err.Error())
	}
	secret, err := e.authorize(ctx, p, r.Base)
	if err != nil {
		return unsent(err.Error())
	}
	got := e.exchange(ctx, p, r, secret, fence)
	if got.Handed == 0 {
		return unsent(failureText(got))
	}
	if got.Status == http.StatusUnauthorized {
		e.forget(p, r.Base)
	}
	return e.read(p, r, got)
}

// sendable refuses what must never reach a connection.
func sendable(p *Profile, r Request) error {
	switch {
	case r.Target != p.Name:
		return errors.New("the request was made for another target than this profile")
	case len(Holes(r)) > 0:
		return errors.New("the request still has holes: fill the key and the references first")
	}
	if err := r.check(); err != nil {
		return fmt.Errorf("the request cannot be sent as it stands: %w", err)
	}
	return nil
}

func unsent(detail string) Sent {
	return Sent{
		Verdict:  Verdict{Outcome: operation.OutcomeNotExecuted, Retry: true, Detail: "nothing sent: " + detail},
		Evidence: operation.EvidenceNoByteSent,
	}
}

func failureText(got wire.Result) string {
	if got.Refusal != nil {
		return got.Refusal.Error()
	}
	return string(got.Failure)
}

func (e *Engine) read(p *Profile, r Request, got wire.Result) Sent {
	out := Sent{Status: got.Status, BytesWritten: got.Handed, Evidence: operation.EvidenceNoAnswer}
	if got.Status == 0 {
		out.Detail = fmt.Sprintf("%s; %d bytes of the request were handed over", got.Failure, got.Handed)
		return out
	}
	out.Verdict = Classify(p, r.Operation, Answer{got.Status, got.Header, got.Body, got.Complete})
	if got.Failure != "" {
		out.Detail += ": " + string(got.Failure)
	}
	if out.Outcome != operation.OutcomeUnknown {
		out.Evidence = operation.EvidenceAnswer
	}
	out.RetryAfter = retryAfter(got.Header, e.Clock.Now())
	out.AnswerDigest = digestOf(got.Body)
	return out
}

func digestOf(b []byte) operation.Digest {
	sum := sha256.Sum256(b)
	return operation.Digest(hex.EncodeToString(sum[:]))
}

// exchange writes the request with its secret and reads one answer.
func (e *Engine) exchange(ctx context.Context, p *Profile, r Request, secret *Header, fence Fence) wire.Result {
	u, err := url.Parse(r.URL)
	if err != nil {
		return wire.Result{Failure: wire.FailureConnect}
	}
	h := newHTTP(r.Method, u, r.Body)
	for _, f := range r.Headers {
		h.Header.Set(f.Name, f.Value)
	}
	if secret != nil {
		h.Header.Set(secret.Name, secret.Value)
	}
	return e.line().Do(ctx, wire.Request{HTTP: h, Timeout: p.Timeout, Fence: fence})
}

func (e *Engine) line() wire.Line { return wire.Line{Dial: e.Dial, TLS: e.TLS, Clock: e.Clock} }

// newHTTP makes a request for one connection. Its body cannot be read twice, and its answer is asked for
// unpacked, so that the bounds count what is really read.
func newHTTP(method string, u *url.URL, body []byte) *http.Request {
	h := &http.Request{Method: method, URL: u, Host: u.Host, Header: http.Header{}, Close: true,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(body)), Body: http.NoBody}
	if len(body) > 0 {
		h.Body = io.NopCloser(bytes.NewReader(body))
	}
	h.Header.Set("Accept-Encoding", "identity")
	return h
}
