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
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(f.Environment)) {
		v, err := t.evaluate(f.Environment[name], known)
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

func (t *Template) evaluate(v any, known Values) (string, error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	c, ok := v.(Call)
	if !ok {
		return "", fmt.Errorf("a text, !Ref, !Sub, !GetAtt or !If is understood here, not %v", v)
	}
	switch arg, _ := c.Arg.(string); c.Name {
	case "Ref", "GetAtt":
		return t.lookUp(arg, known)
	case "Sub":
		return t.substitute(arg, known)
	case "If":
		return t.choose(c.Arg, known)
	}
	return "", fmt.Errorf("!%s is not understood here", c.Name)
}

func (t *Template) lookUp(name string, known Values) (string, error) {
	if v, ok := known[name]; ok {
		return v, nil
	}
	if d := t.Parameters[name]; d != nil {
		return *d, nil
	}
	return "", fmt.Errorf("no value is given for %q", name)
}

var placeholder = regexp.MustCompile(`\$\{([^!}][^}]*)\}`)

func (t *Template) substitute(text string, known Values) (string, error) {
	var wrong []error
	out := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		v, err := t.lookUp(strings.TrimSuffix(strings.TrimPrefix(found, "${"), "}"), known)
		if err != nil {
			wrong = append(wrong, err)
		}
		return v
	})
	return out, errors.Join(wrong...)
}

func (t *Template) choose(arg any, known Values) (string, error) {
	parts, _ := arg.([]any)
	if len(parts) != 3 {
		return "", errors.New("!If takes a condition, a value if it holds and a value if not")
	}
	name, _ := parts[0].(string)
	holds, err := t.holds(t.Conditions[name], known)
	if err != nil {
		return "", fmt.Errorf("condition %q: %w", name, err)
	}
	if holds {
		return t.evaluate(parts[1], known)
	}
	return t.evaluate(parts[2], known)
}

func (t *Template) holds(condition any, known Values) (bool, error) {
	c, _ := condition.(Call)
	args, _ := c.Arg.([]any)
	switch {
	case c.Name == "Not" && len(args) == 1:
		inner, err := t.holds(args[0], known)
		return !inner, err
	case c.Name == "Equals" && len(args) == 2:
		a, err := t.evaluate(args[0], known)
		if err != nil {
			return false, err
		}
		b, err := t.evaluate(args[1], known)
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
