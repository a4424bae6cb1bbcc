package simtarget

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"holdfast/internal/syntax"
)

// lineError is a fault in a data file before the file's name is known.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

func atLine(n *yaml.Node, text string) error { return &lineError{n.Line, text} }

// Load reads every *.yaml file at the root of fsys and returns the targets ordered by name. Its error names file
// and line of every fault found and what is allowed there.
func Load(fsys fs.FS) ([]Spec, error) {
	files, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("no simulated targets found: put one NAME.yaml for each target into the folder")
	}
	var specs []Spec
	var faults []error
	for _, file := range files {
		spec, err := loadFile(fsys, file)
		specs, faults = append(specs, spec), append(faults, err)
	}
	slices.SortFunc(specs, func(a, b Spec) int { return strings.Compare(a.Target, b.Target) })
	return specs, errors.Join(faults...)
}

func loadFile(fsys fs.FS, file string) (Spec, error) {
	raw, err := fs.ReadFile(fsys, file)
	if err != nil {
		return Spec{}, err
	}
	if len(raw) > specBytesMax {
		return Spec{}, fmt.Errorf("%s:1: the file is larger than %d bytes", file, specBytesMax)
	}
	spec, faults := parse(raw)
	if len(faults) == 0 && spec.Target != strings.TrimSuffix(path.Base(file), ".yaml") {
		faults = append(faults, &lineError{1, fmt.Sprintf("target is %q, so the file has to be %s.yaml", spec.Target, spec.Target)})
	}
	for i, f := range faults {
		faults[i] = inFile(file, f)
	}
	return spec, errors.Join(faults...)
}

func inFile(file string, err error) error {
	var l *lineError
	if errors.As(err, &l) {
		return fmt.Errorf("%s:%d: %s", file, l.line, l.text)
	}
	return fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
}

func parse(raw []byte) (Spec, []error) {
	var doc yaml.Node
	var spec Spec
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		line, problem := syntax.Fault(raw, err)
		return spec, []error{&lineError{line, "this is not YAML: " + problem}}
	}
	if len(doc.Content) == 0 {
		return spec, []error{&lineError{1, "the file is empty"}}
	}
	if faults := checkShape(doc.Content[0], reflect.TypeFor[Spec]()); len(faults) > 0 {
		return spec, faults
	}
	if err := doc.Decode(&spec); err != nil {
		return spec, mistyped(err)
	}
	spec.prepare()
	return spec, checkMeaning(spec)
}

var typeFault = regexp.MustCompile(`^line (\d+): (.*)$`)

// mistyped gives the library's complaints about values of a wrong type their lines.
func mistyped(err error) []error {
	var all *yaml.TypeError
	if !errors.As(err, &all) {
		return []error{err}
	}
	var out []error
	for _, text := range all.Errors {
		var line int
		if m := typeFault.FindStringSubmatch(text); m != nil {
			line, _ = strconv.Atoi(m[1]) // the pattern takes digits only
			text = m[2]
		}
		out = append(out, &lineError{max(line, 1), text})
	}
	return out
}

var leafTypes = []reflect.Type{reflect.TypeFor[Template](), reflect.TypeFor[Span](), reflect.TypeFor[Fact]()}

// checkShape compares a document with the Go type that will hold it: unknown, repeated and missing fields.
func checkShape(n *yaml.Node, t reflect.Type) []error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case slices.Contains(leafTypes, t):
		return nil
	case t.Kind() == reflect.Struct:
		return checkStruct(n, t)
	case t.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode:
		return checkEach(n.Content, t.Elem())
	case t.Kind() == reflect.Map && n.Kind == yaml.MappingNode:
		return checkValues(n, t.Elem())
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map:
		return []error{atLine(n, "expected a "+map[bool]string{true: "list", false: "mapping"}[t.Kind() == reflect.Slice])}
	}
	return nil
}

func checkEach(nodes []*yaml.Node, t reflect.Type) (faults []error) {
	for _, n := range nodes {
		faults = append(faults, checkShape(n, t)...)
	}
	return faults
}

func checkValues(n *yaml.Node, t reflect.Type) (faults []error) {
	for i := 1; i < len(n.Content); i += 2 {
		faults = append(faults, checkShape(n.Content[i], t)...)
	}
	return faults
}

func checkStruct(n *yaml.Node, t reflect.Type) (faults []error) {
	if n.Kind != yaml.MappingNode {
		return []error{atLine(n, "expected a mapping with: "+strings.Join(fieldNames(t), ", "))}
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		name := n.Content[i]
		field, known := fieldNamed(t, name.Value)
		switch {
		case !known:
			faults = append(faults, atLine(name, fmt.Sprintf("unknown field %q; allowed: %s", name.Value, strings.Join(fieldNames(t), ", "))))
		case seen[name.Value]:
			faults = append(faults, atLine(name, fmt.Sprintf("field %q stands here twice", name.Value)))
		default:
			faults = append(faults, checkShape(n.Content[i+1], field.Type)...)
		}
		seen[name.Value] = true
	}
	for _, name := range fieldNames(t) {
		if f, _ := fieldNamed(t, name); f.Tag.Get("need") == "yes" && !seen[name] {
			faults = append(faults, atLine(n, fmt.Sprintf("field %q is missing", name)))
		}
	}
	return faults
}

func fieldNames(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		if name := f.Tag.Get("yaml"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	for f := range t.Fields() {
		if name != "" && f.Tag.Get("yaml") == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

var targetName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// checkMeaning finds what the shape cannot show: references to nothing, and routes that do nothing or two things.
func checkMeaning(s Spec) (faults []error) {
	if !targetName.MatchString(s.Target) {
		faults = append(faults, &lineError{1, fmt.Sprintf("target %q: use up to 40 small letters, digits and hyphens", s.Target)})
	}
	seen := map[string]bool{}
	for _, r := range s.Routes {
		for _, text := range routeFaults(s, r) {
			faults = append(faults, &lineError{r.line, fmt.Sprintf("route %q: %s", r.Name, text)})
		}
		if seen[r.Name] {
			faults = append(faults, &lineError{r.line, fmt.Sprintf("route %q stands here twice", r.Name)})
		}
		seen[r.Name] = true
	}
	return faults
}

func routeFaults(s Spec, r Route) (faults []string) {
	if n := countSet(r.Effect, r.Get, r.List, r.Archive); n != 1 {
		faults = append(faults, fmt.Sprintf("has %d of effect, get, list, archive; it needs exactly one", n))
	}
	if !strings.HasPrefix(r.Path, "/") {
		faults = append(faults, "path has to start with /")
	}
	for _, name := range collectionsOf(r) {
		if _, known := s.Collections[name]; !known {
			known := strings.Join(slices.Sorted(maps.Keys(s.Collections)), ", ")
			faults = append(faults, fmt.Sprintf("unknown collection %q; known: %s", name, known))
		}
	}
	for i, rej := range r.Rejects {
		if n := countSet(rej.Longer, rej.Equals, rej.Absent); n+countMissing(rej) != 1 {
			faults = append(faults, fmt.Sprintf("reject %d needs exactly one of missing, longer, equals, absent", i+1))
		}
	}
	if r.Effect != nil && r.Effect.Natural != nil {
		faults = append(faults, naturalFaults(*r.Effect.Natural)...)
	}
	return faults
}

func naturalFaults(n Natural) (faults []string) {
	if !slices.Contains([]string{againUpdate, againSame, againConflict}, n.Again) {
		faults = append(faults, fmt.Sprintf("again is %q; allowed: update, same, conflict", n.Again))
	}
	if !slices.Contains([]string{"", archivedFrees, archivedHolds}, n.Archived) {
		faults = append(faults, fmt.Sprintf("archived is %q; allowed: frees, holds", n.Archived))
	}
	if (n.Again == againConflict || n.Archived == archivedHolds) && n.Conflict == nil {
		faults = append(faults, "natural needs a conflict answer")
	}
	return faults
}

func countMissing(r Reject) int {
	if r.Missing.node == nil {
		return 0
	}
	return 1
}

func countSet(pointers ...any) (n int) {
	for _, p := range pointers {
		if !reflect.ValueOf(p).IsNil() {
			n++
		}
	}
	return n
}

func collectionsOf(r Route) (names []string) {
	for _, rej := range r.Rejects {
		if rej.Absent != nil {
			names = append(names, rej.Absent.In)
		}
	}
	switch {
	case r.Effect != nil:
		names = append(names, r.Effect.In)
	case r.Get != nil:
		names = append(names, r.Get.By.In)
	case r.List != nil:
		names = append(names, r.List.By.In)
	case r.Archive != nil:
		names = append(names, r.Archive.By.In)
	}
	return names
}
