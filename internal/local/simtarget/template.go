package simtarget

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Template is a tree of YAML values whose texts may hold ${…} expressions. A text that is one expression keeps
// the type of what it yields; an expression that yields nothing leaves its field out, and so does a mapping of which nothing is left.
type Template struct{ tree any }

var (
	exprSpaces = []string{"header", "query", "path", "body", "item", "arg", "record"}
	exprWords  = []string{"id", "new", "created", "now", "request_id", "results", "next", "more", "total"}
)

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *Template) UnmarshalYAML(n *yaml.Node) error {
	if err := checkExprs(n); err != nil {
		return err
	}
	return n.Decode(&t.tree)
}

func checkExprs(n *yaml.Node) error {
	for _, child := range n.Content {
		if err := checkExprs(child); err != nil {
			return err
		}
	}
	if n.Kind != yaml.ScalarNode {
		return nil
	}
	rest := n.Value
	for {
		_, after, found := strings.Cut(rest, "${")
		if !found {
			return nil
		}
		expr, tail, closed := strings.Cut(after, "}")
		if !closed || !exprKnown(expr) {
			return atLine(n, fmt.Sprintf("unknown expression ${%s}; allowed: %s, and %s followed by : and a name or pointer", expr,
				strings.Join(exprWords, ", "), strings.Join(exprSpaces, ", ")))
		}
		rest = tail
	}
}

func exprKnown(expr string) bool {
	space, name, spaced := strings.Cut(expr, ":")
	if !spaced {
		return slices.Contains(exprWords, expr)
	}
	return name != "" && slices.Contains(exprSpaces, space)
}

// scope is what an expression can see.
type scope struct {
	x       *exchange
	item    any
	rec     *record
	isNew   bool
	now     string
	request string
	results []any
	next    any
	total   int
}

// value evaluates the template; ok is false when it yields nothing.
func (t Template) value(s scope) (v any, ok bool) { return evalTree(t.tree, s) }

// text evaluates the template to a text; nothing yields "".
func (t Template) text(s scope) string {
	v, _ := t.value(s)
	return textOf(v)
}

func evalTree(tree any, s scope) (any, bool) {
	switch v := tree.(type) {
	case string:
		return evalText(v, s)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, sub := range v {
			if got, ok := evalTree(sub, s); ok {
				out[name] = got
			}
		}
		return out, len(out) > 0 || len(v) == 0
	case []any:
		out := make([]any, 0, len(v))
		for _, sub := range v {
			if got, ok := evalTree(sub, s); ok {
				out = append(out, got)
			}
		}
		return out, true
	default:
		return v, true
	}
}

func evalText(text string, s scope) (any, bool) {
	if strings.HasPrefix(text, "${") && strings.Index(text, "}") == len(text)-1 {
		return s.resolve(text[2 : len(text)-1])
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		out.WriteString(before)
		if !found {
			return out.String(), true
		}
		expr, tail, _ := strings.Cut(after, "}")
		v, _ := s.resolve(expr)
		out.WriteString(textOf(v))
		text = tail
	}
}

func (s scope) resolve(expr string) (any, bool) {
	space, name, spaced := strings.Cut(expr, ":")
	if !spaced {
		return s.word(expr)
	}
	switch space {
	case "header":
		v := s.x.header.Get(name)
		return v, v != ""
	case "query":
		return s.x.query.Get(name), s.x.query.Has(name)
	case "path":
		v, ok := s.x.params[name]
		return v, ok
	case "body":
		return pointer(s.x.json, name)
	case "item":
		return pointer(s.item, name)
	case "arg":
		return pointer(s.x.args, name)
	}
	if s.rec == nil {
		return nil, false
	}
	return pointer(s.rec.doc, name)
}

func (s scope) word(word string) (any, bool) {
	switch word {
	case "id":
		if s.rec == nil {
			return nil, false
		}
		return s.rec.id, true
	case "new":
		return s.isNew, true
	case "created":
		if s.rec == nil {
			return nil, false
		}
		return s.rec.at.UTC().Format(timeShape), true
	case "now":
		return s.now, true
	case "request_id":
		return s.request, true
	case "results":
		return s.results, true
	case "more":
		return s.next != nil, true
	case "total":
		return s.total, true
	}
	return s.next, s.next != nil
}

// textOf writes a scalar as text; anything else as JSON.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	raw, _ := json.Marshal(v) // decoded JSON always encodes
	return string(raw)
}

// pointer reads an RFC 6901 pointer.
func pointer(doc any, at string) (any, bool) {
	if at == "" || at == "/" {
		return doc, doc != nil
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(at, "/"), "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v := doc.(type) {
		case map[string]any:
			sub, ok := v[step]
			if !ok {
				return nil, false
			}
			doc = sub
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			doc = v[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

// setPointer writes a value, making the mappings on the way.
func setPointer(doc map[string]any, at string, value any) {
	steps := strings.Split(strings.TrimPrefix(at, "/"), "/")
	for _, step := range steps[:len(steps)-1] {
		sub, ok := doc[step].(map[string]any)
		if !ok {
			sub = map[string]any{}
			doc[step] = sub
		}
		doc = sub
	}
	doc[steps[len(steps)-1]] = value
}
