package source

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Sign is the headers that a genuine sender of this source would send with the body: for a ready-made request on
// the command line, for the simulated senders, and for tests. id is the sender's event id; where it travels
// inside the body (Shopify Flow) it is not used. at is the time of signing. Headers that say account and topic are
// the caller's.
func Sign(c Config, secret Secret, id string, at time.Time, body []byte) (http.Header, error) {
	h := http.Header{"Content-Type": {"application/json"}}
	var err error
	switch c.Kind {
	case KindStandardWebhooks:
		err = signStandard(h, secret, id, at, body)
	case KindShopifyWebhook, KindShopifyFlow:
		err = signShopify(h, c.Kind, secret, id, at, body)
	case KindGenericHMAC:
		err = signHMAC(h, c.HMAC, secret, id, at, body)
	default:
		err = fmt.Errorf("kind %q is unknown; use one of %v", string(c.Kind), Kinds())
	}
	if err != nil {
		return nil, fmt.Errorf("source %s: sign: %w", c.Name, err)
	}
	return h, nil
}

func signStandard(h http.Header, secret Secret, id string, at time.Time, body []byte) error {
	key, err := secret.standard()
	if err != nil {
		return err
	}
	timestamp := strconv.FormatInt(at.Unix(), 10)
	message := standardMessage(id, timestamp, body)
	h.Set(standardNames.id, id)
	h.Set(standardNames.timestamp, timestamp)
	switch {
	case key.symmetric != nil:
		h.Set(standardNames.signature, "v1,"+base64.StdEncoding.EncodeToString(macSHA256(key.symmetric, message)))
	case key.private != nil:
		h.Set(standardNames.signature, "v1a,"+base64.StdEncoding.EncodeToString(ed25519.Sign(key.private, message)))
	default:
		return fmt.Errorf("a public key cannot sign; give the %s... or %s... secret", prefixSymmetric, prefixPrivate)
	}
	return nil
}

func signShopify(h http.Header, kind Kind, secret Secret, id string, at time.Time, body []byte) error {
	key, err := secret.verbatim()
	if err != nil {
		return err
	}
	h.Set(headerShopifyHMAC, base64.StdEncoding.EncodeToString(macSHA256(key, body)))
	if kind == KindShopifyWebhook {
		h.Set("X-Shopify-Event-Id", id)
		h.Set("X-Shopify-Triggered-At", at.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

func signHMAC(h http.Header, scheme *HMAC, secret Secret, id string, at time.Time, body []byte) error {
	key, err := secret.verbatim()
	if err != nil {
		return err
	}
	signed := map[string]string{"id": id, "timestamp": strconv.FormatInt(at.Unix(), 10)}
	if scheme.ID != "" {
		h.Set(scheme.ID, id)
	}
	if scheme.Timestamp != "" {
		h.Set(scheme.Timestamp, signed["timestamp"])
	}
	h.Set(scheme.Header, scheme.sign(key, signed, body))
	return nil
}
