package mutant

import (
	"strings"
	"testing"

	"holdfast/internal/clock"
)

const toolMutant = "rule: R4\nwrong: w\nharm: h\nkill: test a TestOne\n\n--- old a/a.go\n\tx := 1\n--- new\n"

func toolTree(t *testing.T, mutant string) string {
	t.Helper()
	return tree(t, map[string]string{
		"go.mod":                    "module m\n",
		"a/a.go":                    "package a\n\nfunc two() int {\n\tx := 1\n\treturn 1\n}\n",
		"a/a_test.go":               "package a\n\nfunc TestOne(t *testing.T) {}\n",
		Folder + "/R04-a.txt":       mutant,
		Folder + "/R04-b-other.txt": mutant,
	})
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args    string
		mutant  string
		answers map[string]Output
		code    int
		stdout  string
		stderr  string
	}{
		"all killed":       {"", toolMutant, map[string]Output{"-overlay": red}, ExitKilled, "2 mutants: 2 killed", "2/2 R04-"},
		"one survived":     {"", toolMutant, nil, ExitSurvived, "2 mutants: 0 killed, 2 survived", "SURVIVED"},
		"one broken":       {"", toolMutant, map[string]Output{"-overlay": bad}, ExitBroken, "0 survived, 2 broken", "it does not compile"},
		"control is red":   {"", toolMutant, map[string]Output{"./a": red}, ExitBroken, "", "control: the unchanged tree fails TestA"},
		"JSON":             {"--json", toolMutant, map[string]Output{"-overlay": red}, ExitKilled, `"killed": 2`, "control:"},
		"markdown":         {"--markdown", toolMutant, map[string]Output{"-overlay": red}, ExitKilled, "| R4 | w | TestA |", "control:"},
		"list":             {"--list", toolMutant, map[string]Output{"./a": red}, ExitKilled, "R04-b-other  R4  w", ""},
		"only":             {"--only other", toolMutant, map[string]Output{"-overlay": red}, ExitKilled, "1 mutants: 1 killed", "1/1 R04-b-other: TestA"},
		"sample":           {"--sample 1 --seed 7", toolMutant, map[string]Output{"-overlay": red}, ExitKilled, "1 mutants: 1 killed", "--sample 1 --seed 7"},
		"sample by chance": {"--sample 1", toolMutant, map[string]Output{"-overlay": red}, ExitKilled, "1 mutants: 1 killed", "the same again: --sample 1 --seed 1"},
		"simulation alone": {"--simulate 40 --seed 7", toolMutant, map[string]Output{"holdfast simulate --seeds 40 --no-shrink --json --seed 7": {Stdout: []byte(`{}`)}, "./a": red}, ExitSurvived, "2 mutants: 0 killed, 2 survived", ""},
		"old text gone":    {"", strings.Replace(toolMutant, "x := 1", "x := 2", 1), nil, ExitBroken, "", "R04-a.txt:6: the old text stands 0 times in a/a.go"},
		"two faults":       {"", strings.Replace(toolMutant, "rule", "rul", 1), nil, ExitBroken, "", "R04-b-other.txt:1:"},
		"no such name":     {"--only nothing", toolMutant, nil, ExitBroken, "", "no mutant's name matches nothing"},
		"unknown flag":     {"--fast", toolMutant, nil, ExitBroken, "", "flag provided but not defined: -fast"},
		"an argument":      {"R04", toolMutant, nil, ExitBroken, "", "mutants takes only flags"},
		"help":             {"--help", toolMutant, nil, ExitKilled, "", "-sample"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr strings.Builder
			s := &stub{answers: tt.answers}
			tool := &Tool{Root: toolTree(t, tt.mutant), Command: s.run, Clock: clock.New(), Stdout: &stdout, Stderr: &stderr}
			if code := tool.Main(t.Context(), strings.Fields(tt.args)); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(stdout.String(), tt.stdout) || !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("stdout %q\nstderr %q", stdout.String(), stderr.String())
			}
		})
	}
}

func TestFindRoot(t *testing.T) {
	t.Parallel()
	at := toolTree(t, toolMutant)
	if got, err := FindRoot(at + "/" + Folder); err != nil || got != at {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := FindRoot(t.TempDir()); err == nil || !strings.Contains(err.Error(), "call it inside the project") {
		t.Errorf("got %v", err)
	}
}
