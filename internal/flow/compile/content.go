package compile

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"

	"holdfast/internal/flow"
)

// value is a compiled value of a content.
type value struct {
	kind    flow.ValueKind
	at      flow.Position
	pieces  []compiledPiece // of a text
	literal any             // of a number or a bool
	items   []value
	members []member
	broken  bool // already complained about
}

type member struct {
	name  string
	value value
}

type compiledPiece struct {
	literal    string
	expression *expression
	hole       string
}

// whole says that the text is one expression, whose value keeps its type.
func (v value) whole() bool { return len(v.pieces) == 1 && v.pieces[0].expression != nil }

// fixed is the text when it has no expression and no hole.
func (v value) fixed() (string, bool) {
	switch {
	case v.kind != flow.ValueText:
		return "", false
	case len(v.pieces) == 0:
		return "", true
	}
	return v.pieces[0].literal, len(v.pieces) == 1 && v.pieces[0].expression == nil && v.pieces[0].hole == ""
}

func (c *compiler) members(s flow.Stage, members []flow.Member) []member {
	var out []member
	for _, m := range members {
		out = append(out, member{name: m.Name, value: c.value(s, m.Value)})
	}
	return out
}

func (c *compiler) value(s flow.Stage, v flow.Value) value {
	out := value{kind: v.Kind, at: v.Text.At}
	switch v.Kind {
	case flow.ValueText:
		before := len(c.findings)
		out.pieces = c.pieces(s, v.Text)
		out.broken = len(c.findings) > before
	case flow.ValueNumber:
		out.literal = v.Number()
	case flow.ValueBool:
		out.literal = v.Text.Value == "true"
	case flow.ValueList:
		for _, item := range v.Items {
			out.items = append(out.items, c.value(s, item))
		}
	case flow.ValueObject:
		out.members = c.members(s, v.Members)
	}
	return out
}

func (c *compiler) pieces(s flow.Stage, text flow.Text) []compiledPiece {
	raw, err := split(text.Value)
	var mistake *templateError
	if errors.As(err, &mistake) {
		c.fail(text.Within(mistake.offset), nil, "%s", mistake.problem)
		return nil
	}
	out := make([]compiledPiece, 0, len(raw))
	for _, p := range raw {
		done := compiledPiece{literal: p.literal, hole: p.hole}
		switch {
		case p.hole != "":
			c.hole(s, text.Within(p.offset), p.hole)
		case p.source != "":
			done.expression = c.expression(text, p.offset, p.source, "`content`", c.referable(s))
		}
		out = append(out, done)
	}
	return out
}

func (c *compiler) hole(s flow.Stage, at flow.Position, name string) {
	if _, ok := c.file.Stage(name); !ok {
		c.fail(at, c.referable(s), "there is no stage %s whose reference could be used", name)
		return
	}
	if ok, problem := c.file.Referable(s.Name, name); !ok {
		c.fail(at, c.referable(s), "stage %s cannot use the reference of %s: %s", s.Name, name, problem)
	}
}

func (c *compiler) referable(s flow.Stage) []string {
	var out []string
	for _, name := range c.file.StageNames() {
		if ok, _ := c.file.Referable(s.Name, name); ok {
			out = append(out, "${"+name+".reference}")
		}
	}
	return out
}

// fields holds the content against the profile, as far as it can be told without an event.
func (c *compiler) fields(s flow.Stage, compiled stage) {
	names := slices.Sorted(maps.Keys(compiled.rules))
	given := map[string]bool{}
	for i, m := range s.Content {
		given[m.Name] = true
		rule, ok := compiled.rules[m.Name]
		if !ok {
			c.fail(m.At, names, "target %s has no field %q", s.Target, m.Name)
			continue
		}
		c.field(m, rule, compiled.content[i].value)
	}
	for _, name := range names {
		if compiled.rules[name].Required && !given[name] {
			c.fail(s.ContentAt, nil, "target %s needs the field `%s`", s.Target, name)
		}
	}
}

func (c *compiler) field(m flow.Member, rule FieldRule, v value) {
	at := m.Value.Text.At
	if v.broken {
		return
	}
	if possible := v.possible(); !slices.Contains(possible, rule.Type) {
		c.fail(at, []string{string(rule.Type)}, "the field `%s` cannot be %s", m.Name, possible[0])
		return
	}
	text, ok := v.fixed()
	switch {
	case ok && rule.Required && blank(text):
		c.fail(at, nil, "the field `%s` is blank", m.Name)
	case ok && rule.Max > 0 && len(text) > rule.Max:
		c.fail(at, nil, "the field `%s` has %d bytes; at most %d are possible", m.Name, len(text), rule.Max)
	case rule.Max > 0 && len(v.items) > rule.Max:
		c.fail(at, nil, "the field `%s` has %d items; at most %d are possible", m.Name, len(v.items), rule.Max)
	}
}

var anyType = []FieldType{FieldString, FieldInteger, FieldNumber, FieldBoolean, FieldStrings, FieldObject}

// typeList is how a list is called that holds more than strings; no profile allows one by itself.
const typeList FieldType = "list"

// possible are the types that the value may turn out to have, as far as it can be told without an event.
func (v value) possible() []FieldType {
	switch {
	case v.whole():
		return v.pieces[0].expression.possible()
	case v.kind == flow.ValueText:
		return []FieldType{FieldString}
	case v.kind == flow.ValueObject:
		return []FieldType{FieldObject}
	case v.kind == flow.ValueList && v.ofStrings():
		return []FieldType{FieldStrings}
	case v.kind == flow.ValueList:
		return []FieldType{typeList}
	}
	return typesOf(v.literal)
}

func (v value) ofStrings() bool {
	for _, item := range v.items {
		if !slices.Contains(item.possible(), FieldString) {
			return false
		}
	}
	return true
}

func (e *expression) possible() []FieldType {
	switch e.out.Kind() {
	case cel.StringKind, cel.TimestampKind:
		return []FieldType{FieldString}
	case cel.IntKind, cel.UintKind:
		return []FieldType{FieldInteger, FieldNumber}
	case cel.BoolKind:
		return []FieldType{FieldBoolean}
	case cel.ListKind:
		return []FieldType{FieldStrings}
	case cel.MapKind:
		return []FieldType{FieldObject}
	}
	return anyType
}

// typesOf are the types that a rendered value has; an integer is a number too.
func typesOf(v any) []FieldType {
	switch x := v.(type) {
	case string:
		return []FieldType{FieldString}
	case json.Number:
		if strings.Contains(string(x), ".") {
			return []FieldType{FieldNumber}
		}
		return []FieldType{FieldInteger, FieldNumber}
	case bool:
		return []FieldType{FieldBoolean}
	case []any:
		for _, item := range x {
			if _, ok := item.(string); !ok {
				return []FieldType{typeList}
			}
		}
		return []FieldType{FieldStrings}
	}
	return []FieldType{FieldObject}
}
