package compile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"holdfast/internal/flow"
)

// Bounds of one evaluation.
const (
	costMax    = 100_000 // units of the expression language's cost model
	nestingMax = 40      // levels of an expression
)

// EventFields are what expressions may use of `event`.
var eventFields = []string{"id", "source", "account", "topic", "occurred"}

// environment declares what expressions may use: the event's body and facts, and no clock and no randomness.
func environment() (*cel.Env, error) {
	return cel.NewEnv(
		cel.CustomTypeAdapter(adapter{rest: types.DefaultTypeAdapter}),
		cel.Variable("body", cel.DynType),
		cel.Variable("event", cel.MapType(cel.StringType, cel.DynType)),
		cel.Function("string", cel.Overload("number_to_string", []*cel.Type{numberType}, cel.StringType, conversion(types.StringType))),
		cel.Function("double", cel.Overload("number_to_double", []*cel.Type{numberType}, cel.DoubleType, conversion(types.DoubleType))),
		localDate(),
		cel.ParserExpressionSizeLimit(flow.ExpressionBytesMax),
		cel.ParserRecursionLimit(nestingMax),
	)
}

func conversion(t ref.Type) cel.OverloadOpt {
	return cel.UnaryBinding(func(v ref.Val) ref.Val { return v.ConvertToType(t) })
}

// expression is one compiled expression and where it stands.
type expression struct {
	source  string
	at      flow.Position
	program cel.Program
	paths   [][]string // of the body, as it uses them
	out     *cel.Type
}

// compileExpression compiles source, which stands at offset in text. Its error is an *expressionError.
func compileExpression(env *cel.Env, text flow.Text, offset int, source string) (*expression, error) {
	checked, issues := env.Compile(source)
	if issues.Err() != nil {
		return nil, issueError(text, offset, source, issues.Errors()[0])
	}
	e := &expression{source: strings.TrimSpace(source), at: text.Within(offset), out: checked.OutputType()}
	root := checked.NativeRep().Expr()
	e.paths = bodyPaths(root)
	if field := unknownEventField(root); field != "" {
		return nil, &expressionError{at: e.at, problem: fmt.Sprintf("`event` has no field %q", field), allowed: eventFields}
	}
	if problem := patternProblem(root); problem != "" {
		return nil, &expressionError{at: e.at, problem: problem}
	}
	program, err := env.Program(checked, cel.CostLimit(costMax), cel.CustomDecoratorV2(comparing))
	if err != nil {
		return nil, &expressionError{at: e.at, problem: "the expression cannot be used: " + err.Error()}
	}
	e.program = program
	return e, nil
}

// expressionError says what is wrong with an expression of the file.
type expressionError struct {
	at      flow.Position
	problem string
	allowed []string
}

func (e *expressionError) Error() string { return e.problem }

// A single `=` outside of a text in quotes.
var (
	oneEquals  = regexp.MustCompile(`(^|[^=!<>])=($|[^=])`)
	quotedText = regexp.MustCompile(`"[^"]*"|'[^']*'`)
)

// issueError keeps the compiler's first complaint; the ones after it are mostly its echo.
func issueError(text flow.Text, offset int, source string, issue *cel.Error) error {
	at := text.Within(offset)
	if line := issue.Location.Line(); line == 1 {
		runes := []rune(source)
		column := min(max(issue.Location.Column(), 0), len(runes))
		at = text.Within(offset + len(string(runes[:column])))
	}
	problem, _, _ := strings.Cut(issue.Message, " expecting {") // what follows lists the grammar's own words
	problem = strings.TrimSuffix(problem, " (in container '')")
	if strings.HasPrefix(problem, "Syntax error") && oneEquals.MatchString(quotedText.ReplaceAllString(source, `""`)) {
		problem = "`=` compares nothing here; write `==`"
	}
	return &expressionError{at: at, problem: problem}
}

// bodyPaths are the longest dotted paths below `body` that the expression uses.
func bodyPaths(root ast.Expr) [][]string {
	var out [][]string
	inner := map[int64]bool{}
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.SelectKind {
			return
		}
		if path, ok := selectPath(e, inner); ok && !e.AsSelect().IsTestOnly() {
			out = append(out, path)
		}
	}))
	return out
}

func selectPath(e ast.Expr, inner map[int64]bool) ([]string, bool) {
	if inner[e.ID()] {
		return nil, false
	}
	var path []string
	for e.Kind() == ast.SelectKind {
		path = append(path, e.AsSelect().FieldName())
		e = e.AsSelect().Operand()
		inner[e.ID()] = true
	}
	slices.Reverse(path)
	return path, e.Kind() == ast.IdentKind && e.AsIdent() == "body"
}

func unknownEventField(root ast.Expr) string {
	unknown := ""
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.SelectKind {
			return
		}
		s := e.AsSelect()
		if o := s.Operand(); o.Kind() == ast.IdentKind && o.AsIdent() == "event" && !slices.Contains(eventFields, s.FieldName()) {
			unknown = s.FieldName()
		}
	}))
	return unknown
}

// These hide the library's own message: it may quote the event's data.
var (
	errFailed = errors.New("the expression cannot be evaluated on this event")
	errCost   = fmt.Errorf("the expression takes more than %d steps on this event", costMax)
)

func (e *expression) evaluate(vars map[string]any) (ref.Val, error) {
	out, _, err := e.program.Eval(vars)
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded {
		return nil, errCost
	}
	if err != nil || types.IsUnknownOrError(out) {
		return nil, errFailed
	}
	return out, nil
}

// missing are the paths that the expression uses and this body lacks.
func (e *expression) missing(body any) []string {
	var out []string
	for _, p := range e.paths {
		if v, ok := lookup(body, p); !ok || v == nil {
			out = append(out, "body."+strings.Join(p, "."))
		}
	}
	return out
}

// lookup follows a path through objects.
func lookup(body any, path []string) (any, bool) {
	for _, name := range path {
		object, ok := body.(map[string]any)
		if !ok {
			return nil, false
		}
		if body, ok = object[name]; !ok {
			return nil, false
		}
	}
	return body, true
}
