package structure

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const mainLinesMax = 40

// TestFunctionsAreOneToOne: every function of the template has a main and a target of the Makefile, and none is over.
func TestFunctionsAreOneToOne(t *testing.T) {
	t.Parallel()
	all := files(t)
	want, mains, targets := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for id, r := range read(t).Resources {
		if r.Type == functionType {
			want[strings.ToLower(strings.TrimSuffix(id, "Function"))] = true
		}
	}
	for name := range all {
		if strings.HasPrefix(name, "functions/") && path.Base(name) == "main.go" {
			mains[path.Base(path.Dir(name))] = true
		}
	}
	for line := range strings.Lines(string(all["Makefile"])) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), "Function: name = "); ok && strings.TrimPrefix(id, "build-") != id {
			targets[name] = strings.EqualFold(strings.TrimPrefix(id, "build-"), name)
		}
	}
	if diff := cmp.Diff(want, mains); diff != "" {
		t.Errorf("functions of template.yaml (-) and folders under functions (+):\n%s", diff)
	}
	if diff := cmp.Diff(want, targets); diff != "" {
		t.Errorf("functions of template.yaml (-) and targets of the Makefile (+):\n%s", diff)
	}
}

// TestMainsOnlyWire: a main decides nothing. Its only branch is the exit on an error.
func TestMainsOnlyWire(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if !strings.HasPrefix(s.path, "functions/") || s.isTest() {
			continue
		}
		if s.lines() > mainLinesMax {
			t.Errorf("%s: %d lines, at most %d", s.path, s.lines(), mainLinesMax)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt, *ast.GoStmt:
				t.Errorf("%s: a main only wires: move this to internal/app", s.at(n))
			case *ast.IfStmt:
				if !asksForError(n) {
					t.Errorf("%s: a main branches on nothing but an error", s.at(n))
				}
			}
			return true
		})
	}
}

func asksForError(n *ast.IfStmt) bool {
	c, ok := n.Cond.(*ast.BinaryExpr)
	if !ok || c.Op != token.NEQ || n.Else != nil {
		return false
	}
	x, okX := c.X.(*ast.Ident)
	y, okY := c.Y.(*ast.Ident)
	return okX && okY && x.Name == "err" && y.Name == "nil"
}

// sorted are the keys of a map, for messages that do not jump about.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
