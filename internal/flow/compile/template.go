package compile

import (
	"fmt"
	"regexp"
	"strings"

	"holdfast/internal/flow"
)

// piecesMax bounds the pieces of one text.
const piecesMax = 200

// piece is a literal, an expression, or a hole: exactly one of the three.
type piece struct {
	literal string
	source  string // of the expression, as written
	offset  int    // of the expression in the text, in bytes
	hole    string // the stage whose reference is filled in at the first claim
}

// templateError says what is wrong with a text, and where.
type templateError struct {
	offset  int
	problem string
}

func (e *templateError) Error() string { return e.problem }

// holeForm is the one way to use a reference. It is told by its text and never evaluated.
var holeForm = regexp.MustCompile(`^\s*([a-z][a-z0-9_]*)\.reference\s*$`)

// split cuts a text into its pieces. `${` begins an expression and its `}` ends it; `$${` is a literal `${`.
func split(text string) ([]piece, error) {
	var pieces []piece
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			pieces = append(pieces, piece{literal: literal.String()})
			literal.Reset()
		}
	}
	for i := 0; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], "$${"):
			literal.WriteString("${")
			i += len("$${")
		case strings.HasPrefix(text[i:], "${"):
			flush()
			p, next, err := cut(text, i)
			if err != nil {
				return nil, err
			}
			pieces = append(pieces, p)
			i = next
		default:
			literal.WriteByte(text[i])
			i++
		}
	}
	flush()
	if len(pieces) > piecesMax {
		return nil, &templateError{0, fmt.Sprintf("the text has more than %d pieces", piecesMax)}
	}
	return pieces, nil
}

// cut takes the expression that begins with `${` at i; next is behind its `}`.
func cut(text string, i int) (p piece, next int, err error) {
	start := i + len("${")
	end := closing(text, start)
	if end < 0 {
		return piece{}, 0, &templateError{i, "`${` has no closing `}`; write `$${` for the characters themselves"}
	}
	source := text[start:end]
	switch {
	case strings.TrimSpace(source) == "":
		return piece{}, 0, &templateError{i, "`${}` is empty; write a field such as ${body.properties.email}"}
	case len(source) > flow.ExpressionBytesMax:
		return piece{}, 0, &templateError{i, fmt.Sprintf("the expression is longer than %d bytes", flow.ExpressionBytesMax)}
	}
	p = piece{source: source, offset: start}
	if m := holeForm.FindStringSubmatch(source); m != nil && m[1] != "body" && m[1] != "event" {
		p = piece{hole: m[1], offset: start}
	}
	return p, end + 1, nil
}

// closing is the offset of the `}` that ends an expression; braces and quotes inside of it are passed over.
func closing(text string, start int) int {
	depth := 0
	var quote byte
	for i := start; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case c == '}':
			return i
		}
	}
	return -1
}
