package simtarget

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// scope is what an expression can see.
type scope struct {
	x       *exchange
	item    any
	rec     *record
	isNew   bool
	now     time.Time
	request func() string // the id of this request, made when it is first asked for
	results []any
	next    any
	total   int
}

// node is a template made ready at load, so that a request parses nothing.
type node interface {
	// eval yields a value of its own, or nothing; the scope and what it shows are not changed.
	eval(s *scope) (v any, ok bool)
	// write appends what eval yields as JSON, or nothing.
	write(out []byte, s *scope) ([]byte, bool)
}

type (
	constant struct { // a scalar
		v   any
		raw []byte
	}
	joined  []node  // a text with expressions in it
	fields  []field // a mapping, by name
	list    []node
	word    string // one of exprWords
	named   struct{ space, name string }
	pointed struct {
		space string
		steps []string // nil: the whole
	}
)

type field struct {
	name string
	raw  []byte // name as JSON and its colon
	node node
}

// compile makes a tree of decoded YAML ready. Its expressions were checked.
func compile(tree any) node {
	switch v := tree.(type) {
	case string:
		return compileText(v)
	case map[string]any:
		out := fields{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, field{name, append(appendText(nil, name), ':'), compile(v[name])})
		}
		return out
	case []any:
		out := list{}
		for _, sub := range v {
			out = append(out, compile(sub))
		}
		return out
	default:
		return constantOf(v)
	}
}

func constantOf(v any) constant { return constant{v, appendJSON(nil, v)} }

func compileText(text string) node {
	if strings.HasPrefix(text, "${") && strings.Index(text, "}") == len(text)-1 {
		return compileExpr(text[2 : len(text)-1])
	}
	var parts joined
	for {
		before, after, found := strings.Cut(text, "${")
		if !found {
			if parts == nil {
				return constantOf(text)
			}
			return append(parts, constantOf(text))
		}
		expr, tail, _ := strings.Cut(after, "}")
		parts = append(parts, constantOf(before), compileExpr(expr))
		text = tail
	}
}

func compileExpr(expr string) node {
	space, name, spaced := strings.Cut(expr, ":")
	switch {
	case !spaced:
		return word(expr)
	case space == "header" || space == "query" || space == "path":
		return named{space, name}
	case name == "/":
		return pointed{space, nil}
	}
	return pointed{space, stepsOf(name)}
}

// value evaluates the template; ok is false when it yields nothing.
func (t Template) value(s *scope) (v any, ok bool) {
	if t.node == nil {
		return nil, true
	}
	return t.node.eval(s)
}

// text evaluates the template to a text; nothing yields "".
func (t Template) text(s *scope) string {
	v, _ := t.value(s)
	return textOf(v)
}

// document evaluates the template to a mapping whose names the caller may change; what is no mapping yields an empty one.
func (t Template) document(s *scope) map[string]any {
	v, _ := t.value(s)
	doc, _ := v.(map[string]any)
	if _, made := t.node.(fields); made && doc != nil {
		return doc
	}
	own := make(map[string]any, len(doc))
	maps.Copy(own, doc)
	return own
}

func (n constant) eval(*scope) (any, bool) { return n.v, true }

func (n joined) eval(s *scope) (any, bool) {
	var out strings.Builder
	for _, part := range n {
		v, _ := part.eval(s)
		out.WriteString(textOf(v))
	}
	return out.String(), true
}

func (n fields) eval(s *scope) (any, bool) {
	out := make(map[string]any, len(n))
	for _, f := range n {
		if got, ok := f.node.eval(s); ok {
			out[f.name] = got
		}
	}
	return out, len(out) > 0 || len(n) == 0
}

func (n list) eval(s *scope) (any, bool) {
	out := make([]any, 0, len(n))
	for _, sub := range n {
		if got, ok := sub.eval(s); ok {
			out = append(out, got)
		}
	}
	return out, true
}

func (n named) eval(s *scope) (any, bool) {
	switch n.space {
	case "header":
		v := s.x.header.Get(n.name)
		return v, v != ""
	case "query":
		return s.x.query.Get(n.name), s.x.query.Has(n.name)
	}
	v, ok := s.x.param(n.name)
	return v, ok
}

func (n pointed) eval(s *scope) (any, bool) {
	var doc any
	switch {
	case n.space == "body":
		doc = s.x.json
	case n.space == "item":
		doc = s.item
	case n.space == "arg":
		doc = s.x.args
	case s.rec == nil:
		return nil, false
	default:
		doc = s.rec.doc
	}
	if n.steps == nil {
		return doc, doc != nil
	}
	return descend(doc, n.steps)
}

func (n word) eval(s *scope) (any, bool) {
	switch n {
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
		return s.now.Format(timeShape), true
	case "request_id":
		return s.request(), true
	case "results":
		return s.results, true
	case "more":
		return s.next != nil, true
	case "total":
		return s.total, true
	}
	return s.next, s.next != nil
}
