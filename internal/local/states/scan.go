package states

import (
	"encoding/json"
)

const scanBytesMax = 2048 // the largest document that is scanned for a field instead of being decoded

// The functions here read valid JSON only: bytes that json.Valid accepted. They never look for mistakes.

// locate returns the text of the value that steps lead to. Of a name that an object has twice the last one counts, as
// it does for encoding/json.
func locate(raw []byte, steps []step) ([]byte, bool) {
	at := skipSpace(raw, 0)
	for _, s := range steps {
		found := -1
		switch {
		case raw[at] == '{' && !s.isIndex:
			found = member(raw, at, s.key)
		case raw[at] == '[' && s.isIndex:
			found = item(raw, at, s.index)
		}
		if found < 0 {
			return nil, false
		}
		at = found
	}
	return raw[at:skipValue(raw, at)], true
}

// member is where the value of an object's field begins, or -1. The object begins at at.
func member(raw []byte, at int, key string) int {
	found := -1
	for at = skipSpace(raw, at+1); raw[at] != '}'; at = skipSpace(raw, at) {
		if raw[at] == ',' {
			at = skipSpace(raw, at+1)
		}
		end := skipString(raw, at)
		value := skipSpace(raw, skipSpace(raw, end)+1) // past the colon
		if isText(raw[at:end], key) {
			found = value
		}
		at = skipValue(raw, value)
	}
	return found
}

// item is where an item of a list begins, or -1. The list begins at at.
func item(raw []byte, at, index int) int {
	for at = skipSpace(raw, at+1); raw[at] != ']'; index-- {
		if index == 0 {
			return at
		}
		at = skipSpace(raw, skipValue(raw, at))
		if raw[at] == ',' {
			at = skipSpace(raw, at+1)
		}
	}
	return -1
}

func skipSpace(raw []byte, at int) int {
	for at < len(raw) && (raw[at] == ' ' || raw[at] == '\n' || raw[at] == '\t' || raw[at] == '\r') {
		at++
	}
	return at
}

func skipString(raw []byte, at int) int {
	for at++; raw[at] != '"'; at++ {
		if raw[at] == '\\' {
			at++
		}
	}
	return at + 1
}

func skipValue(raw []byte, at int) int {
	depth := 0
	for at < len(raw) {
		switch raw[at] {
		case '"':
			at = skipString(raw, at) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at // of what is around a number or a word
			}
			depth--
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return at
			}
		}
		at++
		if depth == 0 && (raw[at-1] == '"' || raw[at-1] == '}' || raw[at-1] == ']') {
			return at
		}
	}
	return at
}

// isText reports whether a JSON string says key.
func isText(quoted []byte, key string) bool {
	if inside, ok := plainText(quoted); ok {
		return string(inside) == key
	}
	var text string
	return json.Unmarshal(quoted, &text) == nil && text == key
}

// plainText is what is between the quotes of a JSON string that needs no decoding.
func plainText(quoted []byte) ([]byte, bool) {
	inside := quoted[1 : len(quoted)-1]
	for _, c := range inside {
		if c == '\\' || c < ' ' || c > '~' {
			return nil, false
		}
	}
	return inside, true
}

// decodeSmall decodes a value: quickly where it is a plain string, a number or a word.
func decodeSmall(raw []byte) any {
	switch c := raw[0]; {
	case c == '"':
		if inside, ok := plainText(raw); ok {
			return string(inside)
		}
	case c == '-' || c >= '0' && c <= '9':
		return json.Number(raw)
	case c == 't':
		return true
	case c == 'f':
		return false
	case c == 'n':
		return nil
	}
	return decodeValid(raw)
}

// appendJSON writes a tree as encodeAny does, but for the common kinds of value without reflection.
func appendJSON(b []byte, tree any) []byte {
	switch v := tree.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		if v {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	case string:
		return appendText(b, v)
	case map[string]any:
		return appendObject(b, v)
	case []any:
		b = append(b, '[')
		for i, one := range v {
			b = appendJSON(separated(b, i), one)
		}
		return append(b, ']')
	}
	return append(b, encodeAny(tree)...)
}

func appendObject(b []byte, v map[string]any) []byte {
	if v == nil {
		return append(b, "null"...)
	}
	b = append(b, '{')
	for i, name := range sortedNames(v) {
		b = append(appendText(separated(b, i), name), ':')
		b = appendJSON(b, v[name])
	}
	return append(b, '}')
}

func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return append(b, encodeAny(text)...)
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}
