package target

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"holdfast/internal/operation"
)

// Answer is what came back for one request.
type Answer struct {
	Status   int // zero: no answer
	Header   http.Header
	Body     []byte
	Complete bool // the whole body was read; an answer that was cut off proves nothing
}

// parsed is an answer with its body read once.
type parsed struct {
	Answer
	tree any // nil when the body is not JSON
}

// parse reads the body as JSON. A body with two members of one name, or with bytes that are not UTF-8, could be
// read in two ways, so that it is not read at all.
func (a Answer) parse() parsed {
	p := parsed{Answer: a}
	if !jsontext.Value(a.Body).IsValid() {
		return p
	}
	d := json.NewDecoder(bytes.NewReader(a.Body))
	d.UseNumber() // ids keep every digit
	if err := d.Decode(&p.tree); err != nil {
		p.tree = nil
	}
	return p
}

// pointer is a JSON Pointer (RFC 6901); "" is unset.
type pointer string

// at gives the value under a pointer; nil when there is none, or when it is null.
func (p pointer) at(tree any) any {
	for token := range strings.SplitSeq(string(p[1:]), "/") {
		switch v := tree.(type) {
		case map[string]any:
			tree = v[unescape.Replace(token)]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			tree = v[i]
		default:
			return nil
		}
	}
	return tree
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// scalar gives a text, number or truth value as text.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return string(v), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// statuses is a set of HTTP statuses: single ones and whole classes (5 means 500 to 599).
type statuses struct {
	codes   []int
	classes []int
}

func (s statuses) has(status int) bool {
	return slices.Contains(s.codes, status) || slices.Contains(s.classes, status/100)
}

func (c Condition) holds(a parsed, op string) bool {
	v, there := c.value(a)
	if c.Exists != nil {
		return there == *c.Exists
	}
	for _, want := range c.Equals {
		if want == "${operation}" {
			want = op
		}
		if there && v == want {
			return true
		}
	}
	return false
}

// value gives the scalar's text and whether there is anything at all; a list or object is there without a text.
func (c Condition) value(a parsed) (string, bool) {
	if c.Header != "" {
		list := a.Header.Values(c.Header)
		if len(list) != 1 {
			return "", len(list) > 0
		}
		return list[0], true
	}
	v := c.JSON.at(a.tree)
	s, _ := scalar(v)
	return s, v != nil
}

func allHold(list []Condition, a parsed, op string) bool {
	return !slices.ContainsFunc(list, func(c Condition) bool { return !c.holds(a, op) })
}

// extract joins the scalars at the given places with ":"; "" when one is missing or cannot be kept.
func extract(places []pointer, tree any) operation.Reference {
	var out []string
	for _, p := range places {
		s, ok := scalar(p.at(tree))
		if !ok || s == "" {
			return ""
		}
		out = append(out, s)
	}
	ref := operation.Reference(strings.Join(out, ":"))
	if CheckReference(ref) != nil {
		return ""
	}
	return ref
}
