package simtarget

import (
	"sync"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// documents remembers parsed GraphQL documents by their text. It is shared by all simulations of one Spec: parsing
// depends on nothing else, and nobody changes a document.
type documents struct {
	mu     sync.Mutex
	parsed map[string]*ast.QueryDocument
}

// parse returns the document, or nil for a text that is none.
func (d *documents) parse(text string) *ast.QueryDocument {
	d.mu.Lock()
	defer d.mu.Unlock()
	if doc, known := d.parsed[text]; known {
		return doc
	}
	doc, err := parser.ParseQuery(&ast.Source{Input: text})
	if err != nil {
		return nil
	}
	if len(text) <= documentBytesMax {
		if len(d.parsed) >= documentsMax {
			clear(d.parsed)
		}
		d.parsed[text] = doc
	}
	return doc
}

// readGraphQL finds the one top-level field of the operation and evaluates its arguments.
func (x *exchange) readGraphQL(known *documents) {
	text, _ := pointer(x.json, "/query")
	query, ok := text.(string)
	if !ok {
		return
	}
	doc := known.parse(query)
	if doc == nil {
		return
	}
	name, _ := pointer(x.json, "/operationName")
	op := doc.Operations.ForName(textOf(name))
	if op == nil || len(op.SelectionSet) != 1 {
		return
	}
	field, ok := op.SelectionSet[0].(*ast.Field)
	if !ok {
		return
	}
	vars, _ := pointer(x.json, "/variables")
	given, _ := vars.(map[string]any)
	x.field, x.args = field, argumentsOf(field, given)
}

func argumentsOf(field *ast.Field, vars map[string]any) any {
	args := map[string]any{}
	for _, a := range field.Arguments {
		if v, err := a.Value.Value(vars); err == nil {
			args[a.Name] = v
		}
	}
	return args
}

// project keeps what a selection asks for, under the names it asks for; what the answer lacks is null.
func project(v any, set ast.SelectionSet) any {
	if len(set) == 0 {
		return v
	}
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, sub := range v {
			out[i] = project(sub, set)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		projectInto(out, v, set)
		return out
	}
	return v
}

func projectInto(out, v map[string]any, set ast.SelectionSet) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			out[sel.Alias] = project(v[sel.Name], sel.SelectionSet)
		case *ast.InlineFragment:
			projectInto(out, v, sel.SelectionSet)
		}
	}
}
