package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	valueDepthMax    = 32      // levels of lists and objects in content
	valueBytesMax    = 1 << 18 // of one rendered body, in bytes
	numberDigitsMax  = 64      // characters of one number
	exponentsRefused = "write the number out without an exponent, so that its digits are what is approved"
)

var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// canonical orders a JSON text by RFC 8785 with one deliberate difference: the digits of a number stay as they
// were written, because rounding an id to a float names something else (B010), and 19.90 stays 19.90.
func canonical(raw []byte) ([]byte, error) {
	v := jsontext.Value(raw)
	err := v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil {
		return nil, fmt.Errorf("not one JSON value with unique names in valid UTF-8: %w", err)
	}
	if len(v) > valueBytesMax {
		return nil, fmt.Errorf("the body has %d bytes, allowed are %d", len(v), valueBytesMax)
	}
	return v, nil
}

// appendValue writes a content value as JSON; object names are ordered later by canonical.
func appendValue(dst []byte, v any, depth int) ([]byte, error) {
	if depth > valueDepthMax {
		return nil, fmt.Errorf("nested deeper than %d levels", valueDepthMax)
	}
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return appendText(dst, v)
	case []any:
		return appendList(dst, v, depth)
	case []string:
		return appendList(dst, anyOf(v), depth)
	case map[string]any:
		return appendObject(dst, v, depth)
	}
	n, err := numberText(v)
	return append(dst, n...), err
}

func appendText(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, errors.New("a text is not valid UTF-8")
	}
	return jsontext.AppendQuote(dst, s)
}

func appendList(dst []byte, list []any, depth int) ([]byte, error) {
	dst = append(dst, '[')
	for i, item := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValue(dst, item, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, m map[string]any, depth int) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for name, item := range m {
		if containsMark(name) {
			return nil, errMarkInName
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		var err error
		if dst, err = appendText(dst, name); err != nil {
			return nil, err
		}
		dst = append(dst, ':')
		if dst, err = appendValue(dst, item, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// numberText gives a number's digits without an exponent.
func numberText(v any) (string, error) {
	switch v := v.(type) {
	case json.Number:
		if len(v) > numberDigitsMax || !plainNumber.MatchString(string(v)) {
			return "", fmt.Errorf("number of %d characters is not plain decimal digits: %s", len(v), exponentsRefused)
		}
		return string(v), nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case uint64:
		return strconv.FormatUint(v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) || math.Abs(v) >= 1<<53 {
			return "", errors.New("a number that lost its digits before it came here; pass it as text of digits")
		}
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	}
	return "", fmt.Errorf("a value of Go type %T has no JSON form here", v)
}

func anyOf(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
