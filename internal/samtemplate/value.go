package samtemplate

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Values are what a stack knows and a template does not: parameters ("Owner"), pseudo parameters ("AWS::Region"), what
// Ref gives for a resource ("Ledger"), and attributes ("Api.ApiEndpoint"). A parameter without a value has its default.
type Values map[string]string

// Environment evaluates the variables of a function. Its error names every value that is missing.
func (t *Template) Environment(f Function, known Values) (map[string]string, error) {
	env := map[string]string{}
	e := &evaluation{t: t, known: known, conditions: map[string]*bool{}}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(f.Environment)) {
		v, err := e.evaluate(f.Environment[name])
		if err != nil {
			wrong = append(wrong, fmt.Errorf("template: %s, variable %s: %w", f.ID, name, err))
			continue
		}
		env[name] = v
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return env, nil
}

// evaluation is one look at a template with what a stack knows. A condition is evaluated once, so that many uses of one
// cost no more than one, and one that needs itself is seen.
type evaluation struct {
	t          *Template
	known      Values
	conditions map[string]*bool // nil while it is evaluated
}

func (e *evaluation) evaluate(v any) (string, error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	c, ok := v.(Call)
	if !ok {
		return "", fmt.Errorf("a text, !Ref, !Sub, !GetAtt or !If is understood here, not %v", v)
	}
	switch arg, _ := c.Arg.(string); c.Name {
	case "Ref", "GetAtt":
		return e.lookUp(arg)
	case "Sub":
		return e.substitute(arg)
	case "If":
		return e.choose(c.Arg)
	}
	return "", fmt.Errorf("!%s is not understood here", c.Name)
}

func (e *evaluation) lookUp(name string) (string, error) {
	if v, ok := e.known[name]; ok {
		return v, nil
	}
	if d := e.t.Parameters[name]; d != nil {
		return *d, nil
	}
	return "", fmt.Errorf("no value is given for %q", name)
}

var placeholder = regexp.MustCompile(`\$\{([^!}][^}]*)\}`)

func (e *evaluation) substitute(text string) (string, error) {
	var wrong []error
	out := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		v, err := e.lookUp(strings.TrimSuffix(strings.TrimPrefix(found, "${"), "}"))
		if err != nil {
			wrong = append(wrong, err)
		}
		return v
	})
	return out, errors.Join(wrong...)
}

func (e *evaluation) choose(arg any) (string, error) {
	parts, _ := arg.([]any)
	if len(parts) != 3 {
		return "", errors.New("!If takes a condition, a value if it holds and a value if not")
	}
	name, _ := parts[0].(string)
	holds, err := e.condition(name)
	if err != nil {
		return "", fmt.Errorf("condition %q: %w", name, err)
	}
	if holds {
		return e.evaluate(parts[1])
	}
	return e.evaluate(parts[2])
}

func (e *evaluation) condition(name string) (bool, error) {
	settled, met := e.conditions[name]
	switch {
	case settled != nil:
		return *settled, nil
	case met:
		return false, errors.New("it needs itself; let it depend on parameters only")
	}
	e.conditions[name] = nil
	holds, err := e.holds(e.t.Conditions[name])
	if err != nil {
		delete(e.conditions, name)
		return false, err
	}
	e.conditions[name] = &holds
	return holds, nil
}

func (e *evaluation) holds(condition any) (bool, error) {
	c, _ := condition.(Call)
	args, _ := c.Arg.([]any)
	switch {
	case c.Name == "Not" && len(args) == 1:
		inner, err := e.holds(args[0])
		return !inner, err
	case c.Name == "Equals" && len(args) == 2:
		a, err := e.evaluate(args[0])
		if err != nil {
			return false, err
		}
		b, err := e.evaluate(args[1])
		return a == b, err
	}
	return false, errors.New("only !Not and !Equals are understood in conditions, and it must be declared")
}

// References are the logical ids and parameters that a value names, sorted, each once.
func References(v any) []string {
	found := map[string]bool{}
	collect(v, found)
	return slices.Sorted(maps.Keys(found))
}

func collect(v any, found map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			collect(e, found)
		}
	case map[string]any:
		for _, e := range v {
			collect(e, found)
		}
	case Call:
		text, isText := v.Arg.(string)
		switch {
		case !isText:
			collect(v.Arg, found)
		case v.Name == "Sub":
			for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
				found[before(m[1])] = true
			}
		case v.Name == "Ref" || v.Name == "GetAtt":
			found[before(text)] = true
		}
	}
}

// before is the logical id of "Resource.Attribute".
func before(name string) string {
	id, _, _ := strings.Cut(name, ".")
	return id
}
