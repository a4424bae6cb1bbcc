package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/internal/flow"
	"holdfast/internal/flow/compile"
)

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, problem string }{
		{`^[A-Z]{3}-[0-9]{9}$`, ""},
		{`^(a|b)+$`, ""},
		{`[`, "cannot be"},
		{`(abcdefghij){500}`, "instructions, allowed are 1000"},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			t.Parallel()
			text := fmt.Sprintf("flow: f\nversion: 1\nowner: o@example.com\ntrigger: { source: standard, topic: t, when: 'body.code.matches(\"%s\")' }\n"+
				"approval: none\nsend_within: 24h\nstages:\n  - name: act\n    key: [body.code]\n    target: generic-key\n    content: { effect: { kind: x } }\n", c.pattern)
			file, findings := flow.Parse("f.yaml", []byte(text))
			if err := findings.Err(); err != nil {
				t.Fatal(err)
			}
			_, err := compile.Compile(file, testTargets())
			if c.problem == "" && err != nil || c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
				t.Errorf("error %v, want %q", err, c.problem)
			}
		})
	}
}
