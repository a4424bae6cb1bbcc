package source

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/internal/identity"
)

// Rung is the step of the identity ladder that an event's identity stands on: the sender's event id, else the
// sender's delivery id, else the digest of the body.
type Rung string

// The rungs, most certain first. They are part of identities and permanent.
const (
	RungEventID    Rung = "event_id"
	RungDeliveryID Rung = "delivery_id" // marked: another delivery of the same event would look like another event
	RungBodyDigest Rung = "body_digest" // marked: the second equal body within the horizon is a possible repeat
)

// Gap is a part of an identity that cannot be used, so that the event is held.
type Gap struct {
	Part    string // "account", "topic", "event id", "delivery id"
	Problem string // where it was looked for and what was found there; never the value
}

// Identity says which event a notification carries. Texts are the sender's own, byte for byte; an id that a sender
// gives as a JSON number is its digits, because senders change an id's JSON type without meaning another one.
type Identity struct {
	Source  string
	Account string
	Topic   string
	Rung    Rung
	Value   string // the id, or the canonical digest, that the rung stands for

	DeliveryID string // the sender's id of this notification; empty when it gives none

	BodyDigest      string // SHA-256 of the exact bytes
	CanonicalDigest string // SHA-256 of the canonical form; of the exact bytes when oversize

	// SignedID says that the signature covers account, topic and Value. Where it does not, an equal body under
	// another id is a possible repeat.
	SignedID bool
	// OccurredAt is when it happened by the source's word; zero when unknown, unreadable or in the future.
	OccurredAt time.Time
	// OccurredAtSigned says that the signature covers OccurredAt.
	OccurredAtSigned bool
	// Horizon is the source's documented retry horizon: how long Likenesses count.
	Horizon time.Duration
	// Likenesses describe what this notification would share with one that may be its repeat under another
	// identity. Empty when the signed event id settles it.
	Likenesses []string
	// Incomplete names what is missing, blank or ambiguous. When it is not empty the event is held; Rung and Value
	// are then empty.
	Incomplete []Gap
}

// Complete says that the identity can be used.
func (i Identity) Complete() bool { return len(i.Incomplete) == 0 && i.Rung != "" && i.Value != "" }

// EventID is the event's id. For an incomplete identity it is the id of the held notification, which no event
// shares.
func (i Identity) EventID(key identity.Key) (string, error) {
	if !i.Complete() {
		return key.HeldID(i.Source, i.BodyDigest)
	}
	return key.EventID(i.Source, i.Account, i.Topic, string(i.Rung), i.Value)
}

// LikenessIDs are the ids of the Likenesses, in their order. An incomplete identity has none.
func (i Identity) LikenessIDs(key identity.Key) ([]string, error) {
	if !i.Complete() {
		return nil, nil
	}
	var ids []string
	for _, likeness := range i.Likenesses {
		id, err := key.LikenessID(i.Source, i.Account, i.Topic, likeness)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// facts is what an identity is read from.
type facts struct {
	header   Header
	document Document
	proof    proof
	body     []byte
	now      time.Time
}

// found is one part as far as it can be told: absent when nothing was sent under any of its fields.
type found struct {
	text    string
	signed  bool
	absent  bool
	problem string
}

func (f found) usable() bool { return !f.absent && f.problem == "" }

func identify(c Config, f facts) Identity {
	i := Identity{Source: c.Name, Horizon: c.RetryHorizon, BodyDigest: Digest(f.body)}
	i.CanonicalDigest = i.BodyDigest
	if f.document.canonical != nil {
		i.CanonicalDigest = Digest(f.document.canonical)
	}
	account, topic := f.first(c.Account), f.first(c.Topic)
	event, delivery := f.first(c.EventID), f.first(c.DeliveryID)
	i.Account, i.Topic, i.DeliveryID = account.text, topic.text, delivery.text
	i.Incomplete = gaps(c, account, topic, event, delivery)
	if len(i.Incomplete) == 0 {
		i.climb(event, delivery)
		i.SignedID = i.SignedID && account.signed && topic.signed
		i.Likenesses = i.alike(f.version(c.Version))
	}
	i.OccurredAt, i.OccurredAtSigned = f.occurredAt(c)
	return i
}

// gaps lists what makes the identity unusable. An id that is absent only moves to the next rung; one that was sent
// blank or twice is a gap, because the sender meant to say something that cannot be read.
func gaps(c Config, account, topic, event, delivery found) []Gap {
	var list []Gap
	need := func(part string, fields []Field, f found, required bool) {
		if f.problem != "" {
			list = append(list, Gap{part, f.problem})
		} else if f.absent && required {
			list = append(list, Gap{part, written(fields) + " is missing"})
		}
	}
	need("account", c.Account, account, true)
	need("topic", c.Topic, topic, true)
	need("event id", c.EventID, event, false)
	need("delivery id", c.DeliveryID, delivery, false)
	return list
}

func written(fields []Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.String()
	}
	return strings.Join(names, " or ")
}

// climb goes down the ladder from the most certain rung.
func (i *Identity) climb(event, delivery found) {
	switch {
	case event.usable():
		i.Rung, i.Value, i.SignedID = RungEventID, event.text, event.signed
	case delivery.usable():
		i.Rung, i.Value, i.SignedID = RungDeliveryID, delivery.text, delivery.signed
	default:
		i.Rung, i.Value, i.SignedID = RungBodyDigest, i.CanonicalDigest, true
	}
}

// alike lists the marks of a possible repeat. A signed event id needs none. An unsigned one can be replaced on the
// way, and a delivery id differs between the deliveries of one event: there an equal body is suspicious, and
// without an event id so is an equal object version.
func (i *Identity) alike(version string) []string {
	if i.Rung == RungEventID && i.SignedID {
		return nil
	}
	list := []string{"body:" + i.CanonicalDigest}
	if i.Rung != RungEventID && version != "" {
		list = append(list, "version:"+version)
	}
	return list
}

// first is the first of the fields that was sent.
func (f facts) first(fields []Field) found {
	for _, field := range fields {
		if got := f.read(field); !got.absent {
			return got
		}
	}
	return found{absent: true}
}

func (f facts) read(field Field) found {
	switch field.From {
	case FromHeader:
		return headerFound(field, f.header.values(field.Name))
	case FromSigned:
		text, ok := f.proof.signed[field.Name]
		if !ok {
			return found{absent: true}
		}
		return textFound(field, text, true)
	case FromConstant:
		return textFound(field, field.Name, true)
	case FromBody:
		value, ok := f.document.Lookup(field.Path...)
		if !ok || value == nil {
			return found{absent: true}
		}
		return bodyFound(field, value)
	}
	return found{problem: field.String() + " cannot be read"}
}

// headerFound takes a comma for a header given twice, because payload 2.0 joins them so.
func headerFound(field Field, values []string) found {
	if len(values) == 0 {
		return found{absent: true}
	}
	if len(values) > 1 || strings.Contains(values[0], ",") {
		return found{problem: field.String() + " is given more than once"}
	}
	return textFound(field, values[0], false)
}

func textFound(field Field, text string, signed bool) found {
	if err := identity.Text(field.String(), text).Err(); err != nil {
		return found{problem: err.Error()}
	}
	return found{text: text, signed: signed}
}

func bodyFound(field Field, value any) found {
	switch v := value.(type) {
	case string:
		return textFound(field, v, true)
	case json.Number:
		text, err := identity.Digits(field.String(), v.String())
		if err != nil {
			return found{problem: err.Error()}
		}
		return found{text: text, signed: true}
	}
	return found{problem: field.String() + " is neither a text nor a number"}
}

// version is a digest of the object version, or empty when any of its fields is missing or unusable.
func (f facts) version(fields []Field) string {
	if len(fields) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, field := range fields {
		got := f.read(field)
		if !got.usable() {
			return ""
		}
		fmt.Fprintf(sum, "%d:%s", len(got.text), got.text)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func (f facts) occurredAt(c Config) (time.Time, bool) {
	got := f.first(c.OccurredAt)
	if !got.usable() {
		return time.Time{}, false
	}
	at, err := parseTime(got.text)
	if err != nil || at.After(f.now.Add(c.tolerance())) {
		return time.Time{}, false
	}
	return at, got.signed
}

// parseTime reads RFC 3339 or whole seconds since 1970.
func parseTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err == nil {
		return believable(at.UTC())
	}
	seconds, errSeconds := parseSeconds(text)
	if errSeconds != nil {
		return time.Time{}, errors.Join(err, errSeconds)
	}
	return seconds, nil
}
