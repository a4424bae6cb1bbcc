package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/bench"
)

// saidBytesMax is the most that wrong arguments make the command line say, in bytes for each byte of them, and at all.
const (
	saidPerByteMax = 8
	saidMin        = 16 << 10
)

// startless are the commands that start nothing by themselves: without a ledger in reach they end at once.
var startless = []string{"inspect", "again", "stop", "resolve", "remind", "accept", "send"}

// Whatever the arguments are, they are a call that can be run, a call for help, or wrong; a wrong call ends with 2, says
// why and what to do, and has started nothing.
//
//fuzz:slow
func FuzzArguments(f *testing.F) {
	for _, line := range []string{
		"", "--help", "--version", "local --port 99999", "local --port -1 --json", "acceptance --flow", "acceptance --target x=y", "validate --flows /nowhere", "send", "send --flow a --id", "send shopify --body -",
		"inspect", "inspect op_1 run_2", "again op_1 --yes", "again run_1 --second a", "again x_1 --as me", "stop run_1 --as a --how b", "resolve op_1 --answer approve", "resolve op_1 --minutes -1", "resolve ev_1 --minutes 1e9",
		"remind run_1 --laptop http://127.0.0.1:1", "bench --runs 0", "bench --faults lost=NaN", "accept --as a --yes --json", "-", "--", "-v", "local -vvv", "local --verbose=maybe", "\x00", "@file", "${HOME}", "%s%n",
		"inspect --json=false op_1", "again --laptop= run_1", "local --data", "--no-version", "nothing-of-this", "resolve -- -x", "send --id=\xff a",
	} {
		f.Add(strings.ReplaceAll(line, " ", "\n"))
	}
	f.Setenv("HOME", f.TempDir())
	f.Setenv("XDG_CACHE_HOME", "")
	f.Setenv("HOLDFAST_TABLE", "")
	f.Setenv("HOLDFAST_LAPTOP", "")
	f.Fuzz(func(t *testing.T, line string) {
		var out, errOut bytes.Buffer
		s := &streams{strings.NewReader(""), &out, &errOut}
		k, code := parse(t.Context(), strings.Split(line, "\n"), s)
		if k == nil {
			ended(t, line, code, &out, &errOut)
			return
		}
		if name, _, _ := strings.Cut(k.Command(), " "); !slices.Contains(startless, name) {
			return
		}
		code = exitCode(k.Run(), s.err)
		if code != exitFail && code != exitUsage || out.Len() > 0 || !strings.HasPrefix(errOut.String(), "holdfast: ") {
			t.Fatalf("%q without a ledger: %d %q %q", line, code, out.String(), errOut.String())
		}
	})
}

func ended(t *testing.T, line string, code int, out, errOut *bytes.Buffer) {
	t.Helper()
	switch {
	case code == exitDone && out.Len() > 0 && errOut.Len() == 0:
	case code == exitUsage && strings.Contains(errOut.String(), "holdfast: ") && strings.Contains(errOut.String(), "--help\n"):
	default:
		t.Fatalf("%q: %d %q %q", line, code, out.String(), errOut.String())
	}
	if n := out.Len() + errOut.Len(); n > saidMin+saidPerByteMax*len(line) {
		t.Fatalf("%q: %d bytes said", line, n)
	}
}

// A share of faults is a number from 0 to 1, or the call is wrong.
func FuzzFaults(f *testing.F) {
	for _, seed := range []string{"lost=0.1,err=0.2", "lost=NaN", "err=+Inf", "lost=1e-400", "lost", "=1", "lost=0x1p-2", ",", "lost=1_0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var o bench.Options
		err := parseFaults(text, &o)
		if o.Lost < 0 || o.Lost > 1 || o.Err < 0 || o.Err > 1 || o.Lost != o.Lost || o.Err != o.Err || err == nil && text != "" && !strings.Contains(text, "=") {
			t.Fatalf("%q gives %+v: %v", text, o, err)
		}
	})
}
