package mutant

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/internal/clock"
)

// realTree is a project of its own with one package, one embedded file, and tests that can notice.
func realTree(t *testing.T) string {
	return tree(t, map[string]string{
		"go.mod":     "module m\n\ngo 1.26\n",
		"a/rule.txt": "once\n",
		"a/a.go":     "package a\n\nimport _ \"embed\"\n\n//go:embed rule.txt\nvar Rule string\n\nfunc Sends() int {\n\tn := 1\n\treturn n\n}\n",
		"a/a_test.go": "package a\n\nimport (\n\t\"os/exec\"\n\t\"strings\"\n\t\"testing\"\n)\n\nfunc TestSends(t *testing.T) {\n\tt.Run(\"inside\", func(t *testing.T) {\n\t\tif Sends() != 1 {\n\t\t\tt.Error(\"not once\")\n\t\t}\n\t})\n}\n" +
			"\nfunc TestRule(t *testing.T) {\n\tif Rule != \"once\\n\" {\n\t\tt.Error(Rule)\n\t}\n}\n" +
			"\nfunc TestLinks(t *testing.T) {\n\tout, err := exec.Command(\"go\", \"list\", \"-f\", \"{{.Imports}}\", \".\").Output()\n\tif err != nil || strings.Contains(string(out), \"net/http\") {\n\t\tt.Error(string(out), err)\n\t}\n}\n",
	})
}

// The words of the go command of this release are read as they are, with the change laid over the tree.
func TestRealGoCommand(t *testing.T) {
	t.Parallel()
	change := func(file, old, new string, tests ...string) Mutant {
		m := replacing(file, old, new)
		m.Killers = []Killer{{Package: "a", Tests: tests}}
		return m
	}
	root := realTree(t)
	mutants := []Mutant{
		change("a/a.go", "\tn := 1\n", "\tn := 2\n", "TestRule", "TestSends"),
		change("a/rule.txt", "once\n", "twice\n", "TestRule"),
		change("a/a.go", "import _ \"embed\"\n", "import (\n\t_ \"embed\"\n\t_ \"net/http\"\n)\n", "TestLinks"),
		change("a/a.go", "\tn := 1\n", "\tn := 2\n", "TestRule"),
		change("a/a.go", "\tn := 1\n", "\tvar n string\n", "TestSends"),
	}
	r := &Runner{Root: root, Command: Execute, Clock: clock.New(), Limit: LimitDefault}
	if err := r.Control(t.Context(), mutants); err != nil {
		t.Fatal(err)
	}
	got, err := r.Run(t.Context(), mutants)
	if err != nil {
		t.Fatal(err)
	}
	hangs := change("a/a.go", "\tn := 1\n", "\tn := 1\n\tselect {}\n", "TestSends")
	r.Limit = 500 * time.Millisecond
	late, err := r.Run(t.Context(), []Mutant{hangs})
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, late...)
	want := []Result{
		{Verdict: Killed, By: []string{"TestSends/inside"}},
		{Verdict: Killed, By: []string{"TestRule"}},
		{Verdict: Killed, By: []string{"TestLinks"}},
		{Verdict: Survived},
		{Verdict: Broken},
		{Verdict: Killed, By: []string{"TestSends/inside"}, Timeout: true},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Result{}, "Mutant", "Took", "Killer", "Detail")); diff != "" {
		t.Error(diff)
	}
}

func TestExecute(t *testing.T) {
	t.Parallel()
	out, err := Execute(t.Context(), Call{Folder: t.TempDir(), Argv: []string{"go", "no-such-command"}})
	if err != nil || out.Exit != 2 || len(out.Stderr) == 0 {
		t.Errorf("a program that fails: %+v, %v", out, err)
	}
	if _, err := Execute(t.Context(), Call{Folder: t.TempDir(), Argv: []string{"no-such-program-at-all"}}); err == nil {
		t.Error("a program that is not there ran")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Execute(ctx, Call{Folder: t.TempDir(), Argv: []string{"go", "version"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}
