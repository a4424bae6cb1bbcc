package states

import (
	"cmp"
	"encoding/json"
	"math/big"
	"strings"
)

// choice is a Choice state's rules in order, and where to go when none matches.
type choice struct {
	rules     []choiceRule
	byDefault *state
}

type choiceRule struct {
	test condition
	next *state
}

// condition is one test of the input; it gives a fault when it asks for a field that is not there.
type condition interface {
	holds(e *scope) (bool, *fault)
}

type (
	allOf  []condition
	anyOf  []condition
	denied struct{ inner condition }
	// comparison compares what variable names with a constant or, when other is set, with what other names.
	comparison struct {
		variable *path
		constant any
		other    *path
		compare  func(got, want any) bool
	}
	// presence is IsPresent, the one test that a missing field does not fail.
	presence struct {
		variable *path
		wanted   bool
	}
)

func (p *parser) choice(m *machine, f *fields) *choice {
	c := &choice{}
	given := f.list("Choices", choicesMax)
	if _, ok := f.all["Choices"]; !ok {
		p.fail(f.at, "the field Choices is missing")
	}
	for i, v := range given {
		rule := p.fields(join(join(f.at, "Choices"), i), v)
		next := p.target(m, rule, "Next")
		c.rules = append(c.rules, choiceRule{test: p.condition(rule, 1), next: next})
	}
	if _, ok := f.all["Default"]; ok {
		c.byDefault = p.target(m, f, "Default")
	} else {
		f.take("Default")
	}
	return c
}

func (p *parser) condition(f *fields, depth int) condition {
	defer f.rest()
	if depth > choiceDepthMax {
		p.fail(f.at, "rules are nested more than %d deep", choiceDepthMax)
		return allOf{}
	}
	for _, name := range []string{"And", "Or"} {
		if _, ok := f.all[name]; !ok {
			continue
		}
		var inner []condition
		for i, v := range f.list(name, choicesMax) {
			inner = append(inner, p.condition(p.fields(join(join(f.at, name), i), v), depth+1))
		}
		if name == "And" {
			return allOf(inner)
		}
		return anyOf(inner)
	}
	if v, ok := f.take("Not"); ok {
		return denied{p.condition(p.fields(join(f.at, "Not"), v), depth+1)}
	}
	return p.comparison(f)
}

func (p *parser) comparison(f *fields) condition {
	variable := f.refPath("Variable")
	if variable == nil {
		p.fail(f.at, "a Variable, And, Or or Not is needed")
		return allOf{}
	}
	var found condition
	for _, name := range sortedNames(f.all) {
		if f.taken[name] || name == "Next" {
			continue
		}
		if found != nil {
			f.fail(name, "a rule has one comparison only")
		}
		found = p.operator(f, name, variable)
	}
	if found == nil {
		p.fail(f.at, "the comparison is missing")
		return allOf{}
	}
	return found
}

func (p *parser) operator(f *fields, name string, variable *path) condition {
	v, _ := f.take(name)
	if is, ok := typeTest(name); ok {
		wanted, isFlag := v.(bool)
		if !isFlag {
			f.fail(name, "true or false is needed")
		}
		if name == "IsPresent" {
			return presence{variable, wanted}
		}
		return comparison{variable: variable, compare: func(got, _ any) bool { return is(got) == wanted }}
	}
	compare, isOperand, ok := operatorNamed(strings.TrimSuffix(name, "Path"))
	if !ok || name == "StringMatchesPath" {
		f.fail(name, "the comparison %s is not supported", name)
		return allOf{}
	}
	if strings.HasSuffix(name, "Path") {
		return comparison{variable: variable, other: p.path(join(f.at, name), v), compare: compare}
	}
	if !isOperand(v) {
		f.fail(name, "the value does not fit the comparison")
	}
	return comparison{variable: variable, constant: v, compare: compare}
}

func typeTest(name string) (func(any) bool, bool) {
	switch name {
	case "IsPresent":
		return func(any) bool { return true }, true
	case "IsNull":
		return func(v any) bool { return v == nil }, true
	case "IsString":
		return isString, true
	case "IsNumeric":
		return isNumber, true
	case "IsBoolean":
		return isBoolean, true
	case "IsTimestamp":
		return isTimestamp, true
	}
	return nil, false
}

// operatorNamed gives a comparison by its name and a test of its operand. A comparison of values of another type is
// false, not an error.
func operatorNamed(name string) (compare func(got, want any) bool, isOperand func(any) bool, ok bool) {
	if name == "StringMatches" {
		return func(got, want any) bool { return both(got, want, isString) && matches(want.(string), got.(string)) }, isString, true
	}
	for _, t := range []struct {
		prefix  string
		is      func(any) bool
		compare func(a, b any) int
	}{{"String", isString, compareStrings}, {"Numeric", isNumber, compareNumbers}, {"Timestamp", isTimestamp, compareTimes}} {
		if rest, found := strings.CutPrefix(name, t.prefix); found {
			accepts, known := ordering(rest)
			return func(got, want any) bool { return both(got, want, t.is) && accepts(t.compare(got, want)) }, t.is, known
		}
	}
	return func(got, want any) bool { return both(got, want, isBoolean) && got == want }, isBoolean, name == "BooleanEquals"
}

func ordering(name string) (func(int) bool, bool) {
	switch name {
	case "Equals":
		return func(c int) bool { return c == 0 }, true
	case "LessThan":
		return func(c int) bool { return c < 0 }, true
	case "LessThanEquals":
		return func(c int) bool { return c <= 0 }, true
	case "GreaterThan":
		return func(c int) bool { return c > 0 }, true
	case "GreaterThanEquals":
		return func(c int) bool { return c >= 0 }, true
	}
	return nil, false
}

func both(a, b any, is func(any) bool) bool { return is(a) && is(b) }

func isString(v any) bool  { _, ok := v.(string); return ok }
func isNumber(v any) bool  { _, ok := v.(json.Number); return ok }
func isBoolean(v any) bool { _, ok := v.(bool); return ok }

func isTimestamp(v any) bool {
	text, ok := v.(string)
	if !ok {
		return false
	}
	_, ok = parseTimestamp(text)
	return ok
}

func compareStrings(a, b any) int { return cmp.Compare(a.(string), b.(string)) }

func compareTimes(a, b any) int {
	left, _ := parseTimestamp(a.(string))
	right, _ := parseTimestamp(b.(string))
	return left.Compare(right)
}

// compareNumbers compares integers of any length exactly, so that long ids are not rounded into each other.
func compareNumbers(a, b any) int {
	left, leftOK := new(big.Int).SetString(a.(json.Number).String(), 10)
	right, rightOK := new(big.Int).SetString(b.(json.Number).String(), 10)
	if leftOK && rightOK {
		return left.Cmp(right)
	}
	x, _ := a.(json.Number).Float64()
	y, _ := b.(json.Number).Float64()
	return cmp.Compare(x, y)
}

// matches reports whether text fits a pattern in which * stands for any text and \* for a star.
func matches(pattern, text string) bool {
	parts := []string{""}
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			i++
			parts[len(parts)-1] += pattern[i : i+1]
		case pattern[i] == '*':
			parts = append(parts, "")
		default:
			parts[len(parts)-1] += pattern[i : i+1]
		}
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return text == first
	}
	if !strings.HasPrefix(text, first) || !strings.HasSuffix(text[len(first):], last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return true
}

func (all allOf) holds(e *scope) (bool, *fault) {
	for _, c := range all {
		if ok, bad := c.holds(e); !ok || bad != nil {
			return false, bad
		}
	}
	return true, nil
}

func (any anyOf) holds(e *scope) (bool, *fault) {
	for _, c := range any {
		if ok, bad := c.holds(e); ok || bad != nil {
			return ok, bad
		}
	}
	return false, nil
}

func (d denied) holds(e *scope) (bool, *fault) {
	ok, bad := d.inner.holds(e)
	return !ok, bad
}

func (p presence) holds(e *scope) (bool, *fault) {
	_, present := e.find(p.variable)
	return present == p.wanted, nil
}

func (c comparison) holds(e *scope) (bool, *fault) {
	got, bad := e.lookChoice(c.variable)
	if bad != nil {
		return false, bad
	}
	want := c.constant
	if c.other != nil {
		if want, bad = e.lookChoice(c.other); bad != nil {
			return false, bad
		}
	}
	return c.compare(got, want), nil
}

// pick returns the state of the first rule that holds, or the default, or nil.
func (c *choice) pick(e *scope) (*state, *fault) {
	for _, r := range c.rules {
		ok, bad := r.test.holds(e)
		if bad != nil {
			return nil, bad
		}
		if ok {
			return r.next, nil
		}
	}
	return c.byDefault, nil
}
