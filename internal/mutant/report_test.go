package mutant

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func someResults() []Result {
	a := Mutant{Name: "R04-a", Rule: 4, Wrong: "a | b", Harm: "Two e-mails."}
	return []Result{
		{Mutant: &a, Verdict: Killed, By: []string{"TestA/one", "TestA/two", "TestB", "TestC", "TestD"}, Killer: "test a TestA", Timeout: true, Took: 1500 * time.Millisecond},
		{Mutant: &a, Took: time.Second},
		{Mutant: &a, Verdict: Broken, Killer: "test b TestB", Detail: "it does not compile"},
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		write func(*strings.Builder) error
		want  string
	}{
		"table": {func(b *strings.Builder) error { return WriteTable(b, someResults()) }, `MUTANT  RULE  KILLED BY                                 SECONDS
R04-a   R4    TestA, TestB, 2 more (by its time limit)  1.5
R04-a   R4    SURVIVED                                  1.0
R04-a   R4    BROKEN: test b TestB                      0.0
3 mutants: 1 killed, 1 survived, 1 broken, 2 s of work
`},
		"markdown": {func(b *strings.Builder) error { return WriteMarkdown(b, someResults()) }, `| rule | what is wrong | killed by |
|---|---|---|
| R4 | a \| b | TestA, TestB, 2 more (by its time limit) |
| R4 | a \| b | SURVIVED |
| R4 | a \| b | BROKEN: test b TestB |

3 mutants: 1 killed, 1 survived, 1 broken, 2 s of work.
`},
		"JSON": {func(b *strings.Builder) error { return WriteJSON(b, someResults()[1:2]) }, `{
  "mutants": [
    {
      "name": "R04-a",
      "rule": "R4",
      "wrong": "a | b",
      "harm": "Two e-mails.",
      "verdict": "survived",
      "seconds": 1
    }
  ],
  "killed": 0,
  "survived": 1,
  "broken": 0
}
`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			if err := tt.write(&b); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
