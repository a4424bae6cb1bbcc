package syntax_test

import (
	"bytes"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"holdfast/internal/syntax"
)

// searchedBytes is the size of a file, in bytes, below which the search never gives up.
const searchedBytes = 1 << 10

// Whatever is not YAML has a line of its own and a complaint; everything before that line alone reads as YAML.
//
//fuzz:slow
func FuzzFault(f *testing.F) {
	for _, seed := range []string{
		"a: [1\nb: 2\n", "a: b: c\n", "\tx", "a:\n  - b\n c: d\n", "'", "a: *none\n", "%YAML 9.9\n---\n", "\xff\xfe\x00", "a: \"\\q\"\n", "- a\nb: c\n", "&a &b c", "!<", "? a\n? b\n:::\n- [", "|\n a\nb",
		strings.Repeat("a: b\n", 300) + "c: [", strings.Repeat("{", 500),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var doc yaml.Node
		err := yaml.Unmarshal(src, &doc)
		if err == nil {
			return
		}
		line, problem := syntax.Fault(src, err)
		lines := bytes.SplitAfter(src, []byte("\n"))
		if line < 1 || line > len(lines) || problem == "" || strings.HasPrefix(problem, "yaml: ") {
			t.Fatalf("line %d of %d: %q", line, len(lines), problem)
		}
		if line > 1 && len(src) < searchedBytes {
			before := bytes.Join(lines[:line-1], nil)
			if err := yaml.Unmarshal(before, &doc); err != nil {
				t.Fatalf("line %d is named, and what stands before it does not read: %v", line, err)
			}
		}
	})
}
