package states

import (
	"strings"
)

// template is a compiled Parameters or ResultSelector: exactly one of its parts is set, or none for a constant.
type template struct {
	constant any
	from     *path
	object   []templateField
	array    []*template
}

type templateField struct {
	name  string // as the result has it, without ".$"
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
			return &template{constant: v}
		}
		return t
	}
	return &template{constant: v}
}

func (p *parser) compileObject(at string, v map[string]any) *template {
	t := &template{object: make([]templateField, 0, len(v))}
	constant := true
	for _, name := range sortedNames(v) {
		value, fromPath := v[name], false
		plain, ok := strings.CutSuffix(name, ".$")
		f := templateField{name: plain}
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
		return &template{constant: v}
	}
	return t
}

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

// fill returns the template's value, or the fault of the first path that names nothing.
func (t *template) fill(e *scope, field string) (any, *fault) {
	switch {
	case t.from != nil:
		return e.look(t.from, field+".$")
	case t.object != nil:
		out := make(map[string]any, len(t.object))
		for _, f := range t.object {
			v, bad := f.value.fill(e, f.name)
			if bad != nil {
				return nil, bad
			}
			out[f.name] = v
		}
		return out, nil
	case t.array != nil:
		out := make([]any, len(t.array))
		for i, item := range t.array {
			v, bad := item.fill(e, field)
			if bad != nil {
				return nil, bad
			}
			out[i] = v
		}
		return out, nil
	}
	return t.constant, nil
}
