package cli

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// calls that end before any ledger is looked for.
var calls = []struct {
	args string
	code int
	out  string // a part of standard output
	err  string // a part of standard error
}{
	{"", 0, "holdfast <command>", ""},
	{"--help", 0, "inspect <id>", ""},
	{"local --help", 0, "--data=DIR", ""},
	{"--version", 0, "holdfast ", ""},
	{"inspec x", 2, "", `did you mean "inspect"?`},
	{"nonsense", 2, "", "unexpected argument nonsense\nSee: holdfast --help"},
	{"--nonsense", 2, "", "unknown flag --nonsense"},
	{"inspect", 2, "", `expected "<id>"` + "\nSee: holdfast inspect --help"},
	{"inspect a b", 2, "", "unexpected argument b"},
	{"inspect op_x", 1, "", "start `holdfast local`"},
	{"inspect op_x --laptop http://127.0.0.1:1", 2, "", "no laptop was announced at http://127.0.0.1:1"},
	{"local --port x", 2, "", "--port"},
	{"local --port=-1", 2, "", "from 0, which picks one, to 65535"},
	{"local --port 65536", 2, "", "from 0, which picks one, to 65535"},
	{"local --flows /nowhere/at/all", 2, "", "--flows"},
	{"local --target hubspot-task", 2, "", "is not NAME=URL"},
	{"local --target hubspot-task=http://example.com", 2, "", "must be https"},
	{"local --port 0 --target nobody=http://127.0.0.1:1", 1, "", "there is no such profile"},
	{"again run_x --yes", 2, "", "--as PERSON"},
	{"again run_x --second email", 2, "", "--nonce TEXT"},
	{"again run_x", 1, "", "start `holdfast local`"},
	{"stop run_x", 2, "", "--as=PERSON"},
	{"stop run_x --as a@example.com", 2, "", "--how=WHY"},
	{"resolve", 2, "", `expected "<id>"`},
	{"resolve at_x", 2, "", "begin with op_, run_ or ev_"},
	{"resolve op_x --answer approve", 2, "", "--as PERSON"},
	{"resolve op_x --minutes=-1", 2, "", "cannot be negative"},
	{"resolve op_x", 1, "", "start `holdfast local`"},
	{"accept", 2, "", "--as=PERSON"},
	{"bench --runs 0", 2, "", "at least 1"},
	{"bench --faults lost", 2, "", "lost=P or err=P"},
	{"bench --faults lost=2", 2, "", "from 0 to 1"},
	{"bench --faults lost=NaN", 2, "", "from 0 to 1"},
	{"bench --faults gone=0.1", 2, "", "allowed are lost and err"},
	{"validate", 0, "All flows and targets are valid.", ""},
	{"validate --json", 0, `{"valid":true,"findings":[]}`, ""},
	{"validate extra", 2, "", "unexpected argument extra"},
}

func TestCalls(t *testing.T) {
	home(t)
	for _, tt := range calls {
		t.Run("holdfast "+tt.args, func(t *testing.T) {
			got := holdfast(t, strings.Fields(tt.args)...)
			if got.code != tt.code || !strings.Contains(got.out, tt.out) || !strings.Contains(got.err, tt.err) {
				t.Errorf("%d\n%s\n%s", got.code, got.out, got.err)
			}
			if (got.code != 0) == (got.err == "") || (got.code == 2 && got.out != "") {
				t.Errorf("an error on the wrong stream: %d %q %q", got.code, got.out, got.err)
			}
			if strings.Contains(got.err, "goroutine") || strings.Contains(got.err, ".go:") {
				t.Errorf("a stack: %s", got.err)
			}
		})
	}
}

// Every command says what it is for, and every flag says what it does.
func TestHelpIsComplete(t *testing.T) {
	home(t)
	for name := range strings.FieldsSeq("local acceptance validate send inspect again stop resolve bench accept") {
		got := holdfast(t, name, "--help")
		if got.code != 0 || got.err != "" {
			t.Errorf("%s: %d %s", name, got.code, got.err)
		}
		text := strings.Split(got.out, "\n")
		for i, line := range text {
			flag := strings.TrimSpace(line)
			if strings.HasPrefix(flag, "--") && !strings.Contains(flag, "  ") && (i+1 == len(text) || strings.TrimSpace(text[i+1]) == "") {
				t.Errorf("%s: %s is not explained", name, flag)
			}
		}
	}
}

func folder(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBrokenFilesAreNamedWithTheirLine(t *testing.T) {
	home(t)
	dir := folder(t, "broken.yaml", "flow: broken\nversion: 1\nwhat: 2\n")
	for _, args := range [][]string{{"validate", "--flows", dir}, {"local", "--port", "0", "--flows", dir}} {
		got := holdfast(t, args...)
		if got.code != 1 || !strings.Contains(got.out+got.err, "broken.yaml:3") {
			t.Errorf("%v: %d\n%s\n%s", args, got.code, got.out, got.err)
		}
	}
	got := holdfast(t, "validate", "--json", "--flows", dir)
	v := value[struct {
		Valid    bool  `json:"valid"`
		Findings []any `json:"findings"`
	}](t, got)
	if got.code != 1 || v.Valid || len(v.Findings) == 0 {
		t.Errorf("%d %s", got.code, got.out)
	}
	targets := folder(t, "broken.yaml", "name: broken\nwhat: 2\n")
	if got := holdfast(t, "validate", "--targets", targets); got.code != 1 || !strings.Contains(got.out+got.err, "broken.yaml") {
		t.Errorf("%d\n%s\n%s", got.code, got.out, got.err)
	}
}

func TestPortAndDataInUse(t *testing.T) {
	home(t)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_, port, _ := net.SplitHostPort(other.Addr().String())
	if got := holdfast(t, "local", "--port", port); got.code != 1 || !strings.Contains(got.err, "choose another with --port") {
		t.Errorf("%d %s", got.code, got.err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	l := begin(t, "--data", dir)
	if got := holdfast(t, "local", "--port", "0", "--data", dir); got.code != 1 || !strings.Contains(got.err, "stop the `holdfast local` that uses it") {
		t.Errorf("%d %s", got.code, got.err)
	}
	if got := l.stop(); got.code != 0 || !strings.Contains(got.err, "stopping") {
		t.Errorf("%d %s", got.code, got.err)
	}
	file := folder(t, "file", "")
	if got := holdfast(t, "local", "--port", "0", "--data", filepath.Join(file, "file", "x")); got.code != 1 || !strings.Contains(got.err, "name one that you may write") {
		t.Errorf("%d %s", got.code, got.err)
	}
}

func TestBenchCounts(t *testing.T) {
	home(t)
	got := holdfast(t, "bench", "--runs", "3", "-c", "2", "--json")
	v := value[map[string]any](t, got)
	if got.code != 0 || v["effects"] != 6.0 || v["duplicates"] != 0.0 || v["unowned"] != 0.0 {
		t.Errorf("%d %s %s", got.code, got.out, got.err)
	}
}
