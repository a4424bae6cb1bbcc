package compile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"

	"holdfast/internal/flow"
)

// FieldRule is what a target's profile allows in one field of a content.
type FieldRule struct {
	Type     FieldType
	Required bool
	Max      int // bytes of a string, items of a list; 0 for no bound of its own
}

// FieldType is the kind of JSON value of a field, in the words of the profiles.
type FieldType string

// The types of fields.
const (
	FieldString  FieldType = "string"
	FieldInteger FieldType = "integer" // a number without a decimal point
	FieldNumber  FieldType = "number"
	FieldBoolean FieldType = "boolean"
	FieldStrings FieldType = "strings" // a list of strings
	FieldObject  FieldType = "object"
)

// Targets is what compiling needs to know of the targets' profiles.
type Targets interface {
	// Names are the names of all profiles.
	Names() []string
	// Content are the fields that a profile's content may have; ok is false for an unknown profile.
	Content(profile string) (fields map[string]FieldRule, ok bool)
}

// Flow is a compiled flow. It is immutable and may be used by several goroutines.
type Flow struct {
	file    flow.File
	when    *expression
	require []requirement
	stages  []stage
}

type requirement struct {
	flow.Require
	path []string
}

type stage struct {
	flow.Stage
	key     []*expression
	content []member
	rules   map[string]FieldRule
}

// File is the file that the flow was compiled from.
func (f *Flow) File() flow.File { return f.file }

// Compile checks the file's expressions and contents. Its error is a flow.Findings with every mistake.
func Compile(file flow.File, targets Targets) (*Flow, error) {
	f, findings := compile(file, targets)
	if err := findings.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

// compiler collects the mistakes of one file.
type compiler struct {
	file     *flow.File
	env      *cel.Env
	targets  Targets
	findings flow.Findings
}

func compile(file flow.File, targets Targets) (*Flow, flow.Findings) {
	c := &compiler{file: &file, targets: targets}
	env, err := environment()
	if err != nil {
		c.fail(file.At, nil, "the expression language cannot be set up: %s", err)
		return nil, c.findings
	}
	c.env = env
	f := &Flow{file: file}
	c.trigger(f)
	for _, rule := range file.Require {
		path, err := flow.FieldPath(rule.Field.Value)
		if err != nil {
			c.fail(rule.Field.At, nil, "%s", err)
		}
		f.require = append(f.require, requirement{Require: rule, path: path})
	}
	for _, s := range file.Stages {
		f.stages = append(f.stages, c.stage(s))
	}
	c.findings.Sort()
	return f, c.findings
}

func (c *compiler) fail(at flow.Position, allowed []string, format string, args ...any) {
	c.findings = append(c.findings, flow.Finding{
		File: c.file.Path, Line: at.Line, Column: at.Column, Severity: flow.SeverityError,
		Message: fmt.Sprintf(format, args...), Allowed: allowed,
	})
}

func (c *compiler) trigger(f *Flow) {
	when := c.file.Trigger.When
	if when.Value == "" {
		return
	}
	f.when = c.expression(when, 0, when.Value, "`when`", nil)
	if f.when != nil && !f.when.out.IsExactType(cel.BoolType) && !f.when.out.IsExactType(cel.DynType) {
		c.fail(when.At, nil, "`when` must be true or false, but this gives %s", f.when.out)
	}
}

func (c *compiler) stage(s flow.Stage) stage {
	out := stage{Stage: s}
	for _, k := range s.Key {
		if e := c.expression(k, 0, k.Value, "`key`", nil); e != nil {
			out.key = append(out.key, e)
		}
	}
	rules, ok := c.targets.Content(s.Target)
	if !ok {
		names := slices.Clone(c.targets.Names())
		slices.Sort(names)
		c.fail(s.TargetAt, names, "there is no target %s", s.Target)
	}
	out.rules = rules
	out.content = c.members(s, s.Content)
	if ok {
		c.fields(s, out)
	}
	return out
}

// expression compiles; what says where it is used, and references which of earlier stages could stand there, in messages.
func (c *compiler) expression(text flow.Text, offset int, source, what string, references []string) *expression {
	e, err := compileExpression(c.env, text, offset, source)
	if err == nil {
		return e
	}
	var mistake *expressionError
	if !errors.As(err, &mistake) {
		mistake = &expressionError{at: text.At, problem: err.Error()}
	}
	if name := c.stageNamed(mistake.problem); name != "" {
		mistake.problem = fmt.Sprintf("the reference of stage %s can only be used in `content`, alone, as ${%s.reference}", name, name)
	}
	if m := undeclared.FindStringSubmatch(mistake.problem); m != nil && !strings.Contains(source, m[1]+"(") {
		mistake.allowed = append([]string{"body", "event"}, references...)
	}
	c.fail(mistake.at, mistake.allowed, "%s: %s", what, mistake.problem)
	return nil
}

var undeclared = regexp.MustCompile(`^undeclared reference to '([^']*)'`)

func (c *compiler) stageNamed(problem string) string {
	for _, name := range c.file.StageNames() {
		if strings.Contains(problem, "undeclared reference to '"+name+"'") {
			return name
		}
	}
	return ""
}
