package structure

import (
	"go/ast"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// deps are the packages that a package links, itself included.
func deps(t *testing.T, pkg string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", pkg)
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list -deps %s: %v", pkg, err)
	}
	return strings.Fields(string(out))
}

func TestTheCoreImportsOnlyTheStandardLibrary(t *testing.T) {
	t.Parallel()
	if got := deps(t, "./internal/operation"); !slices.Equal(got, []string{"holdfast/internal/operation"}) {
		t.Errorf("internal/operation links %v", got)
	}
}

// A webhook answers within the sender's patience; what it does not link cannot slow its start or act in it.
func TestTheWebhookLinksNeitherExpressionsNorTargets(t *testing.T) {
	t.Parallel()
	for _, dep := range deps(t, "./functions/webhook") {
		for _, no := range []string{"github.com/google/cel-go", "holdfast/internal/flow/compile", "holdfast/internal/target", "holdfast/targets"} {
			if dep == no || strings.HasPrefix(dep, no+"/") {
				t.Errorf("functions/webhook links %s", dep)
			}
		}
	}
}

// readers may read the machine's time or wait on it, with the reason why.
var readers = map[string]string{
	"internal/clock": "the one place that does",
}

// chancers may make randomness, with the reason why.
var chancers = map[string]string{
	"internal/app":                      "gives ids, codes and write ids to everything else",
	"internal/local":                    "gives the laptop's app its randomness, and makes the keys of a new data folder",
	"internal/local/dynamo":             "a server makes the ids of its requests and tables",
	"internal/local/dynamo/conformance": "names tables on an endpoint that others may use too",
	"internal/local/simtarget":          "seeded: a target's own ids, and faults that strike by chance",
	"internal/sim":                      "seeded: the ids and codes of simulated processes",
}

var timeReads = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

func TestOnlyTheClockReadsTheTime(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		name := imported(s.file, "time")
		if name == "" || readers[s.folder()] != "" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains(timeReads, sel.Sel.Name) {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
				t.Errorf("%s: time.%s: read the clock that is given", s.at(n), sel.Sel.Name)
			}
			return true
		})
	}
}

func TestOnlyFewMakeRandomness(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, p := range []string{"crypto/rand", "math/rand", "math/rand/v2"} {
			if imported(s.file, p) != "" && !s.isTest() && chancers[s.folder()] == "" {
				t.Errorf("%s imports %s: take ids and randomness as they are given", s.path, p)
			}
		}
	}
}

// imported is the name under which a file uses a package; empty when it does not.
func imported(f *ast.File, want string) string {
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil || p != want {
			continue
		}
		if i.Name != nil {
			return i.Name.Name
		}
		if base := path.Base(p); base != "v2" {
			return base
		}
		return path.Base(path.Dir(p))
	}
	return ""
}
