package flow

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

var flowShape = shape{
	what:     "the flow",
	known:    []string{"flow", "version", "owner", "account", "trigger", "require", "approval", "send_within", "escalate", "stages"},
	required: []string{"flow", "version", "owner", "trigger", "approval", "send_within", "stages"},
}

// Parse reads one flow file. The file is usable when the findings hold no error; warnings may remain. path is
// used in messages only.
func Parse(path string, data []byte) (File, Findings) {
	r := &reader{path: path}
	file := File{Path: path}
	if len(data) > FileBytesMax {
		r.fail(Position{Line: 1, Column: 1}, "the file is longer than %d bytes; make it shorter or split the flow", FileBytesMax)
		return file, r.findings
	}
	root := r.document(data)
	if root == nil {
		return file, r.findings
	}
	file.At = at(root)
	r.flow(root, &file)
	if r.findings.Err() == nil {
		r.check(&file)
	}
	r.findings.Sort()
	return file, r.findings
}

func (r *reader) flow(root *yaml.Node, file *File) {
	f := r.fields(root, flowShape)
	file.Name = r.name(f["flow"], "`flow`")
	file.Version = r.version(f["version"])
	file.Owner = r.person(f["owner"], "`owner`")
	if n := f["account"]; n != nil {
		t, _ := r.text(n, "`account`", NameBytesMax*2)
		file.Account = t.Value
	}
	if n := f["trigger"]; n != nil {
		file.Trigger = r.trigger(n)
	}
	if n := f["approval"]; n != nil {
		file.Approval = r.approval(n)
	}
	file.SendWithin = r.duration(f["send_within"], "`send_within`")
	file.Escalate = r.persons(f["escalate"], "`escalate`")
	for _, n := range r.list(f["require"], "`require`", RequireMax) {
		file.Require = append(file.Require, r.require(n))
	}
	for _, n := range r.list(f["stages"], "`stages`", StagesMax) {
		file.Stages = append(file.Stages, r.stage(n))
	}
}

// versionMax keeps versions readable; nobody counts further.
const versionMax = 1_000_000

func (r *reader) version(n *yaml.Node) int {
	if n == nil {
		return 0
	}
	v, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil || v < 1 || v > versionMax {
		r.fail(at(n), "`version` must be a whole number from 1 to %d; raise it by one with every change", versionMax)
	}
	return v
}

var triggerShape = shape{
	what:     "`trigger`",
	known:    []string{"source", "topic", "when"},
	required: []string{"source", "topic"},
}

func (r *reader) trigger(n *yaml.Node) Trigger {
	f := r.fields(n, triggerShape)
	t := Trigger{Source: r.name(f["source"], "`source`"), Topics: r.topics(f["topic"])}
	if n := f["source"]; n != nil {
		t.SourceAt = at(n)
	}
	if when := f["when"]; when != nil {
		t.When, _ = r.text(when, "`when`", ExpressionBytesMax)
	}
	return t
}

// topics is one topic or a list of them: events of several topics that mean the same business operation belong
// to one flow, because the flow's name is part of the operation's identity.
func (r *reader) topics(n *yaml.Node) []string {
	if n == nil {
		return nil
	}
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = r.list(n, "`topic`", TopicsMax)
	}
	var out []string
	seen := map[string]bool{}
	for _, c := range nodes {
		t, ok := r.text(c, "`topic`", TopicBytesMax)
		switch {
		case ok && !topicForm.MatchString(t.Value):
			r.fail(at(c), "`topic` %q is not a topic; a topic has letters, digits and . _ / : -", t.Value)
		case ok && seen[t.Value]:
			r.fail(at(c), "`topic` names %s twice", t.Value)
		}
		seen[t.Value] = true
		out = append(out, t.Value)
	}
	return out
}

var requireShape = shape{
	what:     "a rule of `require`",
	known:    []string{"field", "missing", "owner"},
	required: []string{"field", "missing"},
}

func (r *reader) require(n *yaml.Node) Require {
	f := r.fields(n, requireShape)
	rule := Require{Missing: Missing(r.choice(f["missing"], "`missing`", string(MissingReject), string(MissingHold)))}
	if field, ok := r.text(f["field"], "`field`", ExpressionBytesMax); ok {
		rule.Field = field
		if _, err := FieldPath(field.Value); err != nil {
			r.fail(at(f["field"]), "%s", err)
		}
	}
	rule.Owner = r.person(f["owner"], "`owner` of the rule")
	return rule
}

var approvalShape = shape{
	what:     "`approval`",
	known:    []string{"reviewers", "expires", "valid"},
	required: []string{"reviewers", "expires", "valid"},
}

func (r *reader) approval(n *yaml.Node) Approval {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" && n.Value == "none" {
		return Approval{Standing: true, At: at(n)}
	}
	if n.Kind != yaml.MappingNode {
		r.add(at(n), SeverityError, []string{"none", "{ reviewers: [...], expires: 20h, valid: 48h }"},
			"`approval` must say who approves, or be the word none")
		return Approval{At: at(n)}
	}
	f := r.fields(n, approvalShape)
	return Approval{
		Reviewers: r.persons(f["reviewers"], "`reviewers`"),
		Expires:   r.duration(f["expires"], "`expires`"),
		Valid:     r.duration(f["valid"], "`valid`"),
		At:        at(n),
	}
}
