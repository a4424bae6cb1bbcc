package compile

import (
	"fmt"
	"regexp/syntax"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// regexProgramMax bounds a compiled pattern of the flow file, in instructions.
const regexProgramMax = 1_000

// patternProblem is what is wrong with a pattern that an expression gives to matches; "" when nothing is. It stands for
// the library's own limit, which breaks down over a counted repeat such as [0-9]{9}. A pattern put together from the
// event is bounded by the expression's cost and by what the standard library compiles.
func patternProblem(root ast.Expr) string {
	problem := ""
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "matches" || len(e.AsCall().Args()) == 0 {
			return
		}
		args := e.AsCall().Args()
		pattern := args[len(args)-1]
		if pattern.Kind() != ast.LiteralKind {
			return
		}
		if text, ok := pattern.AsLiteral().(types.String); ok && problem == "" {
			problem = measured(string(text))
		}
	}))
	return problem
}

func measured(pattern string) string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return fmt.Sprintf("the pattern %q cannot be read: %s", pattern, err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return fmt.Sprintf("the pattern %q cannot be compiled: %s", pattern, err)
	}
	if n := len(program.Inst); n > regexProgramMax {
		return fmt.Sprintf("the pattern %q takes %d instructions, allowed are %d", pattern, n, regexProgramMax)
	}
	return ""
}
