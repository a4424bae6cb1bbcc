package syntax_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"holdfast/internal/syntax"
)

func TestFaultNamesTheLineThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, src string
		line      int
	}{
		{"open list", "a: 1\nb: 2\nc: [1, 2\nd: 3\n", 3},
		{"open mapping in the first line", "t: { source: x\nb: 2\n", 1},
		{"two colons", "a: 1\nb: 2\nc: d: e\nf: 3\n", 3},
		{"indentation", "a: 1\nstages:\n  - name: x\n    key: y\n   target: z\n    b: 1\n", 5},
		{"tab", "a: 1\nb:\n  c: 1\n\td: 2\n", 4},
		{"open quote", "a: 1\nb: 'it is\nc: 2\n", 2},
		{"last line without an end", "a: 1\nb: [", 2},
		{"long file", strings.Repeat("a:\n", 3) + strings.Repeat("# x\n", 2500) + "b: [\n", 2504},
		{"a bracket that nothing closes in a long file", "a: 1\nb: [\n" + strings.Repeat("[c, d],\n", 1990), 1992}, // the library's own line
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var doc yaml.Node
			err := yaml.Unmarshal([]byte(c.src), &doc)
			if err == nil {
				t.Fatal("it is YAML")
			}
			line, problem := syntax.Fault([]byte(c.src), err)
			if line != c.line || problem == "" || strings.HasPrefix(problem, "yaml:") {
				t.Errorf("line %d, want %d: %q (the library says %v)", line, c.line, problem, err)
			}
		})
	}
}
