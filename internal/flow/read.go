package flow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"holdfast/internal/operation"
	"holdfast/internal/syntax"
)

// reader walks the nodes of one file and collects every mistake.
type reader struct {
	path     string
	findings Findings
}

func at(n *yaml.Node) Position { return Position{Line: n.Line, Column: n.Column} }

func (r *reader) add(p Position, s Severity, allowed []string, format string, args ...any) {
	r.findings = append(r.findings, Finding{
		File: r.path, Line: p.Line, Column: p.Column, Severity: s,
		Message: fmt.Sprintf(format, args...), Allowed: allowed,
	})
}

func (r *reader) fail(p Position, format string, args ...any) {
	r.add(p, SeverityError, nil, format, args...)
}

func (r *reader) warn(p Position, format string, args ...any) {
	r.add(p, SeverityWarning, nil, format, args...)
}

// document reads the file's single YAML document; nil when there is none to go on with.
func (r *reader) document(data []byte) *yaml.Node {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		r.syntax(data, err)
		return nil
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		r.fail(Position{Line: max(more.Line, 1), Column: 1}, "a flow file holds one flow; put each further one in a file of its own")
		return nil
	}
	root := doc.Content[0]
	if !r.plain(root, 0) {
		return nil
	}
	return root
}

func (r *reader) syntax(data []byte, err error) {
	if errors.Is(err, io.EOF) {
		r.fail(Position{Line: 1, Column: 1}, "the file is empty; a flow begins with its name, such as `flow: campaign-follow-up`")
		return
	}
	line, message := syntax.Fault(data, err)
	r.fail(Position{Line: line, Column: 1}, "this is not YAML: %s", message)
}

// nodeDepthMax is how deep a file's lists and mappings may go in all.
const nodeDepthMax = ContentDepthMax + 8

// plain refuses what makes a file hard to read or to bound: anchors, aliases, own tags, and depth.
func (r *reader) plain(n *yaml.Node, depth int) bool {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.fail(at(n), "anchors and aliases are not used in flow files; write the value out")
		return false
	case n.Style&yaml.TaggedStyle != 0:
		r.fail(at(n), "the tag %s is not used in flow files; write the value without it", n.Tag)
		return false
	case depth > nodeDepthMax:
		r.fail(at(n), "lists and mappings go deeper than %d levels", nodeDepthMax)
		return false
	}
	for _, c := range n.Content {
		if !r.plain(c, depth+1) {
			return false
		}
	}
	return true
}

// shape is what a mapping may and must have.
type shape struct {
	what     string
	known    []string
	required []string
}

// fields are the mapping's values by name; unknown and repeated names are mistakes.
func (r *reader) fields(n *yaml.Node, s shape) map[string]*yaml.Node {
	if n.Kind != yaml.MappingNode {
		r.add(at(n), SeverityError, s.known, "%s must be a mapping", s.what)
		return nil
	}
	out := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		switch {
		case !slices.Contains(s.known, k.Value) || k.Kind != yaml.ScalarNode:
			r.add(at(k), SeverityError, s.known, "%s has no field %q", s.what, k.Value)
		case out[k.Value] != nil:
			r.fail(at(k), "%s gives `%s` twice", s.what, k.Value)
		default:
			out[k.Value] = n.Content[i+1]
		}
	}
	for _, name := range s.required {
		if out[name] == nil {
			r.fail(at(n), "%s needs `%s`", s.what, name)
		}
	}
	return out
}

// text is a scalar that YAML reads as a string.
func (r *reader) text(n *yaml.Node, what string, bytesMax int) (Text, bool) {
	if n == nil {
		return Text{}, false
	}
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag != "!!str":
		r.fail(at(n), "%s must be text; quote it if it looks like something else", what)
	case strings.TrimSpace(n.Value) == "":
		r.fail(at(n), "%s is blank", what)
	case len(n.Value) > bytesMax:
		r.fail(at(n), "%s is longer than %d bytes", what, bytesMax)
	default:
		return textOf(n), true
	}
	return Text{}, false
}

// textOf knows where the characters stand when the file shows them one by one on one line.
func textOf(n *yaml.Node) Text {
	t := Text{Value: n.Value, At: at(n)}
	switch n.Style {
	case 0:
		t.Exact = !strings.Contains(n.Value, "\n")
	case yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle:
		t.Exact = !strings.ContainsAny(n.Value, "'\"\\\n\t")
		t.At.Column++
	}
	return t
}

var (
	nameForm   = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
	stageForm  = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	topicForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:-]*$`)
	personForm = regexp.MustCompile(`^[^@\s<>,;"]+@[^@\s<>,;"]+\.[^@\s<>,;"]+$`)
)

func (r *reader) name(n *yaml.Node, what string) string {
	t, ok := r.text(n, what, NameBytesMax)
	if ok && !nameForm.MatchString(t.Value) {
		r.fail(at(n), "%s %q is not a name; a name has small letters, digits, - and _, and begins with a letter", what, t.Value)
		return ""
	}
	return t.Value
}

// stageName has no `-`: it stands in expressions, which would take that for a minus.
func (r *reader) stageName(n *yaml.Node, what string) string {
	t, ok := r.text(n, what, NameBytesMax)
	switch {
	case !ok:
		return ""
	case !stageForm.MatchString(t.Value):
		r.fail(at(n), "%s %q is not a stage's name; it has small letters, digits and _, and begins with a letter", what, t.Value)
		return ""
	case t.Value == "body" || t.Value == "event":
		r.fail(at(n), "%s cannot be %q: expressions use that word for the event's data", what, t.Value)
		return ""
	}
	return t.Value
}

func (r *reader) person(n *yaml.Node, what string) operation.Person {
	t, ok := r.text(n, what, maxPersonBytes)
	if ok && !personForm.MatchString(t.Value) {
		r.fail(at(n), "%s must be an e-mail address, such as ops-lead@example.com, and %q is none", what, t.Value)
		return ""
	}
	return operation.Person(t.Value)
}

// maxPersonBytes is the longest e-mail address, in bytes (RFC 5321).
const maxPersonBytes = 254

func (r *reader) persons(n *yaml.Node, what string) []operation.Person {
	var out []operation.Person
	for _, c := range r.list(n, what, PersonsMax) {
		p := r.person(c, "a person in "+what)
		if p != "" && slices.Contains(out, p) {
			r.fail(at(c), "%s names %s twice", what, p)
		}
		out = append(out, p)
	}
	return out
}

// list is a list with at least one item and at most itemsMax.
func (r *reader) list(n *yaml.Node, what string, itemsMax int) []*yaml.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind != yaml.SequenceNode:
		r.fail(at(n), "%s must be a list", what)
	case len(n.Content) == 0:
		r.fail(at(n), "%s is empty; it needs at least one", what)
	case len(n.Content) > itemsMax:
		r.fail(at(n), "%s has %d items; at most %d are possible", what, len(n.Content), itemsMax)
	default:
		return n.Content
	}
	return nil
}

func (r *reader) duration(n *yaml.Node, what string) Duration {
	t, ok := r.text(n, what, NameBytesMax)
	if !ok {
		return 0
	}
	d, err := ParseDuration(t.Value)
	if err != nil {
		r.fail(at(n), "%s: %s", what, err)
	}
	return d
}

// choice is one of a few words.
func (r *reader) choice(n *yaml.Node, what string, allowed ...string) string {
	t, ok := r.text(n, what, NameBytesMax)
	if ok && !slices.Contains(allowed, t.Value) {
		r.add(at(n), SeverityError, allowed, "%s cannot be %q", what, t.Value)
		return ""
	}
	return t.Value
}
