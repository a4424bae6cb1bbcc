package flow

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"holdfast/internal/operation"
)

var stageShape = shape{
	what:     "a stage",
	known:    []string{"name", "key", "target", "after", "on_failed", "content"},
	required: []string{"name", "key", "target", "content"},
}

func (r *reader) stage(n *yaml.Node) Stage {
	f := r.fields(n, stageShape)
	s := Stage{Name: r.stageName(f["name"], "`name`"), Target: r.name(f["target"], "`target`"), At: at(n), OnFailed: operation.OnFailedStop}
	for _, k := range r.list(f["key"], "`key`", KeyPartsMax) {
		if t, ok := r.text(k, "a part of `key`", ExpressionBytesMax); ok {
			s.Key = append(s.Key, t)
			r.personal(t)
		}
	}
	if c := f["on_failed"]; c != nil {
		s.OnFailed = operation.OnFailed(r.choice(c, "`on_failed`",
			string(operation.OnFailedStop), string(operation.OnFailedHold), string(operation.OnFailedContinue)))
	}
	r.after(f["after"], &s)
	if c := f["target"]; c != nil {
		s.TargetAt = at(c)
	}
	r.content(f["content"], &s)
	return s
}

var afterShape = shape{what: "`after`", known: []string{"stage", "when"}, required: []string{"stage", "when"}}

// after is a stage's name, or { stage: NAME, when: confirmed | settled }.
func (r *reader) after(n *yaml.Node, s *Stage) {
	if n == nil {
		return
	}
	s.AfterAt = at(n)
	if n.Kind != yaml.MappingNode {
		s.After = r.stageName(n, "`after`")
		return
	}
	f := r.fields(n, afterShape)
	s.After = r.stageName(f["stage"], "`stage` of `after`")
	s.AfterSettled = r.choice(f["when"], "`when` of `after`", "confirmed", "settled") == "settled"
}

func (r *reader) content(n *yaml.Node, s *Stage) {
	if n == nil {
		return
	}
	s.ContentAt = at(n)
	if n.Kind != yaml.MappingNode {
		r.fail(at(n), "`content` must be a mapping of field names to values")
		return
	}
	s.Content = r.members(n, 1)
}

func (r *reader) members(n *yaml.Node, depth int) []Member {
	if len(n.Content)/2 > ContentItemsMax {
		r.fail(at(n), "the mapping has more than %d members", ContentItemsMax)
		return nil
	}
	var out []Member
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		name, ok := r.text(k, "a field name in `content`", NameBytesMax*2)
		if ok && seen[name.Value] {
			r.fail(at(k), "`content` gives `%s` twice", name.Value)
		}
		seen[name.Value] = true
		out = append(out, Member{Name: name.Value, At: at(k), Value: r.value(n.Content[i+1], depth+1)})
	}
	return out
}

var numberForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// numberBytesMax bounds a number literal in a file, in bytes.
const numberBytesMax = 64

func (r *reader) value(n *yaml.Node, depth int) Value {
	if depth > ContentDepthMax {
		r.fail(at(n), "`content` goes deeper than %d levels", ContentDepthMax)
		return Value{}
	}
	switch n.Kind {
	case yaml.MappingNode:
		return Value{Kind: ValueObject, Members: r.members(n, depth), Text: Text{At: at(n)}}
	case yaml.SequenceNode:
		return r.values(n, depth)
	}
	t := textOf(n)
	switch n.Tag {
	case "!!str":
		return r.template(n, t)
	case "!!bool":
		t.Value = strings.ToLower(t.Value)
		return Value{Kind: ValueBool, Text: t}
	case "!!int", "!!float":
		if !numberForm.MatchString(n.Value) || len(n.Value) > numberBytesMax {
			r.fail(at(n), "%s is not a number as JSON writes it, with plain digits; quote it if it is text", n.Value)
		}
		return Value{Kind: ValueNumber, Text: t}
	}
	r.fail(at(n), "`content` values are text, numbers, true, false, lists or mappings; leave out what is empty, and quote dates")
	return Value{}
}

func (r *reader) values(n *yaml.Node, depth int) Value {
	v := Value{Kind: ValueList, Text: Text{At: at(n)}}
	if len(n.Content) > ContentItemsMax {
		r.fail(at(n), "the list has more than %d items", ContentItemsMax)
		return v
	}
	for _, c := range n.Content {
		v.Items = append(v.Items, r.value(c, depth+1))
	}
	return v
}

func (r *reader) template(n *yaml.Node, t Text) Value {
	if len(t.Value) > TextBytesMax {
		r.fail(at(n), "the text is longer than %d bytes", TextBytesMax)
	}
	return Value{Kind: ValueText, Text: t}
}

// Number is the literal of a number value.
func (v Value) Number() json.Number { return json.Number(v.Text.Value) }

var segmentForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// FieldPath splits a dotted path such as body.properties.email into the names below body.
func FieldPath(text string) ([]string, error) {
	parts := strings.Split(text, ".")
	if parts[0] != "body" || len(parts) < 2 {
		return nil, fmt.Errorf("`field` %q is not a path in the body; write it as body.name or body.outer.inner", text)
	}
	for _, p := range parts[1:] {
		if !segmentForm.MatchString(p) {
			return nil, fmt.Errorf("`field` %q is not a path in the body: %q is not a field name", text, p)
		}
	}
	return parts[1:], nil
}
