package compile

import "holdfast/internal/flow"

// Use is one expression of a flow and what it is used for, so that an event can be made up which the flow accepts.
type Use struct {
	Source string
	When   bool      // it is the trigger's condition
	Key    bool      // it is a part of a business key
	Whole  bool      // it is a whole value: the value's type must be Type
	Type   FieldType // of the content's field; "" where the profile leaves it open
}

// Uses are all expressions of the flow in the file's order.
func (f *Flow) Uses() []Use {
	var out []Use
	if f.when != nil {
		out = append(out, Use{Source: f.when.source, When: true})
	}
	for _, s := range f.stages {
		for _, k := range s.key {
			out = append(out, Use{Source: k.source, Key: true})
		}
		for _, m := range s.content {
			out = append(out, m.value.uses(s.rules[m.name].Type)...)
		}
	}
	return out
}

// uses are those of one value; inside of a list or an object the profile says nothing about types.
func (v value) uses(t FieldType) []Use {
	var out []Use
	for _, p := range v.pieces {
		if p.expression != nil {
			out = append(out, Use{Source: p.expression.source, Whole: v.kind == flow.ValueText && v.whole(), Type: t})
		}
	}
	for _, item := range v.items {
		out = append(out, item.uses("")...)
	}
	for _, m := range v.members {
		out = append(out, m.value.uses("")...)
	}
	return out
}
