package states

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// document is a JSON value that travels between states. It keeps the bytes as they came, so that data nobody changes
// is never encoded again, and is decoded at most once, when a path first looks inside. Numbers keep every digit.
// Trees are shared between documents and never changed in place.
type document struct {
	raw     []byte
	tree    any
	decoded bool
}

// asDocument takes bytes that are known to be valid JSON.
func asDocument(raw []byte) *document { return &document{raw: raw} }

func (d *document) value() any {
	if !d.decoded {
		d.tree, d.decoded = decodeValid(d.raw), true
	}
	return d.tree
}

func (d *document) bytes() []byte {
	if d.raw == nil {
		d.raw = encode(d.tree)
	}
	return d.raw
}

// find returns what a path names. A small document is not decoded for it: most paths ask for one field of an answer.
func (d *document) find(p *path) (any, bool) {
	if d.decoded || len(d.raw) > scanBytesMax {
		return p.find(d.value())
	}
	raw, ok := locate(d.raw, p.steps)
	if !ok {
		return nil, false
	}
	return decodeSmall(raw), true
}

func fromTree(tree any) *document { return &document{tree: tree, decoded: true} }

// decodeValid decodes JSON that json.Valid accepted.
func decodeValid(raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil
	}
	return v
}

// encode writes a tree of JSON values; such a tree always has an encoding.
func encode(tree any) []byte { return appendJSON(nil, tree) }

// encodeAny does the same for any value, with encoding/json, whose text appendJSON's never differs from.
func encodeAny(tree any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(tree); err != nil {
		return []byte("null")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// decodeStrict decodes exactly one JSON value and refuses an object with the same name twice, which decoders settle
// differently. It returns the place of the second name.
func decodeStrict(raw []byte) (tree any, at string, err error) {
	if !json.Valid(raw) {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, "", fmt.Errorf("not valid JSON: %w", err)
		}
		return nil, "", errors.New("not valid JSON")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	at, err = findTwice(d, "")
	if err != nil {
		return nil, at, err
	}
	return decodeValid(raw), "", nil
}

func findTwice(d *json.Decoder, at string) (string, error) {
	t, err := d.Token()
	if err == io.EOF {
		return at, errors.New("the definition is empty")
	}
	if err != nil {
		return at, err
	}
	switch t {
	case json.Delim('{'):
		return twiceInObject(d, at)
	case json.Delim('['):
		return twiceInArray(d, at)
	}
	return at, nil
}

func twiceInObject(d *json.Decoder, at string) (string, error) {
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return at, err
		}
		name, _ := t.(string)
		inside := at + "/" + name
		if seen[name] {
			return inside, errors.New("this name is used twice in one object")
		}
		seen[name] = true
		if where, err := findTwice(d, inside); err != nil {
			return where, err
		}
	}
	_, err := d.Token()
	return at, err
}

func twiceInArray(d *json.Decoder, at string) (string, error) {
	for i := 0; d.More(); i++ {
		if where, err := findTwice(d, fmt.Sprintf("%s/%d", at, i)); err != nil {
			return where, err
		}
	}
	_, err := d.Token()
	return at, err
}
