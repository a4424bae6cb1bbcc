package source

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// ToleranceDefault is how far a signed timestamp may be from now when the configuration says nothing.
	ToleranceDefault = 300 * time.Second
	// ToleranceMax is the largest tolerance that may be configured.
	ToleranceMax = time.Hour
	// RetryHorizonMax is the longest retry horizon that may be configured.
	RetryHorizonMax = 60 * 24 * time.Hour
	// FieldsMax is the largest number of alternatives for one part of an identity.
	FieldsMax = 8
	// FieldBytesMax is the longest written field, in bytes.
	FieldBytesMax = 200
	// NameBytesMax is the longest name of a source, in bytes.
	NameBytesMax = 64
)

// Kind is how a source's notifications are proved genuine.
type Kind string

// The kinds.
const (
	// KindStandardWebhooks follows Standard Webhooks 1.0.0, also with Svix's header names.
	KindStandardWebhooks Kind = "standard-webhooks"
	// KindShopifyWebhook is Shopify's HMAC over the body, with either family of header names.
	KindShopifyWebhook Kind = "shopify-webhook"
	// KindShopifyFlow is a Shopify Flow action: the same HMAC, with the identity inside the signed body.
	KindShopifyFlow Kind = "shopify-flow"
	// KindGenericHMAC is an HMAC that the configuration describes.
	KindGenericHMAC Kind = "generic-hmac"
)

// Kinds is every kind, in the order of the documentation.
func Kinds() []Kind {
	return []Kind{KindStandardWebhooks, KindShopifyWebhook, KindShopifyFlow, KindGenericHMAC}
}

// Fact is a page that documents what the configuration claims, and when it was read.
type Fact struct {
	Page    string // address
	Checked string // date, YYYY-MM-DD
}

// Config is one source. Every list of fields is a list of alternatives: the first one that was sent counts.
type Config struct {
	Name string // permanent: part of every identity
	Kind Kind
	// Account, Topic: whose event it is, and what kind. Always part of the identity.
	Account []Field
	Topic   []Field
	// EventID is the sender's id of what happened; DeliveryID of this one notification. Either may be empty.
	EventID    []Field
	DeliveryID []Field
	// OccurredAt is when it happened at the source: RFC 3339 text or whole seconds since 1970.
	OccurredAt []Field
	// Version is an object's id and version, all of them together: notifications without an event id that agree
	// in it are a possible repeat even if their bodies differ.
	Version []Field
	// Tolerance is how far a signed timestamp may be from now. Zero means ToleranceDefault.
	Tolerance time.Duration
	// RetryHorizon is how long the source documents to repeat a notification. It bounds "possible repeat".
	RetryHorizon time.Duration
	// Answer is what the sender is told.
	Answer AnswerRule
	// HMAC describes a KindGenericHMAC; nil for every other kind.
	HMAC *HMAC
	// Facts are the pages that the configuration rests on; at least one.
	Facts []Fact
}

// tolerance is the configured tolerance or the default.
func (c Config) tolerance() time.Duration {
	if c.Tolerance == 0 {
		return ToleranceDefault
	}
	return c.Tolerance
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

func validName(name string) bool { return len(name) <= NameBytesMax && namePattern.MatchString(name) }

// FieldFrom is where a field is read.
type FieldFrom string

// The places.
const (
	FromHeader   FieldFrom = "header" // a request header; covered by the signature only if the kind says so
	FromSigned   FieldFrom = "signed" // "id" or "timestamp", out of the headers that the signature covers
	FromBody     FieldFrom = "body"   // a member of the JSON body, which the signature always covers
	FromConstant FieldFrom = "value"  // the configuration's own text
)

// Field says where one value is read. Its written form is header.NAME, signed.id, signed.timestamp,
// body.MEMBER.MEMBER or value.TEXT.
type Field struct {
	From FieldFrom
	Name string   // header name, signed name, or constant text
	Path []string // members of the body
}

// ParseField reads the written form.
func ParseField(text string) (Field, error) {
	from, rest, _ := strings.Cut(text, ".")
	f := Field{From: FieldFrom(from), Name: rest}
	if len(text) > FieldBytesMax || rest == "" {
		return Field{}, fieldError(text)
	}
	switch f.From {
	case FromBody:
		f.Name, f.Path = "", strings.Split(rest, ".")
		for _, member := range f.Path {
			if member == "" {
				return Field{}, fieldError(text)
			}
		}
		return f, nil
	case FromSigned:
		if rest == "id" || rest == "timestamp" {
			return f, nil
		}
	case FromHeader, FromConstant:
		if strings.TrimSpace(rest) == rest {
			return f, nil
		}
	}
	return Field{}, fieldError(text)
}

func fieldError(text string) error {
	return fmt.Errorf("%q is no field; write header.NAME, signed.id, signed.timestamp, body.MEMBER.MEMBER or value.TEXT, at most %d bytes", text[:min(len(text), FieldBytesMax)], FieldBytesMax)
}

// String is the written form.
func (f Field) String() string {
	if f.From == FromBody {
		return string(f.From) + "." + strings.Join(f.Path, ".")
	}
	return string(f.From) + "." + f.Name
}

// Validate names everything in the configuration that cannot work.
func (c Config) Validate() error {
	var problems []error
	say := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf("source %q: "+format, append([]any{c.Name}, args...)...))
		}
	}
	say(validName(c.Name), "its name must be lower-case letters, digits and dashes, at most %d bytes", NameBytesMax)
	say(c.Kind.known(), "kind %q is unknown; use one of %v", string(c.Kind), Kinds())
	say(len(c.Account) > 0, "no account is given; where the source has only one, write value.main")
	say(len(c.Topic) > 0, "no topic is given; it is always part of the identity")
	say(c.Tolerance >= 0 && c.Tolerance <= ToleranceMax, "the tolerance must be 0 to %s", ToleranceMax)
	say(c.RetryHorizon > 0 && c.RetryHorizon <= RetryHorizonMax, "the retry horizon must be above 0 and at most %s", RetryHorizonMax)
	say(c.Answer.known(), "answer %q is unknown; use one of %v", string(c.Answer), AnswerRules())
	say(len(c.Facts) > 0, "no documentation page is named for what it claims")
	say((c.Kind == KindGenericHMAC) == (c.HMAC != nil), "the hmac section belongs to kind %s, and only to it", KindGenericHMAC)
	problems = append(problems, c.validateFields(), c.validateFacts())
	if c.HMAC != nil {
		problems = append(problems, c.HMAC.validate(c.Name))
	}
	return errors.Join(problems...)
}

func (k Kind) known() bool { return slices.Contains(Kinds(), k) }

func (c Config) validateFields() error {
	var problems []error
	for _, part := range []struct {
		name   string
		fields []Field
	}{
		{"account", c.Account}, {"topic", c.Topic}, {"event_id", c.EventID}, {"delivery_id", c.DeliveryID},
		{"occurred_at", c.OccurredAt}, {"version", c.Version},
	} {
		if len(part.fields) > FieldsMax {
			problems = append(problems, fmt.Errorf("source %q: %s has %d fields, at most %d are possible", c.Name, part.name, len(part.fields), FieldsMax))
		}
		for _, f := range part.fields {
			if err := c.validateField(f); err != nil {
				problems = append(problems, fmt.Errorf("source %q: %s: %w", c.Name, part.name, err))
			}
		}
	}
	return errors.Join(problems...)
}

func (c Config) validateField(f Field) error {
	if _, err := ParseField(f.String()); err != nil {
		return err
	}
	if f.From == FromSigned && !c.signs(f.Name) {
		return fmt.Errorf("the signature of kind %s covers no %s", c.Kind, f.Name)
	}
	return nil
}

// signs says whether the signature covers a header of this meaning ("id" or "timestamp").
func (c Config) signs(name string) bool {
	switch c.Kind {
	case KindStandardWebhooks:
		return true
	case KindGenericHMAC:
		return c.HMAC != nil && strings.Contains(c.HMAC.Template, "{"+name+"}")
	}
	return false
}

func (c Config) validateFacts() error {
	for _, f := range c.Facts {
		if _, err := time.Parse(time.DateOnly, f.Checked); err != nil || !strings.HasPrefix(f.Page, "https://") {
			return fmt.Errorf("source %q: documentation needs a page (https://...) and the date it was checked (YYYY-MM-DD)", c.Name)
		}
	}
	return nil
}
