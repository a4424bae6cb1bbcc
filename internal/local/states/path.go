package states

import (
	"fmt"
	"strconv"
	"strings"
)

const pathStepsMax = 32 // steps in one path

// step is one move down a document: a field's name, or an index when isIndex.
type step struct {
	key     string
	index   int
	isIndex bool
}

// path is a reference path: it names at most one place in the input or, when context, in the context object.
type path struct {
	text    string
	context bool
	steps   []step
}

// parsePath reads a reference path. Wildcards, filters, slices and "..", which may name several places, and intrinsic
// functions are refused.
func parsePath(text string) (*path, error) {
	if strings.HasPrefix(text, "States.") {
		return nil, fmt.Errorf("intrinsic functions are not supported: %s", text)
	}
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return nil, fmt.Errorf("a path begins with $, not %q", text)
	}
	p := &path{text: text}
	if inner, ok := strings.CutPrefix(rest, "$"); ok {
		p.context, rest = true, inner
	}
	for rest != "" {
		var s step
		var err error
		if s, rest, err = nextStep(rest); err != nil {
			return nil, fmt.Errorf("path %s: %w", text, err)
		}
		if p.steps = append(p.steps, s); len(p.steps) > pathStepsMax {
			return nil, fmt.Errorf("path %.40s…: more than %d steps", text, pathStepsMax)
		}
	}
	return p, nil
}

func nextStep(rest string) (step, string, error) {
	if rest[0] == '[' {
		inner, after, ok := strings.Cut(rest[1:], "]")
		if !ok {
			return step{}, "", fmt.Errorf("a [ without its ]")
		}
		s, err := bracketStep(inner)
		return s, after, err
	}
	if rest[0] != '.' {
		return step{}, "", fmt.Errorf("%q where a . or [ belongs", rest[:1])
	}
	name := rest[1:]
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	if end == 0 {
		return step{}, "", fmt.Errorf("only plain reference paths are supported: a field's name is missing after a dot")
	}
	if i := strings.IndexAny(name[:end], "*?@()]'\"\\ ,:"); i >= 0 {
		return step{}, "", fmt.Errorf("only plain reference paths are supported, without %q", name[i:i+1])
	}
	return step{key: name[:end]}, name[end:], nil
}

func bracketStep(inner string) (step, error) {
	if n := len(inner); n > 2 && inner[0] == '\'' && inner[n-1] == '\'' && !strings.ContainsAny(inner[1:n-1], `'\`) {
		return step{key: inner[1 : n-1]}, nil
	}
	i, err := strconv.Atoi(inner)
	if err != nil || i < 0 || strconv.Itoa(i) != inner {
		return step{}, fmt.Errorf("only ['name'] and [index] are supported in brackets, not [%s]", inner)
	}
	return step{index: i, isIndex: true}, nil
}

// find returns what the path names in root.
func (p *path) find(root any) (any, bool) {
	for _, s := range p.steps {
		switch v := root.(type) {
		case map[string]any:
			child, ok := v[s.key]
			if s.isIndex || !ok {
				return nil, false
			}
			root = child
		case []any:
			if !s.isIndex || s.index >= len(v) {
				return nil, false
			}
			root = v[s.index]
		default:
			return nil, false
		}
	}
	return root, true
}

// put returns root with value at the path, making objects on the way. It copies what it changes, because documents
// are shared. It reports false where something other than an object is in the way.
func put(root any, steps []step, value any) (any, bool) {
	if len(steps) == 0 {
		return value, true
	}
	old, ok := root.(map[string]any)
	if !ok && root != nil {
		return nil, false
	}
	child, ok := put(old[steps[0].key], steps[1:], value)
	if !ok {
		return nil, false
	}
	changed := make(map[string]any, len(old)+1)
	for k, v := range old {
		changed[k] = v
	}
	changed[steps[0].key] = child
	return changed, true
}
