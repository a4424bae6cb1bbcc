package states

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// DefinitionError says what in a definition is refused, and where: Path is a JSON pointer such as
// /States/Ask/TimeoutSeconds, empty for the whole.
type DefinitionError struct {
	Path    string
	Problem string
}

// Error implements error.
func (e *DefinitionError) Error() string {
	if e.Path == "" {
		return e.Problem
	}
	return e.Problem + " at " + e.Path
}

// parser keeps the first problem it meets; what follows a problem is read on but no longer matters.
type parser struct{ first *DefinitionError }

func (p *parser) fail(at, format string, args ...any) {
	if p.first == nil {
		p.first = &DefinitionError{Path: at, Problem: fmt.Sprintf(format, args...)}
	}
}

func (p *parser) path(at string, v any) *path {
	text, ok := v.(string)
	if !ok {
		p.fail(at, "a path must be a string")
		return &path{}
	}
	found, err := parsePath(text)
	if err != nil {
		p.fail(at, "%v", err)
		return &path{}
	}
	return found
}

func join(at string, step any) string { return fmt.Sprintf("%s/%v", at, step) }

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// fields reads the fields of one object and remembers which were asked for, so that rest can refuse the others.
type fields struct {
	p     *parser
	at    string
	all   map[string]any
	taken map[string]bool
}

func (p *parser) fields(at string, v any) *fields {
	all, ok := v.(map[string]any)
	if !ok {
		p.fail(at, "an object is needed here")
	}
	f := &fields{p: p, at: at, all: all, taken: map[string]bool{"Comment": true}}
	if c, given := all["Comment"]; given {
		if _, ok := c.(string); !ok {
			p.fail(join(at, "Comment"), "a comment must be a string")
		}
	}
	return f
}

// rest refuses every field that nobody took.
func (f *fields) rest() {
	for _, name := range sortedNames(f.all) {
		if !f.taken[name] {
			f.p.fail(join(f.at, name), "the field %s is not supported here", name)
		}
	}
}

func (f *fields) take(name string) (any, bool) {
	f.taken[name] = true
	v, ok := f.all[name]
	return v, ok
}

func (f *fields) fail(name, format string, args ...any) {
	f.p.fail(join(f.at, name), format, args...)
}

// text reads a non-empty string; absent is "".
func (f *fields) text(name string) string {
	v, ok := f.take(name)
	if !ok {
		return ""
	}
	s, isText := v.(string)
	if !isText || s == "" {
		f.fail(name, "a non-empty string is needed")
	}
	return s
}

func (f *fields) needText(name string) string {
	s := f.text(name)
	if _, ok := f.all[name]; !ok {
		f.p.fail(f.at, "the field %s is missing", name)
	}
	return s
}

// whole reads an integer within [low, high]; absent is byDefault.
func (f *fields) whole(name string, low, high, byDefault int64) int64 {
	v, ok := f.take(name)
	if !ok {
		return byDefault
	}
	n, isWhole := wholeNumber(v)
	if !isWhole || n < low || n > high {
		f.fail(name, "a whole number from %d to %d is needed", low, high)
		return byDefault
	}
	return n
}

func wholeNumber(v any) (int64, bool) {
	number, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(number.String(), 10, 64)
	return n, err == nil
}

// refPath reads a path field; absent is nil.
func (f *fields) refPath(name string) *path {
	v, ok := f.take(name)
	if !ok {
		return nil
	}
	return f.p.path(join(f.at, name), v)
}

func (f *fields) template(name string) *template {
	v, ok := f.take(name)
	if !ok {
		return nil
	}
	if _, isObject := v.(map[string]any); !isObject {
		f.fail(name, "an object is needed here")
		return nil
	}
	return f.p.compileTemplate(join(f.at, name), v)
}

// filter is an InputPath, OutputPath or ResultPath: absent, null, or a path.
type filter struct {
	path *path
	null bool
}

func (f *fields) filter(name string) filter {
	v, ok := f.take(name)
	switch {
	case !ok:
		return filter{}
	case v == nil:
		return filter{null: true}
	}
	p := f.p.path(join(f.at, name), v)
	if len(p.steps) == 0 && !p.context {
		return filter{}
	}
	return filter{path: p}
}

// resultPath is a filter that is written to: only fields of objects, never the context object.
func (f *fields) resultPath() filter {
	r := f.filter("ResultPath")
	if r.path == nil {
		return r
	}
	if r.path.context {
		f.fail("ResultPath", "the context object cannot be written to")
	}
	for _, s := range r.path.steps {
		if s.isIndex {
			f.fail("ResultPath", "a ResultPath into a list is not supported")
		}
	}
	return r
}

// list reads a non-empty list of at most max items; absent is nil.
func (f *fields) list(name string, max int) []any {
	v, ok := f.take(name)
	if !ok {
		return nil
	}
	items, isList := v.([]any)
	if !isList || len(items) == 0 || len(items) > max {
		f.fail(name, "a list of 1 to %d items is needed", max)
		return nil
	}
	return items
}
