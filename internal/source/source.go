// Package source receives what senders tell us: it proves that a notification is genuine and says which event it
// carries.
//
// It promises that a signature is verified over the exact bytes received before anything looks inside them, that
// a source without a secret refuses everything, that numbers keep every digit, and that what cannot be told apart
// is said to be incomplete or a possible repeat instead of being guessed.
//
// It never stores anything, never answers a sender by itself, never reads the time, and never puts a secret, a
// signature or a body into an error.
package source

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// SourcesMax is the largest number of configured sources.
const SourcesMax = 100

// Secrets gives the secrets of the named source: several while one is being replaced, none when the source is not
// to be trusted yet. An error means that they could not be read; the sender is asked to try again.
type Secrets func(ctx context.Context, source string) ([]Secret, error)

// Set is the configured sources with the way to their secrets.
type Set struct {
	configs map[string]Config
	secrets Secrets
}

// NewSet validates the configurations. Its error names every problem found.
func NewSet(configs []Config, secrets Secrets) (*Set, error) {
	if secrets == nil {
		return nil, errors.New("source: no way to the secrets was given; without one every source refuses everything")
	}
	if len(configs) > SourcesMax {
		return nil, fmt.Errorf("source: %d sources are configured, at most %d are possible", len(configs), SourcesMax)
	}
	set := &Set{configs: make(map[string]Config, len(configs)), secrets: secrets}
	var problems []error
	for _, c := range configs {
		problems = append(problems, c.Validate())
		if _, twice := set.configs[c.Name]; twice {
			problems = append(problems, fmt.Errorf("source %q is configured twice; rename one", c.Name))
		}
		set.configs[c.Name] = c
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return set, nil
}

// Config is the configuration of the named source.
func (s *Set) Config(name string) (Config, bool) {
	c, ok := s.configs[name]
	return c, ok
}

// Notification is one verified delivery. Only Receive makes one with content, so nothing can reach a handler
// without its signature having been checked over Body.
type Notification struct {
	identity Identity
	document Document
	body     []byte
	oversize bool
	answer   AnswerRule
}

// Identity says which event the notification carries, as far as that can be told.
func (n Notification) Identity() Identity { return n.identity }

// Document is the parsed body. It is empty when Oversize.
func (n Notification) Document() Document { return n.document }

// Body is the exact bytes that were received and verified. The caller does not change them.
func (n Notification) Body() []byte { return n.body }

// Oversize says that the body is larger than BodyBytesMax: it is genuine, was not parsed, and its identity is
// incomplete or comes from headers alone. It is recorded and held, not lost.
func (n Notification) Oversize() bool { return n.oversize }

// Answer is the source's rule for what the sender is told.
func (n Notification) Answer() AnswerRule { return n.answer }

// Receive verifies, then parses, then identifies. now is the time by the product's clock, for the tolerance of
// signed timestamps. A *Refusal says what the sender did wrong; any other error is a malfunction of ours.
// StatusOf maps both to HTTP. Nothing was recorded in either case.
func (s *Set) Receive(ctx context.Context, req Request, now time.Time) (Notification, error) {
	c, ok := s.configs[req.Source]
	if !ok {
		return Notification{}, refuseUnknown(req.Source)
	}
	if req.Method != "POST" {
		return Notification{}, refuse(405, ReasonMethod, "a notification is sent with POST, not %s", shownMethod(req.Method))
	}
	secrets, err := s.secrets(ctx, c.Name)
	if err != nil {
		return Notification{}, fmt.Errorf("source %s: read its secrets: %w", c.Name, err)
	}
	proof, err := verify(c, secrets, req, now)
	if err != nil {
		return Notification{}, err
	}
	return open(c, req, proof, now)
}

func open(c Config, req Request, proof proof, now time.Time) (Notification, error) {
	n := Notification{body: req.body, oversize: req.Oversize(), answer: c.Answer}
	if !n.oversize {
		document, err := Parse(req.body)
		if err != nil {
			return Notification{}, err
		}
		n.document = document
	}
	n.identity = identify(c, facts{header: req.Header, document: n.document, proof: proof, body: req.body, now: now})
	return n, nil
}
