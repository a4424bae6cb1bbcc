package expr

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"holdfast/internal/local/dynamo/attr"
)

// Match says whether the condition holds for the item, with the scope's values; a nil condition always does. A missing
// item is an empty one.
func (c *Condition) Match(it attr.Item, s *Scope) bool {
	if c == nil {
		return true
	}
	switch c.Op {
	case "AND":
		return c.Kids[0].Match(it, s) && c.Kids[1].Match(it, s)
	case "OR":
		return c.Kids[0].Match(it, s) || c.Kids[1].Match(it, s)
	case "NOT":
		return !c.Kids[0].Match(it, s)
	}
	var few [3]*attr.Value // the usual comparison needs no more
	values := few[:0]
	for i := range c.Args {
		values = append(values, c.Args[i].find(it, s))
	}
	return holds(c.Op, values)
}

// find is the operand's value for the item; nil when it has none.
func (o *Operand) find(it attr.Item, s *Scope) *attr.Value {
	switch {
	case o.Given > 0:
		return &s.Values[o.Given-1].Value
	case o.Path != nil:
		return o.Path.Find(it)
	case o.Function == "size":
		return sizeOf(o.Args[0].find(it, s))
	}
	return nil
}

func sizeOf(v *attr.Value) *attr.Value {
	if v == nil {
		return nil
	}
	var size int
	switch v.Kind {
	case attr.KindString:
		size = utf8.RuneCountInString(v.Text)
	case attr.KindBinary:
		size = len(v.Text)
	case attr.KindStringSet, attr.KindNumberSet, attr.KindBinarySet:
		size = len(v.Set)
	case attr.KindList:
		size = len(v.List)
	case attr.KindMap:
		size = len(v.Map)
	default:
		return nil
	}
	n := attr.Number(strconv.Itoa(size))
	return &n
}

func holds(op string, v []*attr.Value) bool {
	switch op {
	case "attribute_exists":
		return v[0] != nil
	case "attribute_not_exists":
		return v[0] == nil
	case "<>":
		return v[0] == nil || v[1] == nil || !attr.Equal(v[0], v[1])
	}
	if slices.Contains(v, nil) && op != "IN" || v[0] == nil {
		return false
	}
	switch op {
	case "=":
		return attr.Equal(v[0], v[1])
	case "IN":
		return slices.ContainsFunc(v[1:], func(one *attr.Value) bool { return one != nil && attr.Equal(v[0], one) })
	case "BETWEEN":
		low, ok := attr.Compare(v[0], v[1])
		high, alsoOK := attr.Compare(v[0], v[2])
		return ok && alsoOK && low >= 0 && high <= 0
	case "attribute_type":
		return v[0].Kind.String() == v[1].Text
	case "begins_with":
		return beginsWith(v[0], v[1])
	case "contains":
		return attr.Contains(v[0], v[1])
	}
	return ordered(op, v[0], v[1])
}

func beginsWith(v, prefix *attr.Value) bool {
	text := v.Kind == attr.KindString || v.Kind == attr.KindBinary
	return text && v.Kind == prefix.Kind && strings.HasPrefix(v.Text, prefix.Text)
}

func ordered(op string, a, b *attr.Value) bool {
	order, ok := attr.Compare(a, b)
	if !ok {
		return false
	}
	switch op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// Paths are all paths the whole condition looks at.
func (c *Condition) Paths() []Path {
	if c == nil {
		return nil
	}
	return c.paths
}

func (c *Condition) allPaths() []Path {
	var paths []Path
	for _, kid := range c.Kids {
		paths = append(paths, kid.allPaths()...)
	}
	return append(paths, operandPaths(c.Args)...)
}

func operandPaths(args []Operand) []Path {
	var paths []Path
	for _, a := range args {
		if a.Path != nil {
			paths = append(paths, a.Path)
		}
		paths = append(paths, operandPaths(a.Args)...)
	}
	return paths
}
