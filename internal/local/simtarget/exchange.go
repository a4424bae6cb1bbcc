package simtarget

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// exchange is one request, read to its end.
type exchange struct {
	method string
	path   string
	query  url.Values
	header http.Header
	raw    []byte
	json   any // decoded body; nil when it is not JSON
	params map[string]string
	conn   int

	field *ast.Field // top-level GraphQL field, when the body is a GraphQL request
	args  any        // its arguments
}

var errBodyTooLarge = errors.New("the request body is too large")

// readExchange reads a request to its end.
func (t *target) readExchange(req *http.Request) (*exchange, error) {
	raw, err := io.ReadAll(io.LimitReader(req.Body, requestBytesMax+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > requestBytesMax {
		return nil, errBodyTooLarge
	}
	x := &exchange{method: req.Method, path: req.URL.Path, query: req.URL.Query(), header: req.Header, raw: raw}
	x.json = decodeJSON(raw)
	x.readGraphQL()
	return x, nil
}

// decodeJSON keeps every digit of a number; what is not exactly one JSON value is nil.
func decodeJSON(raw []byte) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil
	}
	return v
}

// readGraphQL finds the one top-level field of the operation and evaluates its arguments.
func (x *exchange) readGraphQL() {
	text, _ := pointer(x.json, "/query")
	query, ok := text.(string)
	if !ok {
		return
	}
	doc, err := parser.ParseQuery(&ast.Source{Input: query})
	if err != nil {
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
	known, _ := vars.(map[string]any)
	x.field, x.args = field, argumentsOf(field, known)
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

// digest identifies what a key was used for: method, address and exact bytes.
func (x *exchange) digest() string {
	h := sha256.New()
	for _, part := range []string{x.method, x.path, x.query.Encode()} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(x.raw)
	return hex.EncodeToString(h.Sum(nil))
}

// matches compares the request with a route and returns the path's parameters.
func (x *exchange) matches(r *Route) (map[string]string, bool) {
	params, ok := matchPath(r.Path, x.path)
	if !ok || x.method != r.Method || r.Query != "" && !x.query.Has(r.Query) {
		return nil, false
	}
	if r.GraphQL != "" && (x.field == nil || x.field.Name != r.GraphQL) {
		return nil, false
	}
	return params, true
}

func matchPath(pattern, path string) (map[string]string, bool) {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	params := map[string]string{}
	for i, step := range want {
		if name, isParam := strings.CutPrefix(step, "{"); isParam && got[i] != "" {
			params[strings.TrimSuffix(name, "}")] = got[i]
		} else if step != got[i] {
			return nil, false
		}
	}
	return params, true
}

// bodyDigest is the SHA-256 of the body as it came.
func (x *exchange) bodyDigest() string {
	sum := sha256.Sum256(x.raw)
	return hex.EncodeToString(sum[:])
}
