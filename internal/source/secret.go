package source

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// SecretsMax is the largest number of secrets of one source at a time.
	SecretsMax = 8
	// SecretBytesMax is the longest secret as written, in bytes.
	SecretBytesMax = 4096

	secretBytesMin = 8
	// Standard Webhooks asks for 24 bytes and more; Svix's own published example has 18.
	standardBytesMin = 16
)

// Secret is what a source and Holdfast share (or, for Ed25519, the sender's public key). It prints as nothing.
type Secret struct{ text string }

// NewSecret keeps the secret as the sender shows it, prefix included.
func NewSecret(text string) Secret { return Secret{text: text} }

// Format keeps the secret out of every log and message, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "secret (not shown)") }

// MarshalText refuses to write a secret into any document.
func (s Secret) MarshalText() ([]byte, error) {
	return nil, errors.New("a secret is never written out")
}

// verbatim is the secret as a key of its own bytes.
func (s Secret) verbatim() ([]byte, error) {
	if len(s.text) < secretBytesMin || len(s.text) > SecretBytesMax || strings.TrimSpace(s.text) != s.text {
		return nil, fmt.Errorf("a secret must have %d to %d bytes without white space around it; copy it again from the sender", secretBytesMin, SecretBytesMax)
	}
	return []byte(s.text), nil
}

const (
	prefixSymmetric = "whsec_"
	prefixPublic    = "whpk_"
	prefixPrivate   = "whsk_"
)

// standardKey is one usable key of Standard Webhooks; exactly one of its fields is set.
type standardKey struct {
	symmetric []byte
	public    ed25519.PublicKey
	private   ed25519.PrivateKey
}

func (s Secret) standard() (standardKey, error) {
	prefix, encoded, _ := strings.Cut(s.text, "_")
	bytes, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(s.text) > SecretBytesMax {
		return standardKey{}, errStandardSecret
	}
	switch prefix + "_" {
	case prefixSymmetric:
		if len(bytes) >= standardBytesMin {
			return standardKey{symmetric: bytes}, nil
		}
	case prefixPublic:
		if len(bytes) == ed25519.PublicKeySize {
			return standardKey{public: bytes}, nil
		}
	case prefixPrivate:
		switch len(bytes) {
		case ed25519.SeedSize:
			return standardKey{private: ed25519.NewKeyFromSeed(bytes)}, nil
		case ed25519.PrivateKeySize:
			return standardKey{private: bytes}, nil
		}
	}
	return standardKey{}, errStandardSecret
}

var errStandardSecret = fmt.Errorf("a Standard Webhooks secret is %s and base64 of at least %d bytes, or %s and base64 of a 32-byte public key; copy it again from the sender",
	prefixSymmetric, standardBytesMin, prefixPublic)
