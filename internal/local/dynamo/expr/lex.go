// Package expr is DynamoDB's expression language: conditions, updates, projections and key conditions.
//
// It promises that an expression means here what it means to DynamoDB, and that what it does not understand is an
// error that names the construct. It never ignores a part of an expression, and never panics on one.
package expr

import (
	"fmt"
	"strings"
)

// Documented limits.
const (
	expressionBytesMax = 4096
	operatorsMax       = 300
)

// Error is a mistake in a request's expressions; its text is what the caller is told.
type Error struct{ Reason string }

// Error implements error.
func (e *Error) Error() string { return e.Reason }

func fail(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenName             // a bare name, keyword or function
	tokenAlias            // #name
	tokenValue            // :value
	tokenIndex            // digits
	tokenSymbol           // punctuation and comparators
)

type token struct {
	kind       tokenKind
	text       string
	start, end int
}

func lex(s string) ([]token, error) {
	var tokens []token
	for i := 0; i < len(s); {
		if isSpace(s[i]) {
			i++
			continue
		}
		kind, end := scanToken(s, i)
		if end == i {
			return nil, syntaxError(s, append(tokens, token{tokenSymbol, s[i : i+1], i, i + 1}), len(tokens))
		}
		tokens = append(tokens, token{kind, s[i:end], i, end})
		i = end
	}
	return append(tokens, token{kind: tokenEnd, text: "<EOF>", start: len(s), end: len(s)}), nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// scanToken returns the token's end, or i itself when no token starts there.
func scanToken(s string, i int) (tokenKind, int) {
	switch c := s[i]; {
	case c == '#' || c == ':':
		end := skip(s, i+1, isWord)
		if end == i+1 {
			return tokenEnd, i
		}
		if c == '#' {
			return tokenAlias, end
		}
		return tokenValue, end
	case isDigit(c):
		return tokenIndex, skip(s, i, isDigit)
	case isWord(c):
		return tokenName, skip(s, i, isWord)
	case strings.HasPrefix(s[i:], "<>"), strings.HasPrefix(s[i:], "<="), strings.HasPrefix(s[i:], ">="):
		return tokenSymbol, i + 2
	case strings.IndexByte("=<>()[],.+-", c) >= 0:
		return tokenSymbol, i + 1
	}
	return tokenEnd, i
}

func skip(s string, i int, in func(byte) bool) int {
	for i < len(s) && in(s[i]) {
		i++
	}
	return i
}

// syntaxError names the token and its neighbours, as DynamoDB does.
func syntaxError(s string, tokens []token, at int) error {
	first, last := max(at-1, 0), min(at+1, len(tokens)-1)
	near := s[tokens[first].start:tokens[last].end]
	return fail("Syntax error; token: \"%s\", near: \"%s\"", tokens[at].text, strings.TrimSpace(near))
}
