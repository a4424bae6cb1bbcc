package flow

import (
	"strconv"
	"strings"
	"unicode"
)

// KeyShape is the canonical text of the stage's key. The ledger keeps it, and a changed one under the same flow
// and stage names is refused, because it would give the same business operation another id. White space outside
// of quotes does not count; where quotes cannot be told for sure, every character counts.
func KeyShape(s Stage) string {
	parts := make([]string, len(s.Key))
	for i, k := range s.Key {
		parts[i] = strconv.Quote(canonical(k.Value))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func canonical(expression string) string {
	text := strings.TrimSpace(expression)
	if strings.ContainsAny(text, `\`) || strings.Contains(text, "//") || strings.Contains(text, `"""`) || strings.Contains(text, "'''") {
		return text
	}
	var b strings.Builder
	var quote, last rune
	space := false
	for _, r := range text {
		if quote == 0 && unicode.IsSpace(r) {
			space = true
			continue
		}
		if space && joins(last, r) {
			b.WriteByte(' ')
		}
		space = false
		quote = nextQuote(quote, r)
		b.WriteRune(r)
		last = r
	}
	if quote != 0 {
		return text
	}
	return b.String()
}

func nextQuote(quote, r rune) rune {
	switch {
	case quote == r:
		return 0
	case quote == 0 && (r == '"' || r == '\''):
		return r
	}
	return quote
}

// joins says that two characters would mean something else without the space between them.
func joins(a, b rune) bool { return (word(a) && word(b)) || (sign(a) && sign(b)) }

func word(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_.'\"", r)
}

func sign(r rune) bool { return strings.ContainsRune("-=<>&|!", r) }
