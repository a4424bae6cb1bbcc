// Package identity turns what the outside world calls a thing into the id that Holdfast gives it.
//
// It promises that one meaning has one id for ever: an id is a keyed hash over length-prefixed, typed parts, so
// it shows nothing about a person, no two different lists of parts can share one, and it does not change with
// the code's or a flow's version. A part that is missing, blank or ambiguous gives an error and never an id.
//
// It never stores anything, never reads the time, and never makes randomness of its own.
package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
)

const (
	// KeyBytesMin is the shortest identity key that is accepted, in bytes.
	KeyBytesMin = 32
	// KeyBytesMax is the longest identity key that is accepted, in bytes.
	KeyBytesMax = 1024
	// PartsMax is the largest number of parts in one id.
	PartsMax = 32

	idBytes = 16 // 128 bits, printed as 26 letters

	// The scheme is the first thing hashed. It is permanent: another one would rename everything ever recorded.
	scheme = "holdfast/identity/1"
)

// letters has no i, l, o or u: nothing in it looks like something else, and mail clients leave it whole.
const letters = "0123456789abcdefghjkmnpqrstvwxyz"

func printed(prefix string, sum []byte) string {
	return prefix + base32.NewEncoding(letters).WithPadding(base32.NoPadding).EncodeToString(sum[:idBytes])
}

// Kind says what an id names. Ids of two kinds never meet, even over the same parts.
type Kind string

// The kinds, with the prefix of their printed ids. They are permanent.
const (
	KindEvent     Kind = "event"     // ev_: one thing that happened at a source
	KindHeld      Kind = "held"      // ev_: a notification whose event cannot be told; it is held
	KindRepeat    Kind = "repeat"    // ev_: a later notification that may or may not be a new event
	KindDelivery  Kind = "delivery"  // dl_: one notification, by the sender's own name for it
	KindLikeness  Kind = "likeness"  // lk_: what two notifications share when one may repeat the other
	KindRun       Kind = "run"       // run_: one flow started for one event
	KindOperation Kind = "operation" // op_: one intended effect in one target
)

func (k Kind) prefix() (string, error) {
	switch k {
	case KindEvent, KindHeld, KindRepeat:
		return "ev_", nil
	case KindDelivery:
		return "dl_", nil
	case KindLikeness:
		return "lk_", nil
	case KindRun:
		return "run_", nil
	case KindOperation:
		return "op_", nil
	}
	return "", fmt.Errorf("identity: kind %q has no ids; use one of the Kind constants", string(k))
}

// Key is the permanent secret behind every id. It prints as nothing. The zero Key makes no ids.
type Key struct{ secret string }

// NewKey keeps the secret, which must have KeyBytesMin to KeyBytesMax bytes. Its error never shows the secret.
func NewKey(secret []byte) (Key, error) {
	if len(secret) < KeyBytesMin || len(secret) > KeyBytesMax {
		return Key{}, fmt.Errorf("identity: the identity key has %d bytes and needs %d to %d; restore the key that this ledger was made with, or make a random one for a new ledger",
			len(secret), KeyBytesMin, KeyBytesMax)
	}
	return Key{secret: string(secret)}, nil
}

// Format keeps the secret out of every log and message, whatever the verb.
func (k Key) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "identity key (not shown)") }

// MarshalText refuses to write the key into any document.
func (k Key) MarshalText() ([]byte, error) {
	return nil, errors.New("identity: the identity key is never written out")
}

// Fingerprint recognises the key without showing it. The ledger keeps it and refuses to work with another key.
// The zero Key has none.
func (k Key) Fingerprint() string {
	if k.secret == "" {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(k.secret))
	write(mac, scheme+"/fingerprint")
	return printed("key_", mac.Sum(nil))
}

// ID is the id of the thing of this kind that the parts name, in this order. Every part that cannot be used is
// a *PartError in the returned error; an error never shows a part's value.
func (k Key) ID(kind Kind, parts ...Part) (string, error) {
	prefix, err := kind.prefix()
	if err != nil {
		return "", err
	}
	if err := k.usable(parts); err != nil {
		return "", fmt.Errorf("identity of the %s: %w", kind, err)
	}
	mac := hmac.New(sha256.New, []byte(k.secret))
	write(mac, scheme)
	write(mac, string(kind))
	for _, p := range parts {
		write(mac, string(p.sort))
		write(mac, p.text)
	}
	return printed(prefix, mac.Sum(nil)), nil
}

func (k Key) usable(parts []Part) error {
	if k.secret == "" {
		return errors.New("no identity key is set; make it with NewKey")
	}
	if len(parts) == 0 || len(parts) > PartsMax {
		return fmt.Errorf("%d parts were given, 1 to %d are possible", len(parts), PartsMax)
	}
	var problems []error
	for _, p := range parts {
		if p.problem != "" || p.sort == "" {
			problems = append(problems, p.err())
		}
	}
	return errors.Join(problems...)
}

// write puts the length before the bytes, so that "a","bc" and "ab","c" are different input.
func write(mac hash.Hash, text string) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(text)))
	mac.Write(length[:])
	io.WriteString(mac, text)
}

// Random is a new id that means nothing, for example of an attempt (at_) or a question (q_): the prefix and 128
// bits read from random. It fails when random does.
func Random(random io.Reader, prefix string) (string, error) {
	var bits [idBytes]byte
	if _, err := io.ReadFull(random, bits[:]); err != nil {
		return "", fmt.Errorf("identity: make a random %s id: %w", prefix, err)
	}
	return printed(prefix, bits[:]), nil
}
