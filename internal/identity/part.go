package identity

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// PartBytesMax is the longest text part, in bytes.
	PartBytesMax = 1024
	// NumberBytesMax is the longest number literal in a part, in bytes.
	NumberBytesMax = 64
)

// Part is one typed piece of an identity. The text "7" and the number 7 are different parts; the numbers 7 and
// 7.0 are the same one, because numbers compare by their exact decimal value. Texts compare byte for byte.
// The zero Part counts as missing.
type Part struct {
	name    string
	sort    sort
	text    string
	problem string
}

type sort string

// The sorts are hashed; they are permanent.
const (
	sortText   sort = "text"
	sortNumber sort = "number"
	sortBool   sort = "bool"
)

// PartError says which part of an identity cannot be used, and why. Whatever needed the id is held.
type PartError struct {
	Part    string // where the part comes from, as written in the configuration
	Problem string // a whole phrase: "is missing", "is blank", ...
}

func (e *PartError) Error() string { return e.Part + " " + e.Problem }

func (p Part) err() error {
	name, problem := p.name, p.problem
	if name == "" {
		name = "a part"
	}
	if problem == "" {
		problem = problemMissing
	}
	return &PartError{Part: name, Problem: problem}
}

// Err is the part's *PartError, or nil when the part can be used.
func (p Part) Err() error {
	if p.sort != "" && p.problem == "" {
		return nil
	}
	return p.err()
}

const (
	problemMissing   = "is missing"
	problemBlank     = "is blank"
	problemEdges     = "begins or ends with white space, so it is not clear which value is meant"
	problemControl   = "contains a control character"
	problemEncoding  = "is not valid UTF-8 text"
	problemExponent  = "is a number with an exponent; identities need plain digits"
	problemNotNumber = "is not a JSON number"
	problemFloat     = "is a floating-point number, whose digits are not exact; use the digits as they were sent"
	problemStructure = "is a list or an object, not one value"
)

// Text is a text part; name says where it comes from. Blank text, white space at either end, control
// characters, invalid UTF-8 and more than PartBytesMax bytes make it unusable.
func Text(name, value string) Part {
	return Part{name: name, sort: sortText, text: value, problem: textProblem(value)}
}

func textProblem(value string) string {
	switch {
	case len(value) > PartBytesMax:
		return fmt.Sprintf("is longer than %d bytes", PartBytesMax)
	case !utf8.ValidString(value):
		return problemEncoding
	case strings.TrimFunc(value, blank) == "":
		return problemBlank
	case strings.TrimFunc(value, blank) != value:
		return problemEdges
	case strings.ContainsFunc(value, unicode.IsControl):
		return problemControl
	}
	return ""
}

// blank also covers what is invisible but is not called white space: zero-width and other format characters.
func blank(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

// Number is a number part, from the JSON literal with all its digits. A literal with an exponent is unusable.
func Number(name, literal string) Part {
	text, problem := decimal(literal)
	return Part{name: name, sort: sortNumber, text: text, problem: problem}
}

// Bool is a true-or-false part.
func Bool(name string, value bool) Part {
	return Part{name: name, sort: sortBool, text: strconv.FormatBool(value)}
}

// Missing is a part that was looked for and not found; it makes any id impossible and names itself in the error.
func Missing(name string) Part { return Part{name: name, problem: problemMissing} }

// Unusable is a part that was found but cannot be told, with the problem as a whole phrase ("is given twice").
func Unusable(name, problem string) Part { return Part{name: name, problem: problem} }

// Of is the part for a decoded JSON value: a string, json.Number, bool, or nil for missing. Go integers are
// taken as numbers. Anything else, floating point included, is unusable.
func Of(name string, value any) Part {
	switch v := value.(type) {
	case nil:
		return Missing(name)
	case string:
		return Text(name, v)
	case json.Number:
		return Number(name, string(v))
	case bool:
		return Bool(name, v)
	case int:
		return Number(name, strconv.Itoa(v))
	case int64:
		return Number(name, strconv.FormatInt(v, 10))
	case uint64:
		return Number(name, strconv.FormatUint(v, 10))
	case float32, float64:
		return Unusable(name, problemFloat)
	}
	return Unusable(name, problemStructure)
}

// decimal is the one spelling of a number's exact value: no trailing zeros after the point, no negative zero.
func decimal(literal string) (text, problem string) {
	if len(literal) > NumberBytesMax {
		return "", fmt.Sprintf("is a number longer than %d characters", NumberBytesMax)
	}
	if at := strings.IndexAny(literal, "eE"); at > 0 && literal[at-1] >= '0' && literal[at-1] <= '9' {
		return "", problemExponent
	}
	whole, fraction, pointed := strings.Cut(strings.TrimPrefix(literal, "-"), ".")
	if !digits(whole) || (len(whole) > 1 && whole[0] == '0') || (pointed && !digits(fraction)) {
		return "", problemNotNumber
	}
	text = whole
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		text += "." + fraction
	}
	if strings.HasPrefix(literal, "-") && text != "0" {
		text = "-" + text
	}
	return text, ""
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// Digits is the one spelling of a number that a sender uses as an id. Its error is a *PartError under the name.
func Digits(name, literal string) (string, error) {
	p := Number(name, literal)
	return p.text, p.Err()
}
