package mutant

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const small = `rule: R4
wrong: The end of a lease counts as not sent.
harm: Two e-mails.
kill: test internal/a TestOne TestTwo
kill: simulate 200

--- old internal/a/a.go
	a := 1

	b := 2
--- new
	a := 2
--- old internal/b/b.go
	c := 3
--- new
`

func TestParseReadsEveryPart(t *testing.T) {
	t.Parallel()
	got, err := Parse("mutants/R04-lease-end.txt", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	want := Mutant{
		Name: "R04-lease-end", Path: "mutants/R04-lease-end.txt", Rule: 4, Wrong: "The end of a lease counts as not sent.", Harm: "Two e-mails.",
		Killers: []Killer{{Line: 4, Package: "internal/a", Tests: []string{"TestOne", "TestTwo"}}, {Line: 5, Seeds: 200}},
		Edits:   []Edit{{File: "internal/a/a.go", Line: 7, Old: "\ta := 1\n\n\tb := 2\n", New: "\ta := 2\n"}, {File: "internal/b/b.go", Line: 13, Old: "\tc := 3\n"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"R4", "test internal/a TestOne TestTwo", "simulate 200"}, []string{got.RuleName(), got.Killers[0].String(), got.Killers[1].String()}); diff != "" {
		t.Error(diff)
	}
}

func TestParseFaultsSayWhere(t *testing.T) {
	t.Parallel()
	swap := func(old, new string) string { return strings.Replace(small, old, new, 1) }
	tests := map[string]struct{ name, text, want string }{
		"name without a rule":   {"lease-end.txt", small, "lease-end.txt:1: the file's name must be a rule and words"},
		"another ending":        {"R04-lease-end.md", small, "R04-lease-end.md:1: the file's name"},
		"name of another rule":  {"R05-lease-end.txt", small, "R05-lease-end.txt:1: the file's name says R05 and its head R4"},
		"no line end":           {"R04-a.txt", strings.TrimSuffix(small, "\n"), "R04-a.txt:1: must end with a line end"},
		"too large":             {"R04-a.txt", small + strings.Repeat("\n", fileBytesMax), "R04-a.txt:1: must end with a line end and have at most 65536 bytes"},
		"no such rule":          {"R04-a.txt", swap("R4", "R14"), `R04-a.txt:1: "R14" is no rule: R1 to R13`},
		"rule 04":               {"R04-a.txt", swap("R4", "R04"), `R04-a.txt:1: "R04" is no rule`},
		"unknown key":           {"R04-a.txt", swap("harm:", "hram:"), `R04-a.txt:3: "hram" is unknown: allowed are rule, wrong, harm and kill`},
		"given twice":           {"R04-a.txt", swap("harm:", "wrong:"), "R04-a.txt:3: wrong is given twice"},
		"no value":              {"R04-a.txt", swap("Two e-mails.", ""), `R04-a.txt:3: "harm: " is no line of the head`},
		"no harm":               {"R04-a.txt", swap("harm: Two e-mails.\n", ""), "R04-a.txt:1: the head needs rule, wrong, harm and at least one kill"},
		"unknown killer":        {"R04-a.txt", swap("test internal/a", "vet internal/a"), `R04-a.txt:4: a killer is "test FOLDER TestName ..." or "simulate SEEDS"`},
		"killer without a test": {"R04-a.txt", swap(" TestOne TestTwo", ""), "R04-a.txt:4: a killer is"},
		"killer outside":        {"R04-a.txt", swap("test internal/a", "test ../a"), "R04-a.txt:4: a killer is"},
		"no seeds":              {"R04-a.txt", swap("simulate 200", "simulate 0"), `R04-a.txt:5: "0" is no number of seeds: 1 to 1000000`},
		"path outside":          {"R04-a.txt", swap("--- old internal/a/a.go", "--- old ../a.go"), `R04-a.txt:7: "../a.go" is no path from the root`},
		"old after old":         {"R04-a.txt", swap("--- new\n\ta := 2\n", ""), "R04-a.txt:11: the old text before has no new text"},
		"new after new":         {"R04-a.txt", swap("--- old internal/b/b.go", "--- new"), `R04-a.txt:13: "--- new" is no section here`},
		"another section":       {"R04-a.txt", swap("--- old internal/b/b.go", "--- then"), `R04-a.txt:13: "--- then" is no section here`},
		"no new text":           {"R04-a.txt", strings.TrimSuffix(small, "--- new\n"), "R04-a.txt:14: needs --- old FILE, its text, and --- new"},
		"nothing replaced":      {"R04-a.txt", swap("--- old internal/b/b.go\n\tc := 3\n", "--- old internal/b/b.go\n"), "R04-a.txt:13: the old text is empty or the same as the new one"},
		"nothing changed":       {"R04-a.txt", swap("\ta := 2\n", "\ta := 1\n\n\tb := 2\n"), "R04-a.txt:7: the old text is empty or the same as the new one"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse(tt.name, []byte(tt.text)); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}
