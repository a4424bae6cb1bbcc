package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// DepthMax is how deep lists and objects may lie inside each other.
	DepthMax = 32
	// NumberBytesMax is the longest number literal, in bytes.
	NumberBytesMax = 64
)

// Document is a parsed JSON body together with the bytes it was parsed from. The zero Document is empty.
type Document struct {
	raw       []byte
	value     any
	canonical []byte
}

// Raw is the exact bytes that were parsed. The caller does not change them.
func (d Document) Raw() []byte { return d.raw }

// Value is the parsed body: map[string]any, []any, string, json.Number (with every digit), bool or nil. The caller
// does not change it.
func (d Document) Value() any { return d.value }

// Canonical is the body with its members ordered and its strings spelled as RFC 8785 says, and without white
// space. Unlike there, numbers keep their literal: 19.90 and 19.9 stay different, and no digit of a large id is
// lost. Lists keep their order.
func (d Document) Canonical() []byte { return d.canonical }

// Lookup is the value at the path of members, and whether it is there.
func (d Document) Lookup(path ...string) (any, bool) {
	value := d.value
	for _, member := range path {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = object[member]; !ok {
			return nil, false
		}
	}
	return value, true
}

// Digest is the lower-case hexadecimal SHA-256 of the bytes.
func Digest(bytes []byte) string {
	sum := sha256.Sum256(bytes)
	return hex.EncodeToString(sum[:])
}

// Parse reads a body that was verified before, now or when it was stored. It refuses what two readers could
// understand differently: a member given twice, invalid UTF-8, and anything beyond the bounds. The *Refusal says
// where, and shows nothing of the content.
func Parse(raw []byte) (Document, error) {
	if len(raw) > BodyBytesMax {
		return Document{}, refuse(http.StatusRequestEntityTooLarge, ReasonTooLarge, "the body is larger than %d KiB", BodyBytesMax>>10)
	}
	if !utf8.Valid(raw) {
		return Document{}, refuse(http.StatusBadRequest, ReasonJSON, "the body is not valid UTF-8; send JSON in UTF-8")
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(raw))
	value, err := read(decoder)
	if err != nil {
		return Document{}, refuseJSON(decoder, err)
	}
	end := decoder.InputOffset()
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return Document{}, refuse(http.StatusBadRequest, ReasonJSON, "the body goes on after its JSON value ends at byte %d; send one value", end)
	}
	canonical, err := Canonicalize(raw)
	return Document{raw: raw, value: value, canonical: canonical}, err
}

// Canonicalize is the canonical form of one JSON value, as described at Document.Canonical.
func Canonicalize(raw []byte) ([]byte, error) {
	value := jsontext.Value(bytes.Clone(raw))
	err := value.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil {
		return nil, refuse(http.StatusBadRequest, ReasonJSON, "the text is not one JSON value in valid UTF-8 without repeated members")
	}
	return value, nil
}

var (
	errTooDeep       = errors.New("lists and objects lie too deep inside each other")
	errNumberTooLong = errors.New("a number is too long")
)

func refuseJSON(decoder *jsontext.Decoder, err error) *Refusal {
	const malformed = "the body is not valid JSON at byte %d; send one JSON value"
	at := decoder.InputOffset()
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		at = syntax.ByteOffset
	}
	message := malformed
	switch {
	case errors.Is(err, errTooDeep):
		message = "at byte %d lists and objects lie more than 32 deep inside each other; send a flatter body"
	case errors.Is(err, errNumberTooLong):
		message = "the number before byte %d has more than 64 characters; send it as text"
	case errors.Is(err, jsontext.ErrDuplicateName):
		message = "an object has the same member twice at byte %d, so it is not clear which one is meant; send it once"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		message = "the body ends at byte %d in the middle of its JSON value; send all of it"
	}
	return refuse(http.StatusBadRequest, ReasonJSON, message, at)
}

func read(decoder *jsontext.Decoder) (any, error) {
	token, err := decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	if decoder.StackDepth() > DepthMax {
		return nil, errTooDeep
	}
	switch token.Kind() {
	case '{':
		return readObject(decoder)
	case '[':
		return readList(decoder)
	case '"':
		return token.String(), nil
	case '0':
		return number(token.String())
	case 't', 'f':
		return token.Bool(), nil
	}
	return nil, nil
}

func number(literal string) (any, error) {
	if len(literal) > NumberBytesMax {
		return nil, errNumberTooLong
	}
	return stdjson.Number(literal), nil
}

func readObject(decoder *jsontext.Decoder) (any, error) {
	object := map[string]any{}
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		member := name.String()
		if object[member], err = read(decoder); err != nil {
			return nil, err
		}
	}
	_, err := decoder.ReadToken()
	return object, err
}

func readList(decoder *jsontext.Decoder) (any, error) {
	list := []any{}
	for decoder.PeekKind() != ']' {
		item, err := read(decoder)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	_, err := decoder.ReadToken()
	return list, err
}
