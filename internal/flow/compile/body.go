package compile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Bounds of an event's body.
const (
	BodyBytesMax = 4 << 20 // bytes
	bodyDepthMax = 64      // levels of lists and objects
)

// decode reads a body that has exactly one meaning: one JSON value, valid UTF-8, no name twice in one object.
// Numbers stay literals. Its errors never show a part of the body.
func decode(body []byte) (any, error) {
	switch {
	case len(body) > BodyBytesMax:
		return nil, fmt.Errorf("the body has more than %d bytes", BodyBytesMax)
	case !utf8.Valid(body):
		return nil, errors.New("the body is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	v, err := decodeValue(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the body holds something after its JSON value")
	}
	return v, nil
}

var errNotJSON = errors.New("the body is not JSON")

func decodeValue(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, errNotJSON
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if depth == bodyDepthMax {
		return nil, fmt.Errorf("the body goes deeper than %d levels", bodyDepthMax)
	}
	if delim == '[' {
		return decodeList(d, depth+1)
	}
	return decodeObject(d, depth+1)
}

func decodeList(d *json.Decoder, depth int) (any, error) {
	list := []any{}
	for d.More() {
		v, err := decodeValue(d, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, end(d)
}

func decodeObject(d *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, errNotJSON
		}
		if _, twice := object[name]; twice {
			return nil, errors.New("the body gives one field twice, so it is not clear which value is meant")
		}
		if object[name], err = decodeValue(d, depth); err != nil {
			return nil, err
		}
	}
	return object, end(d)
}

func end(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return errNotJSON
	}
	return nil
}
