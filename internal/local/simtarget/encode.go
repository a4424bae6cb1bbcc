package simtarget

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// plainTo is the last character that a JSON text can hold as it is; all else is left to the library.
const plainTo = 0x7e

// appendJSON writes a tree of decoded YAML and JSON byte for byte as encoding/json does, without its reflection.
func appendJSON(out []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...)
	case string:
		return appendText(out, v)
	case bool:
		return strconv.AppendBool(out, v)
	case int:
		return strconv.AppendInt(out, int64(v), 10)
	case json.Number:
		if v == "" {
			return append(out, '0')
		}
		return append(out, v...)
	case []any:
		if v == nil {
			return append(out, "null"...)
		}
		return appendList(out, v)
	case map[string]any:
		return appendMapping(out, v)
	}
	raw, _ := json.Marshal(v) // a tree of decoded YAML and JSON always encodes
	return append(out, raw...)
}

func appendList(out []byte, list []any) []byte {
	out = append(out, '[')
	for i, sub := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendJSON(out, sub)
	}
	return append(out, ']')
}

func appendMapping(out []byte, doc map[string]any) []byte {
	var room [16]string // most mappings have fewer names
	names := slices.AppendSeq(room[:0], maps.Keys(doc))
	slices.Sort(names)
	out = append(out, '{')
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendText(out, name), ':')
		out = appendJSON(out, doc[name])
	}
	return append(out, '}')
}

func appendText(out []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > plainTo || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			raw, _ := json.Marshal(text) // a text always encodes
			return append(out, raw...)
		}
	}
	out = append(out, '"')
	out = append(out, text...)
	return append(out, '"')
}

// written appends what a node without parts of its own yields.
func written(out []byte, n node, s *scope) ([]byte, bool) {
	v, ok := n.eval(s)
	if !ok {
		return out, false
	}
	return appendJSON(out, v), true
}

func (n constant) write(out []byte, _ *scope) ([]byte, bool) { return append(out, n.raw...), true }
func (n joined) write(out []byte, s *scope) ([]byte, bool)   { return written(out, n, s) }
func (n named) write(out []byte, s *scope) ([]byte, bool)    { return written(out, n, s) }
func (n pointed) write(out []byte, s *scope) ([]byte, bool)  { return written(out, n, s) }
func (n word) write(out []byte, s *scope) ([]byte, bool)     { return written(out, n, s) }

func (n fields) write(out []byte, s *scope) ([]byte, bool) {
	start := len(out)
	out = append(out, '{')
	for _, f := range n {
		before := len(out)
		if before > start+1 {
			out = append(out, ',')
		}
		var ok bool
		if out, ok = f.node.write(append(out, f.raw...), s); !ok {
			out = out[:before]
		}
	}
	if len(out) == start+1 && len(n) > 0 {
		return out[:start], false
	}
	return append(out, '}'), true
}

func (n list) write(out []byte, s *scope) ([]byte, bool) {
	start := len(out)
	out = append(out, '[')
	for _, sub := range n {
		before := len(out)
		if before > start+1 {
			out = append(out, ',')
		}
		var ok bool
		if out, ok = sub.write(out, s); !ok {
			out = out[:before]
		}
	}
	return append(out, ']'), true
}
