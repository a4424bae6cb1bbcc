package mutant

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree writes files into a folder of the test's own.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		at := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func someTree(t *testing.T) string {
	return tree(t, map[string]string{
		"a/a.go":      "package a\n\nfunc one() int {\n\treturn 1\n}\n\nfunc two() int {\n\tx := 1\n\treturn 1\n}\n",
		"a/a_test.go": "package a\n\nfunc TestOne(t *testing.T) {}\n",
		"a/m.json":    "{\n  \"retry\": false\n}\n",
		"b/b.go":      "package b\n",
	})
}

func replacing(file, old, new string) Mutant {
	return Mutant{
		Name: "R04-a", Path: "R04-a.txt", Rule: 4, Killers: []Killer{{Line: 4, Package: "a", Tests: []string{"TestOne"}}},
		Edits: []Edit{{File: file, Line: 7, Old: old, New: new}},
	}
}

func TestChangedReplacesWholeLines(t *testing.T) {
	t.Parallel()
	m := replacing("a/a.go", "\tx := 1\n", "")
	m.Edits = append(m.Edits, Edit{File: "a/a.go", Old: "func one() int {\n\treturn 1\n", New: "func one() int {\n\treturn 2\n"}, Edit{File: "a/m.json", Old: "  \"retry\": false\n", New: "  \"retry\": true\n"})
	got, err := m.Changed(someTree(t))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a/a.go":   "package a\n\nfunc one() int {\n\treturn 2\n}\n\nfunc two() int {\n\treturn 1\n}\n",
		"a/m.json": "{\n  \"retry\": true\n}\n",
	}
	if diff := cmp.Diff(want, map[string]string{"a/a.go": string(got["a/a.go"]), "a/m.json": string(got["a/m.json"])}); diff != "" {
		t.Error(diff)
	}
}

func TestCheckNamesWhatDoesNotFitTheTree(t *testing.T) {
	t.Parallel()
	killer := func(pkg string, tests ...string) Mutant {
		m := replacing("a/a.go", "\tx := 1\n", "")
		m.Killers = []Killer{{Line: 4, Package: pkg, Tests: tests}}
		return m
	}
	tests := map[string]struct {
		mutant Mutant
		want   string
	}{
		"gone":             {replacing("a/a.go", "\tx := 2\n", ""), "R04-a.txt:7: the old text stands 0 times in a/a.go and must stand there once: the code has changed"},
		"twice":            {replacing("a/a.go", "\treturn 1\n", ""), "R04-a.txt:7: the old text stands 2 times in a/a.go"},
		"inside of a line": {replacing("a/a.go", "x := 1\n", ""), "R04-a.txt:7: the old text stands 0 times in a/a.go"},
		"no such file":     {replacing("a/c.go", "\tx := 2\n", ""), "R04-a.txt:7: open "},
		"not Go":           {replacing("a/a.go", "\tx := 1\n", "\tx :=\n"), "R04-a.txt:7: a/a.go would no longer read: 9:"},
		"not formatted":    {replacing("a/a.go", "\tx := 1\n", "\tx:=1\n"), "R04-a.txt:7: a/a.go would no longer read: it is not formatted as gofmt does"},
		"not JSON":         {replacing("a/m.json", "  \"retry\": false\n", "  \"retry\":\n"), "R04-a.txt:7: a/m.json would no longer read: it is not JSON"},
		"no such test":     {killer("a", "TestOne", "TestTwo"), "R04-a.txt:4: a has no test TestTwo"},
		"beginning of one": {killer("a", "TestOn"), "R04-a.txt:4: a has no test TestOn"},
		"no tests":         {killer("b", "TestOne"), "R04-a.txt:4: there are no tests in "},
		"no such folder":   {killer("c", "TestOne"), "R04-a.txt:4: there are no tests in "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := Check(someTree(t), []Mutant{tt.mutant}); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	if err := Check(someTree(t), []Mutant{replacing("a/a.go", "\tx := 1\n", "")}); err != nil {
		t.Error(err)
	}
}
