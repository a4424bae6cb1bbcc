package acceptance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"holdfast/internal/flow"
	"holdfast/internal/flow/compile"
)

// node is what is known about one place of the body that the flow uses.
type node struct {
	name   string
	fields map[string]*node
	item   *node // it is a list, and this is its one item
	value  any   // a scalar that an expression asks for
	kind   kind
}

// kind is what a place is used as.
type kind int

const (
	kindText kind = iota
	kindNumber
	kindBool
	kindTime
	kindSpan
	kindTexts
	kindObject
)

func (n *node) field(name string) *node {
	if n.fields == nil {
		n.fields = map[string]*node{}
	}
	if n.fields[name] == nil {
		n.fields[name] = &node{name: name}
	}
	return n.fields[name]
}

func (n *node) element() *node {
	if n.item == nil {
		n.item = &node{name: n.name}
	}
	return n.item
}

// infer makes up a body that has everything the flow's expressions and rules use.
func infer(f *compile.Flow, require []flow.Require, topic string) (map[string]any, error) {
	env, err := cel.NewEnv(cel.ClearMacros())
	if err != nil {
		return nil, fmt.Errorf("set up the expression language: %w", err)
	}
	in := &inference{body: &node{}, topic: topic}
	for _, r := range require {
		path, err := flow.FieldPath(r.Field.Value)
		if err != nil {
			return nil, &CallError{err}
		}
		at := in.body
		for _, name := range path {
			at = at.field(name)
		}
	}
	for _, use := range f.Uses() {
		parsed, issues := env.Parse(use.Source)
		if issues.Err() != nil {
			continue // compiled before, so it parses; a macro that does not is left to samples/FLOW.json
		}
		in.use(parsed.NativeRep().Expr(), use)
	}
	body, _ := in.body.made().(map[string]any)
	if body == nil {
		body = map[string]any{}
	}
	return body, nil
}

// inference reads expressions for what they need of the body.
type inference struct {
	body  *node
	topic string
	scope []variable // of filter, exists, all and map
}

type variable struct {
	name string
	node *node
}

func (in *inference) use(e ast.Expr, u compile.Use) {
	if u.When {
		in.holds(e, true)
		return
	}
	n := in.visit(e)
	if n == nil || !u.Whole {
		return
	}
	switch u.Type {
	case compile.FieldInteger, compile.FieldNumber:
		n.kind = kindNumber
	case compile.FieldBoolean:
		n.kind = kindBool
	case compile.FieldStrings:
		n.kind = kindTexts
	case compile.FieldObject:
		n.kind = kindObject
	}
}

// visit makes sure that what an expression uses is there, and answers the place that the expression is, if it is one.
func (in *inference) visit(e ast.Expr) *node {
	switch e.Kind() {
	case ast.IdentKind:
		return in.ident(e.AsIdent())
	case ast.SelectKind:
		if n := in.visit(e.AsSelect().Operand()); n != nil {
			return n.field(e.AsSelect().FieldName())
		}
	case ast.CallKind:
		return in.call(e.AsCall())
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			in.visit(item)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			in.visit(entry.AsMapEntry().Value())
		}
	}
	return nil
}

func (in *inference) ident(name string) *node {
	for i := len(in.scope) - 1; i >= 0; i-- {
		if in.scope[i].name == name {
			return in.scope[i].node
		}
	}
	if name == "body" {
		return in.body
	}
	return nil
}

// conversions say what their argument has to look like.
var conversions = map[string]kind{"timestamp": kindTime, "duration": kindSpan, "int": kindNumber, "double": kindNumber, "uint": kindNumber}

func (in *inference) call(c ast.CallExpr) *node {
	name, args := c.FunctionName(), c.Args()
	switch {
	case name == operators.Index && len(args) == 2:
		return in.index(args[0], args[1])
	case c.IsMemberFunction() && len(args) == 2 && args[0].Kind() == ast.IdentKind && isMacro(name):
		return in.macro(c, name)
	case isComparison(name):
		in.compare(name, args[0], args[1], true)
		return nil
	}
	var last *node
	if c.IsMemberFunction() {
		last = in.visit(c.Target())
	}
	for _, a := range args {
		n := in.visit(a)
		if k, ok := conversions[name]; ok && n != nil {
			n.kind = k
		}
		last = n
	}
	if name == operators.Conditional || name == "string" {
		return last
	}
	return nil
}

func isMacro(name string) bool {
	return name == "filter" || name == "exists" || name == "exists_one" || name == "all" || name == "map"
}

func (in *inference) index(of, at ast.Expr) *node {
	n := in.visit(of)
	if n == nil || at.Kind() != ast.LiteralKind {
		return nil
	}
	if s, ok := at.AsLiteral().(types.String); ok {
		return n.field(string(s))
	}
	return n.element()
}

// macro looks into the condition with the variable standing for the list's one item.
func (in *inference) macro(c ast.CallExpr, name string) *node {
	list := in.visit(c.Target())
	if list == nil {
		return nil
	}
	in.scope = append(in.scope, variable{c.Args()[0].AsIdent(), list.element()})
	in.holds(c.Args()[1], true)
	in.scope = in.scope[:len(in.scope)-1]
	if name == "filter" {
		return list
	}
	return nil
}

// holds looks for values that make a condition true, or false.
func (in *inference) holds(e ast.Expr, yes bool) {
	if e.Kind() != ast.CallKind {
		if n := in.visit(e); n != nil {
			n.kind, n.value = kindBool, yes
		}
		return
	}
	c := e.AsCall()
	args := c.Args()
	switch name := c.FunctionName(); {
	case name == operators.LogicalNot:
		in.holds(args[0], !yes)
	case name == operators.LogicalAnd && yes, name == operators.LogicalOr && !yes:
		in.holds(args[0], yes)
		in.holds(args[1], yes)
	case name == operators.LogicalOr, name == operators.LogicalAnd:
		in.visit(args[1])
		in.holds(args[0], yes)
	case isComparison(name):
		in.compare(name, args[0], args[1], yes)
	case name == "startsWith" || name == "endsWith" || name == "contains":
		if n := in.visit(c.Target()); n != nil && yes && args[0].Kind() == ast.LiteralKind {
			n.value = fmt.Sprint(args[0].AsLiteral().Value())
		}
	default:
		in.visit(e)
	}
}

func isComparison(name string) bool {
	switch name {
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.In:
		return true
	}
	return false
}

// compare gives a place the value that makes the comparison come out as wanted, where a literal says which.
func (in *inference) compare(name string, a, b ast.Expr, yes bool) {
	left, right := in.visit(a), in.visit(b)
	literal := b
	if left == nil && right != nil {
		left, literal = right, a
	}
	if name == operators.In && b.Kind() == ast.ListKind && len(b.AsList().Elements()) > 0 {
		literal = b.AsList().Elements()[0]
	}
	if left == nil || literal.Kind() != ast.LiteralKind || !yes && name != operators.NotEquals {
		return
	}
	if v, ok := wanted(name, literal.AsLiteral().Value(), yes); ok && left.value == nil {
		left.value = v
	}
}

func wanted(name string, literal any, yes bool) (any, bool) {
	switch v := literal.(type) {
	case string:
		return v, (name == operators.Equals || name == operators.In) && yes || name == operators.NotEquals && !yes
	case bool:
		return v == (name == operators.Equals), true
	case int64:
		return json.Number(strconv.FormatInt(v+step(name), 10)), true
	case uint64:
		return json.Number(strconv.FormatUint(v+uint64(max(step(name), 0)), 10)), true
	case float64:
		return json.Number(strconv.FormatFloat(v+float64(step(name)), 'f', -1, 64)), true
	}
	return nil, false
}

// step leads from the literal to a number that compares as wanted.
func step(name string) int64 {
	switch name {
	case operators.Greater, operators.NotEquals:
		return 1
	case operators.Less:
		return -1
	}
	return 0
}

// made is the JSON value of a place.
func (n *node) made() any {
	switch {
	case n.value != nil:
		return n.value
	case n.item != nil:
		return []any{n.item.made()}
	case len(n.fields) > 0:
		out := map[string]any{}
		for name, f := range n.fields {
			out[name] = f.made()
		}
		return out
	}
	return n.scalar()
}

var (
	timeName = regexp.MustCompile(`(?i)(^|_)(at|due|date|time|on|until|from)$`)
	idName   = regexp.MustCompile(`(?i)(^|_)(id|key|number)$`)
)

func (n *node) scalar() any {
	name := strings.ToLower(n.name)
	switch {
	case n.kind == kindNumber:
		return json.Number("7")
	case n.kind == kindBool:
		return true
	case n.kind == kindTexts:
		return []any{"sample-" + n.name}
	case n.kind == kindObject:
		return map[string]any{"sample": n.name}
	case n.kind == kindSpan:
		return "24h"
	case n.kind == kindTime, timeName.MatchString(n.name):
		return "2030-01-02T09:00:00Z"
	case strings.Contains(name, "email"):
		return "sample.customer@example.com"
	case strings.Contains(name, "url"):
		return "https://example.com/sample"
	case idName.MatchString(n.name):
		return "sample-" + strings.ReplaceAll(name, "_", "-") + "-1001"
	}
	return "sample-" + n.name
}
