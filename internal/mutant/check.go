package mutant

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// faults collects errors, so that one call shows all.
type faults []error

func (f *faults) add(err error) {
	if err != nil {
		*f = append(*f, err)
	}
}

func (f faults) err() error { return errors.Join(f...) }

// Check says whether the mutants fit the tree: each old text stands there once, each changed file still reads as what
// it is, and each killer exists.
func Check(root string, mutants []Mutant) error {
	var all faults
	tests := map[string][]string{}
	for i := range mutants {
		m := &mutants[i]
		_, err := m.Changed(root)
		all.add(err)
		for _, k := range m.Killers {
			all.add(m.killerExists(root, k, tests))
		}
	}
	return all.err()
}

// Changed is the text of each file that the mutant changes, by its path from the root.
func (m *Mutant) Changed(root string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, e := range m.Edits {
		text, ok := out[e.File]
		if !ok {
			var err error
			if text, err = os.ReadFile(filepath.Join(root, filepath.FromSlash(e.File))); err != nil {
				return nil, m.fault(e.Line, "%v", err)
			}
		}
		at := places(string(text), e.Old)
		if len(at) != 1 {
			return nil, m.fault(e.Line, "the old text stands %d times in %s and must stand there once: the code has changed, so read it and write this mutant again", len(at), e.File)
		}
		out[e.File] = slices.Concat(text[:at[0]], []byte(e.New), text[at[0]+len(e.Old):])
	}
	for file, text := range out {
		if err := reads(file, text); err != nil {
			return nil, m.fault(m.Edits[0].Line, "%s would no longer read: %v", file, err)
		}
	}
	return out, nil
}

func (m *Mutant) fault(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", m.Path, line, fmt.Sprintf(format, args...))
}

// places are the beginnings of lines at which the old lines stand.
func places(text, old string) []int {
	var at []int
	for from := 0; from < len(text); {
		i := strings.Index(text[from:], old)
		if i < 0 {
			break
		}
		if i += from; i == 0 || text[i-1] == '\n' {
			at = append(at, i)
		}
		from = i + 1
	}
	return at
}

// reads says whether a changed file is still formatted Go, or JSON.
func reads(file string, text []byte) error {
	switch filepath.Ext(file) {
	case ".go":
		formatted, err := format.Source(text)
		if err == nil && string(formatted) != string(text) {
			err = errors.New("it is not formatted as gofmt does")
		}
		return err
	case ".json":
		if !json.Valid(text) {
			return errors.New("it is not JSON")
		}
	}
	return nil
}

// killerExists says whether a killer's tests are there. The compiler finds what a killer's package lacks; a test that
// was renamed would only run nothing.
func (m *Mutant) killerExists(root string, k Killer, known map[string][]string) error {
	if k.Package == "" {
		return nil
	}
	names, ok := known[k.Package]
	if !ok {
		var err error
		if names, err = testsIn(filepath.Join(root, filepath.FromSlash(k.Package))); err != nil {
			return m.fault(k.Line, "%v", err)
		}
		known[k.Package] = names
	}
	for _, t := range k.Tests {
		if !slices.Contains(names, t) {
			return m.fault(k.Line, "%s has no test %s", k.Package, t)
		}
	}
	return nil
}

var testShape = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)

func testsIn(folder string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there are no tests in %s", folder)
	}
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, f := range testShape.FindAllStringSubmatch(string(text), -1) {
			names = append(names, f[1])
		}
	}
	return names, nil
}
