package source

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// proof is what a verified signature covers besides the body, by meaning: "id", "timestamp". Only the functions
// that compared the signature make one.
type proof struct{ signed map[string]string }

// verify is the only way from a request to its content. The zero proof comes with every error.
func verify(c Config, secrets []Secret, req Request, now time.Time) (proof, error) {
	if len(secrets) == 0 {
		return proof{}, refuse(http.StatusServiceUnavailable, ReasonNotConfigured, "source %s has no secret yet and refuses everything; configure its secret, then send again", c.Name)
	}
	if len(secrets) > SecretsMax {
		return proof{}, fmt.Errorf("source %s has %d secrets, at most %d are possible; remove the old ones", c.Name, len(secrets), SecretsMax)
	}
	if len(req.body) == 0 {
		return proof{}, refuse(http.StatusBadRequest, ReasonEmpty, "the body is empty; a notification to %s has a JSON body", c.Name)
	}
	switch c.Kind {
	case KindStandardWebhooks:
		return verifyStandard(c, secrets, req, now)
	case KindShopifyWebhook, KindShopifyFlow:
		return verifyShopify(c, secrets, req)
	case KindGenericHMAC:
		return verifyHMAC(c, secrets, req, now)
	}
	return proof{}, fmt.Errorf("source %s: kind %q cannot be verified", c.Name, string(c.Kind))
}

// Shopify's two families of headers; which one is used is told by the HMAC header that is present.
const (
	headerShopifyHMAC = "X-Shopify-Hmac-Sha256"
	headerEventsHMAC  = "Shopify-Hmac-Sha256"
)

func verifyShopify(c Config, secrets []Secret, req Request) (proof, error) {
	name := headerShopifyHMAC
	if !req.Header.has(name) {
		name = headerEventsHMAC
	}
	keys, err := verbatimKeys(c, secrets)
	if err != nil {
		return proof{}, err
	}
	given, err := signatureHeader(req, name)
	if err != nil {
		return proof{}, err
	}
	signature, err := decodeSignature(given)
	if err != nil {
		return proof{}, refuse(http.StatusUnauthorized, ReasonBadSignature, "the header %s is not base64", name)
	}
	if !anyMAC(keys, req.body, signature) {
		return proof{}, refuseSignature(c)
	}
	return proof{}, nil
}

func signatureHeader(req Request, name string) (string, error) {
	value, ok := req.Header.one(name)
	if !ok {
		return "", refuse(http.StatusUnauthorized, ReasonNoSignature, "the request needs the header %s once, with one signature of at most %d bytes", name, HeaderBytesMax)
	}
	return value, nil
}

// decodeSignature reads base64 in its one spelling: a digest's last letter has spare bits, and decoders pass over line
// ends, so that otherwise several texts would be one signature.
func decodeSignature(text string) ([]byte, error) {
	signature, err := base64.StdEncoding.DecodeString(text)
	if err == nil && base64.StdEncoding.EncodeToString(signature) != text {
		err = errSpelling
	}
	return signature, err
}

var errSpelling = errors.New("not base64 as encoders write it")

func refuseSignature(c Config) *Refusal {
	return refuse(http.StatusUnauthorized, ReasonBadSignature,
		"the signature does not fit the body and any secret of source %s; check that the secret is the sender's current one and that nothing changes the body on the way", c.Name)
}

func verbatimKeys(c Config, secrets []Secret) ([][]byte, error) {
	keys := make([][]byte, 0, len(secrets))
	for i, s := range secrets {
		key, err := s.verbatim()
		if err != nil {
			return nil, fmt.Errorf("source %s, secret %d: %w", c.Name, i+1, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// anyMAC tries every key, so that the time taken does not tell which one fits.
func anyMAC(keys [][]byte, message, signature []byte) bool {
	fits := false
	for _, key := range keys {
		if hmac.Equal(macSHA256(key, message), signature) {
			fits = true
		}
	}
	return fits
}

func macSHA256(key, message []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(message)
	return mac.Sum(nil)
}

// The years within which a time is believed: a value outside is in another unit or wrong.
const (
	yearFirst = 2020
	yearLast  = 2100
)

var errUnit = errors.New("is not in seconds since 1970 for a year from 2020 to 2100 (milliseconds?)")

// parseSeconds reads whole seconds since 1970 and refuses other units instead of taking them for seconds.
func parseSeconds(text string) (time.Time, error) {
	const digitsMax = 11
	var seconds int64
	if text == "" || len(text) > digitsMax {
		return time.Time{}, errUnit
	}
	for _, r := range []byte(text) {
		if r < '0' || r > '9' {
			return time.Time{}, errUnit
		}
		seconds = seconds*10 + int64(r-'0')
	}
	return believable(time.Unix(seconds, 0).UTC())
}

func believable(t time.Time) (time.Time, error) {
	if y := t.Year(); y < yearFirst || y > yearLast {
		return time.Time{}, errUnit
	}
	return t, nil
}

// fresh refuses a signed timestamp that is too far from now in either direction.
func fresh(c Config, at, now time.Time) error {
	apart := now.Sub(at)
	if apart.Abs() <= c.tolerance() {
		return nil
	}
	direction := "before"
	if apart < 0 {
		direction = "after"
	}
	return refuse(http.StatusUnauthorized, ReasonTimestamp, "the signed time is %s %s our clock, allowed is %s; sign again with the present time",
		apart.Abs().Round(time.Second), direction, c.tolerance())
}
