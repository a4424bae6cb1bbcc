package source

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// HMAC describes an HMAC-SHA256 signature of a sender that follows no standard.
type HMAC struct {
	Header    string // header of the signature
	Encoding  string // "hex" or "base64"
	Prefix    string // text before the encoded signature, such as "sha256="
	Template  string // what is signed: {body}, and {id} and {timestamp} around it, with separators
	ID        string // header of {id}
	Timestamp string // header of {timestamp}, in whole seconds since 1970
}

const (
	encodingHex    = "hex"
	encodingBase64 = "base64"

	holeBody      = "{body}"
	holeID        = "{id}"
	holeTimestamp = "{timestamp}"
)

// templates are the signed texts that can be read in one way only. A separator that an id may contain is refused
// at verification.
func templates() []string {
	return []string{holeBody, holeTimestamp + "." + holeBody, holeID + "." + holeTimestamp + "." + holeBody}
}

func (h HMAC) validate(name string) error {
	var problems []error
	say := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf("source %q: hmac: "+format, append([]any{name}, args...)...))
		}
	}
	say(h.Header != "", "no signature header is given")
	say(h.Encoding == encodingHex || h.Encoding == encodingBase64, "encoding %q is unknown; use %s or %s", h.Encoding, encodingHex, encodingBase64)
	say(slices.Contains(templates(), h.Template), "template %q is unknown; use one of %q", h.Template, templates())
	say(strings.Contains(h.Template, holeID) == (h.ID != ""), "the id header and %s belong together", holeID)
	say(strings.Contains(h.Template, holeTimestamp) == (h.Timestamp != ""), "the timestamp header and %s belong together", holeTimestamp)
	return errors.Join(problems...)
}

func verifyHMAC(c Config, secrets []Secret, req Request, now time.Time) (proof, error) {
	keys, err := verbatimKeys(c, secrets)
	if err != nil {
		return proof{}, err
	}
	given, err := signatureHeader(req, c.HMAC.Header)
	if err != nil {
		return proof{}, err
	}
	signature, err := c.HMAC.decode(given)
	if err != nil {
		return proof{}, err
	}
	signed, err := c.HMAC.signed(req)
	if err != nil {
		return proof{}, err
	}
	if !anyMAC(keys, c.HMAC.message(signed, req.body), signature) {
		return proof{}, refuseSignature(c)
	}
	if timestamp, ok := signed["timestamp"]; ok {
		at, err := parseSeconds(timestamp)
		if err != nil {
			return proof{}, refuse(http.StatusUnauthorized, ReasonTimestamp, "the header %s %v", c.HMAC.Timestamp, err)
		}
		if err := fresh(c, at, now); err != nil {
			return proof{}, err
		}
	}
	return proof{signed: signed}, nil
}

func (h HMAC) decode(given string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(given, h.Prefix)
	var signature []byte
	var err error
	if h.Encoding == encodingHex {
		signature, err = hex.DecodeString(encoded)
	} else {
		signature, err = decodeSignature(encoded)
	}
	if !ok || err != nil {
		return nil, refuse(http.StatusUnauthorized, ReasonBadSignature, "the header %s must be %q followed by the signature in %s", h.Header, h.Prefix, h.Encoding)
	}
	return signature, nil
}

// signed reads the headers that the signature covers. A dot would let one signed text be read in two ways.
func (h HMAC) signed(req Request) (map[string]string, error) {
	signed := map[string]string{}
	for meaning, header := range map[string]string{"id": h.ID, "timestamp": h.Timestamp} {
		if header == "" {
			continue
		}
		value, ok := req.Header.one(header)
		if !ok || strings.Contains(value, ".") {
			return nil, refuse(http.StatusUnauthorized, ReasonNoSignature, "the request needs the header %s once, without a dot in it", header)
		}
		signed[meaning] = value
	}
	return signed, nil
}

func (h HMAC) message(signed map[string]string, body []byte) []byte {
	before, _ := strings.CutSuffix(h.Template, holeBody)
	before = strings.NewReplacer(holeID, signed["id"], holeTimestamp, signed["timestamp"]).Replace(before)
	return append([]byte(before), body...)
}

func (h HMAC) sign(key []byte, signed map[string]string, body []byte) string {
	mac := macSHA256(key, h.message(signed, body))
	if h.Encoding == encodingHex {
		return h.Prefix + hex.EncodeToString(mac)
	}
	return h.Prefix + base64.StdEncoding.EncodeToString(mac)
}
