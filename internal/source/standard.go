package source

import (
	"crypto/ed25519"
	"crypto/hmac"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// SignaturesMax is the largest number of signatures that are looked at in one request.
const SignaturesMax = 16

// standardFamily is one spelling of the three headers.
type standardFamily struct{ id, timestamp, signature string }

var (
	standardNames = standardFamily{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"}
	svixNames     = standardFamily{"Svix-Id", "Svix-Timestamp", "Svix-Signature"}
)

// verifyStandard proves body, id and timestamp together. What it returns as signed comes from the same family of
// headers as the signature, so that an unsigned header of the other family cannot rename the event.
func verifyStandard(c Config, secrets []Secret, req Request, now time.Time) (proof, error) {
	names := standardNames
	if !req.Header.has(names.signature) {
		names = svixNames
		if !req.Header.has(names.signature) {
			names = standardNames
		}
	}
	keys, err := standardKeys(c, secrets)
	if err != nil {
		return proof{}, err
	}
	signatures, err := signatureHeader(req, names.signature)
	if err != nil {
		return proof{}, err
	}
	id, timestamp, err := standardSigned(req, names)
	if err != nil {
		return proof{}, err
	}
	at, err := parseSeconds(timestamp)
	if err != nil {
		return proof{}, refuse(http.StatusUnauthorized, ReasonTimestamp, "the header %s %v", names.timestamp, err)
	}
	fits, err := anyStandard(keys, standardMessage(id, timestamp, req.body), signatures)
	if err != nil {
		return proof{}, err
	}
	if !fits {
		return proof{}, refuseSignature(c)
	}
	if err := fresh(c, at, now); err != nil {
		return proof{}, err
	}
	return proof{signed: map[string]string{"id": id, "timestamp": timestamp}}, nil
}

// standardSigned reads the two signed headers. A dot in the id would let one signed text be read in two ways.
func standardSigned(req Request, names standardFamily) (id, timestamp string, err error) {
	id, okID := req.Header.one(names.id)
	timestamp, okTime := req.Header.one(names.timestamp)
	if !okID || !okTime {
		return "", "", refuse(http.StatusUnauthorized, ReasonNoSignature, "the request needs the headers %s and %s once each", names.id, names.timestamp)
	}
	if strings.Contains(id, ".") {
		return "", "", refuse(http.StatusUnauthorized, ReasonBadSignature, "the header %s contains a dot, which the signature scheme does not allow", names.id)
	}
	return id, timestamp, nil
}

func standardMessage(id, timestamp string, body []byte) []byte {
	message := make([]byte, 0, len(id)+len(timestamp)+len(body)+2)
	message = append(message, id...)
	message = append(message, '.')
	message = append(message, timestamp...)
	message = append(message, '.')
	return append(message, body...)
}

func standardKeys(c Config, secrets []Secret) ([]standardKey, error) {
	keys := make([]standardKey, 0, len(secrets))
	for i, s := range secrets {
		key, err := s.standard()
		if err != nil {
			return nil, fmt.Errorf("source %s, secret %d: %w", c.Name, i+1, err)
		}
		if key.private != nil {
			return nil, fmt.Errorf("source %s, secret %d is the sender's signing key; a receiver keeps only the public one (%s...)", c.Name, i+1, prefixPublic)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// anyStandard says whether any signature in the list fits any key. Signatures of unknown versions and such that
// cannot be decoded are passed over, as the specification asks.
func anyStandard(keys []standardKey, message []byte, list string) (bool, error) {
	signatures := strings.Fields(list)
	if len(signatures) > SignaturesMax {
		return false, refuse(http.StatusUnauthorized, ReasonBadSignature, "the request has %d signatures, at most %d are looked at", len(signatures), SignaturesMax)
	}
	fits := false
	for _, versioned := range signatures {
		version, encoded, _ := strings.Cut(versioned, ",")
		signature, err := decodeSignature(encoded)
		if err != nil {
			continue
		}
		for _, key := range keys {
			if key.fits(version, message, signature) {
				fits = true
			}
		}
	}
	return fits, nil
}

func (k standardKey) fits(version string, message, signature []byte) bool {
	switch version {
	case "v1":
		return k.symmetric != nil && hmac.Equal(macSHA256(k.symmetric, message), signature)
	case "v1a":
		return k.public != nil && ed25519.Verify(k.public, message, signature)
	}
	return false
}
