package states

import (
	"slices"
	"strings"
)

// template is a compiled Parameters or ResultSelector: exactly one of its parts is set, or none for a constant.
type template struct {
	constant []byte // as JSON
	from     *path
	object   []templateField // by name, as encoded objects are
	array    []*template
}

type templateField struct {
	name  string // as the result has it, without ".$"
	head  []byte // the name as JSON, with its colon
	value *template
}

// compileTemplate compiles a payload template. A part without paths stays one shared constant.
func (p *parser) compileTemplate(at string, v any) *template {
	switch v := v.(type) {
	case map[string]any:
		return p.compileObject(at, v)
	case []any:
		t := &template{array: make([]*template, len(v))}
		constant := true
		for i, item := range v {
			t.array[i] = p.compileTemplate(join(at, i), item)
			constant = constant && t.array[i].isConstant()
		}
		if constant {
			return constantOf(v)
		}
		return t
	}
	return constantOf(v)
}

func (p *parser) compileObject(at string, v map[string]any) *template {
	t := &template{object: make([]templateField, 0, len(v))}
	constant := true
	for _, name := range sortedNames(v) {
		value, fromPath := v[name], false
		plain, ok := strings.CutSuffix(name, ".$")
		f := templateField{name: plain, head: append(appendText(nil, plain), ':')}
		if ok {
			fromPath = true
			if _, both := v[plain]; both {
				p.fail(join(at, name), "the same field is given with and without .$")
			}
			f.value = &template{from: p.path(join(at, name), value)}
		} else {
			f.value = p.compileTemplate(join(at, name), value)
		}
		constant = constant && !fromPath && f.value.isConstant()
		t.object = append(t.object, f)
	}
	if constant {
		return constantOf(v)
	}
	slices.SortFunc(t.object, func(a, b templateField) int { return strings.Compare(a.name, b.name) })
	return t
}

func constantOf(v any) *template { return &template{constant: encode(v)} }

func (t *template) isConstant() bool { return t.from == nil && t.object == nil && t.array == nil }

// each calls visit with every path in t.
func (t *template) each(visit func(*path)) {
	if t == nil {
		return
	}
	if t.from != nil {
		visit(t.from)
	}
	for _, f := range t.object {
		f.value.each(visit)
	}
	for _, item := range t.array {
		item.each(visit)
	}
}

// fill appends the template's value as JSON to b, or returns the fault of the first path that names nothing.
func (t *template) fill(b []byte, e *scope, field string) ([]byte, *fault) {
	switch {
	case t.from != nil:
		v, bad := e.look(t.from, field+".$")
		if bad != nil {
			return nil, bad
		}
		return appendJSON(b, v), nil
	case t.object != nil:
		b = append(b, '{')
		for i, f := range t.object {
			b = append(separated(b, i), f.head...)
			var bad *fault
			if b, bad = f.value.fill(b, e, f.name); bad != nil {
				return nil, bad
			}
		}
		return append(b, '}'), nil
	case t.array != nil:
		b = append(b, '[')
		for i, item := range t.array {
			var bad *fault
			if b, bad = item.fill(separated(b, i), e, field); bad != nil {
				return nil, bad
			}
		}
		return append(b, ']'), nil
	}
	return append(b, t.constant...), nil
}

// separated appends the comma that stands before every item but the first.
func separated(b []byte, i int) []byte {
	if i == 0 {
		return b
	}
	return append(b, ',')
}
