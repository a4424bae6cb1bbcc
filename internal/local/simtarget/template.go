package simtarget

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Template is a tree of YAML values whose texts may hold ${…} expressions. A text that is one expression keeps
// the type of what it yields; an expression that yields nothing leaves its field out, and so does a mapping of which nothing is left.
type Template struct{ node node }

var (
	exprSpaces = []string{"header", "query", "path", "body", "item", "arg", "record"}
	exprWords  = []string{"id", "new", "created", "now", "request_id", "results", "next", "more", "total"}
)

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *Template) UnmarshalYAML(n *yaml.Node) error {
	if err := checkExprs(n); err != nil {
		return err
	}
	var tree any
	if err := n.Decode(&tree); err != nil {
		return err
	}
	t.node = compile(tree)
	return nil
}

func checkExprs(n *yaml.Node) error {
	for _, child := range n.Content {
		if err := checkExprs(child); err != nil {
			return err
		}
	}
	if n.Kind != yaml.ScalarNode {
		return nil
	}
	rest := n.Value
	for {
		_, after, found := strings.Cut(rest, "${")
		if !found {
			return nil
		}
		expr, tail, closed := strings.Cut(after, "}")
		if !closed || !exprKnown(expr) {
			return atLine(n, fmt.Sprintf("unknown expression ${%s}; allowed: %s, and %s followed by : and a name or pointer", expr,
				strings.Join(exprWords, ", "), strings.Join(exprSpaces, ", ")))
		}
		rest = tail
	}
}

func exprKnown(expr string) bool {
	space, name, spaced := strings.Cut(expr, ":")
	if !spaced {
		return slices.Contains(exprWords, expr)
	}
	return name != "" && slices.Contains(exprSpaces, space)
}

// textOf writes a scalar as text; anything else as JSON.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	raw, _ := json.Marshal(v) // decoded JSON always encodes
	return string(raw)
}
