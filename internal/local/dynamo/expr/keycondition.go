package expr

import (
	"slices"
	"strings"

	"holdfast/internal/local/dynamo/attr"
)

// KeyTerm is one comparison of a key condition: the attribute, =, <, <=, >, >=, BETWEEN or begins_with, and values.
type KeyTerm struct {
	Name   string
	Op     string
	Values []*attr.Value
}

// keyTermsMax is the most keys a query can name: partition and sort.
const keyTermsMax = 2

// KeyTerms are the one or two terms of a key condition.
func (c *Condition) KeyTerms(scope *Scope) ([]KeyTerm, error) {
	terms, err := c.keyTerms(nil, scope)
	if err != nil {
		return nil, err
	}
	if len(terms) > keyTermsMax {
		return nil, fail("Conditions can be of length 1 or 2 only")
	}
	return terms, nil
}

func (c *Condition) keyTerms(terms []KeyTerm, s *Scope) ([]KeyTerm, error) {
	if c.Op == "AND" {
		terms, err := c.Kids[0].keyTerms(terms, s)
		if err != nil {
			return nil, err
		}
		return c.Kids[1].keyTerms(terms, s)
	}
	if !slices.Contains([]string{"=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"}, c.Op) {
		name := c.Op
		if !strings.Contains(name, "_") {
			name = strings.ToUpper(name)
		}
		return nil, fail("Invalid operator used in KeyConditionExpression: %s", name)
	}
	term, err := c.keyTerm(s)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(terms, func(t KeyTerm) bool { return t.Name == term.Name }) {
		return nil, fail("KeyConditionExpressions must only contain one condition per key")
	}
	return append(terms, term), nil
}

func (c *Condition) keyTerm(s *Scope) (KeyTerm, error) {
	term := KeyTerm{Op: c.Op}
	for i, a := range c.Args {
		switch {
		case a.Function != "":
			return term, fail("KeyConditionExpressions cannot contain nested operations")
		case a.Given > 0:
			term.Values = append(term.Values, a.find(nil, s))
		case term.Name != "":
			return term, fail("Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition")
		case len(a.Path) > 1:
			return term, fail("KeyConditionExpressions cannot have conditions on nested attributes")
		case i > 0 && (c.Op == "BETWEEN" || c.Op == "begins_with"):
			return term, fail("Invalid condition in KeyConditionExpression: %s operator must have the key attribute as its first operand", c.Op)
		default:
			term.Name = a.Path[0].Name
			if i > 0 {
				term.Op = mirrored(c.Op)
			}
		}
	}
	if term.Name == "" {
		return term, fail("Invalid condition in KeyConditionExpression: No key attribute specified")
	}
	return term, nil
}

func mirrored(op string) string {
	switch op {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	}
	return op
}
