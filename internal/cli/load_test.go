package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/load"
)

func TestLoad(t *testing.T) {
	home(t)
	got := holdfast(t, "load", "runs", "--runs", "6", "--seed", "9", "--json")
	r := value[load.Result](t, got)
	if got.code != exitDone || !strings.Contains(got.err, "seed 9\n") || r.Seed != 9 || r.Runs == nil || r.Storm != nil {
		t.Fatalf("%d %s\n%s", got.code, got.out, got.err)
	}
	if d := cmp.Diff(map[string]int{"done": 6}, r.Runs.Count.Runs); d != "" {
		t.Error(d)
	}
	said := holdfast(t, "load", "runs", "--runs", "4")
	if said.code != exitDone || !strings.Contains(said.out, "every promise held (seed ") {
		t.Errorf("%d %s\n%s", said.code, said.out, said.err)
	}
	for _, args := range [][]string{{"load", "rain"}, {"load", "--runs", "3"}, {"load", "storm", "--concurrency", "0"}} {
		if bad := holdfast(t, args...); bad.code != exitUsage || bad.out != "" {
			t.Errorf("%v: %d %s", args, bad.code, bad.out)
		}
	}
}

// A broken promise is said, and is the exit code.
func TestLoadTellsWhatIsBroken(t *testing.T) {
	t.Parallel()
	var out, errOut strings.Builder
	err := (&loadCmd{}).report(load.Result{Broken: []string{"storm: 1 effects happened twice"}}, &streams{strings.NewReader(""), &out, &errOut})
	if exitCode(err, &errOut) != exitFail || !strings.Contains(errOut.String(), "broken: storm: 1 effects happened twice") || strings.Contains(out.String(), "held") {
		t.Errorf("%v %s %s", err, out.String(), errOut.String())
	}
}
