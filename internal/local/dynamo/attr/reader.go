package attr

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// depthMax bounds how deeply JSON may nest; an attribute value may nest 32 levels of two JSON levels each.
const depthMax = 80

// Malformed is an error of the JSON itself, or of a member's JSON type.
type Malformed struct{ Reason string }

// Error implements error.
func (e *Malformed) Error() string { return e.Reason }

func malformed(format string, args ...any) error { return &Malformed{fmt.Sprintf(format, args...)} }

// Reader reads JSON once, front to back, without building anything that is not asked for.
type Reader struct {
	buf   []byte
	pos   int
	depth int
}

// NewReader reads from buf, which must not change meanwhile.
func NewReader(buf []byte) *Reader { return &Reader{buf: buf} }

func (r *Reader) next() byte {
	for r.pos < len(r.buf) {
		switch c := r.buf[r.pos]; c {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return c
		}
	}
	return 0
}

func (r *Reader) accept(c byte) bool {
	if r.next() != c || r.pos >= len(r.buf) {
		return false
	}
	r.pos++
	return true
}

// End says that nothing follows the value that was read.
func (r *Reader) End() error {
	if r.next() != 0 || r.pos < len(r.buf) {
		return malformed("Unexpected text after the request at byte %d", r.pos)
	}
	return nil
}

// Object calls member for every member that is not null; member must read its value.
func (r *Reader) Object(member func(key string) error) error {
	return r.nested('{', '}', "Start of structure or map expected", func(int) error {
		key, err := r.Text()
		if err != nil {
			return err
		}
		if !r.accept(':') {
			return malformed("Expected ':' at byte %d", r.pos)
		}
		if r.null() {
			return nil
		}
		return member(key)
	})
}

// Array calls element for every element; element must read it.
func (r *Reader) Array(element func(i int) error) error {
	return r.nested('[', ']', "Start of list expected", element)
}

func (r *Reader) nested(open, end byte, expected string, element func(i int) error) error {
	if !r.accept(open) {
		return malformed("%s at byte %d", expected, r.pos)
	}
	if r.depth++; r.depth > depthMax {
		return malformed("The request nests more than %d levels deep", depthMax)
	}
	defer func() { r.depth-- }()
	if r.accept(end) {
		return nil
	}
	for i := 0; ; i++ {
		if err := element(i); err != nil {
			return err
		}
		switch {
		case r.accept(','):
		case r.accept(end):
			return nil
		default:
			return malformed("Expected ',' or '%c' at byte %d", end, r.pos)
		}
	}
}

func (r *Reader) literal(word string) bool {
	r.next()
	if len(r.buf)-r.pos < len(word) || string(r.buf[r.pos:r.pos+len(word)]) != word {
		return false
	}
	r.pos += len(word)
	return true
}

func (r *Reader) null() bool { return r.literal("null") }

// Bool reads true or false.
func (r *Reader) Bool() (bool, error) {
	switch {
	case r.literal("true"):
		return true, nil
	case r.literal("false"):
		return false, nil
	}
	return false, malformed("A boolean is expected at byte %d", r.pos)
}

// Int reads a whole number.
func (r *Reader) Int() (int64, error) {
	n, err := strconv.ParseInt(r.bare(), 10, 64)
	if err != nil {
		return 0, malformed("A whole number is expected before byte %d", r.pos)
	}
	return n, nil
}

// bare reads what stands outside quotes up to the next delimiter.
func (r *Reader) bare() string {
	r.next()
	start := r.pos
	for r.pos < len(r.buf) {
		switch r.buf[r.pos] {
		case ',', '}', ']', ' ', '\t', '\n', '\r', ':', '"', '{', '[':
			return string(r.buf[start:r.pos])
		}
		r.pos++
	}
	return string(r.buf[start:])
}

// Text reads a string.
func (r *Reader) Text() (string, error) {
	if r.next() != '"' || r.pos >= len(r.buf) {
		return "", malformed("A string is expected at byte %d", r.pos)
	}
	r.pos++
	start := r.pos
	for r.pos < len(r.buf) {
		switch c := r.buf[r.pos]; {
		case c == '"':
			raw := r.buf[start:r.pos]
			r.pos++
			if !utf8.Valid(raw) {
				return "", malformed("A string is not valid UTF-8 before byte %d", r.pos)
			}
			return string(raw), nil
		case c == '\\':
			return r.escapedText(start)
		case c < ' ':
			return "", malformed("A string has an unescaped control character at byte %d", r.pos)
		}
		r.pos++
	}
	return "", malformed("A string does not end")
}

func (r *Reader) escapedText(start int) (string, error) {
	out := append([]byte(nil), r.buf[start:r.pos]...)
	for r.pos < len(r.buf) {
		c := r.buf[r.pos]
		r.pos++
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				return "", malformed("A string is not valid UTF-8 before byte %d", r.pos)
			}
			return string(out), nil
		case c == '\\':
			var err error
			if out, err = r.unescape(out); err != nil {
				return "", err
			}
		case c < ' ':
			return "", malformed("A string has an unescaped control character at byte %d", r.pos)
		default:
			out = append(out, c)
		}
	}
	return "", malformed("A string does not end")
}

func (r *Reader) unescape(out []byte) ([]byte, error) {
	if r.pos >= len(r.buf) {
		return nil, malformed("A string does not end")
	}
	c := r.buf[r.pos]
	r.pos++
	switch c {
	case '"', '\\', '/':
		return append(out, c), nil
	case 'b':
		return append(out, '\b'), nil
	case 'f':
		return append(out, '\f'), nil
	case 'n':
		return append(out, '\n'), nil
	case 'r':
		return append(out, '\r'), nil
	case 't':
		return append(out, '\t'), nil
	case 'u':
		return r.unescapeUnicode(out)
	}
	return nil, malformed("Unknown escape in a string at byte %d", r.pos)
}

func (r *Reader) unescapeUnicode(out []byte) ([]byte, error) {
	one, err := r.hex4()
	if err != nil {
		return nil, err
	}
	if !utf16.IsSurrogate(one) {
		return utf8.AppendRune(out, one), nil
	}
	if r.pos+2 <= len(r.buf) && string(r.buf[r.pos:r.pos+2]) == `\u` {
		r.pos += 2
		two, err := r.hex4()
		if err != nil {
			return nil, err
		}
		if both := utf16.DecodeRune(one, two); both != utf8.RuneError {
			return utf8.AppendRune(out, both), nil
		}
	}
	return nil, malformed("Half a surrogate pair in a string before byte %d", r.pos)
}

func (r *Reader) hex4() (rune, error) {
	const digits = 4
	if r.pos+digits > len(r.buf) {
		return 0, malformed("A string does not end")
	}
	n, err := strconv.ParseUint(string(r.buf[r.pos:r.pos+digits]), 16, 32)
	if err != nil {
		return 0, malformed("A \\u escape needs four hexadecimal digits at byte %d", r.pos)
	}
	r.pos += digits
	return rune(n), nil
}

// Raw passes over one value and returns its text.
func (r *Reader) Raw() ([]byte, error) {
	r.next()
	start := r.pos
	err := r.skip()
	return r.buf[start:r.pos], err
}

func (r *Reader) skip() error {
	switch r.next() {
	case '{':
		return r.Object(func(string) error { return r.skip() })
	case '[':
		return r.Array(func(int) error { return r.skip() })
	case '"':
		_, err := r.Text()
		return err
	}
	if r.bare() == "" {
		return malformed("A value is expected at byte %d", r.pos)
	}
	return nil
}
