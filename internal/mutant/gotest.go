package mutant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// event is one line of `go test -json`.
type event struct {
	Action      string
	Test        string
	Output      string
	FailedBuild string
}

// tested is what a run of tests showed.
type tested struct {
	ran      bool
	failed   []string // the innermost tests that failed or did not end, in order
	timedOut bool
	crashed  bool   // the package failed and no test of it did
	broken   string // why nothing was shown: it does not compile, or nothing ran
}

const (
	timeoutText   = "panic: test timed out after "
	brokenTextMax = 1500 // bytes of the compiler's words that are shown
)

// readTests reads the output of `go test -json`.
func readTests(out Output) tested {
	var t tested
	var said strings.Builder
	failed := false
	var running []string
	for line := range bytes.Lines(out.Stdout) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			said.Write(line)
			continue
		}
		t.timedOut = t.timedOut || strings.Contains(e.Output, timeoutText)
		running = stillRunning(running, e)
		switch {
		case e.Action == "run":
			t.ran = true
		case e.Action == "build-output":
			said.WriteString(e.Output)
		case e.Action == "build-fail" || e.FailedBuild != "":
			t.broken = "it does not compile"
		case e.Action == "fail" && e.Test != "":
			t.failed = append(t.failed, e.Test)
		case e.Action == "fail":
			failed = true
		}
	}
	if t.timedOut {
		t.failed = append(t.failed, running...)
	}
	t.failed = innermost(t.failed)
	t.crashed = failed && len(t.failed) == 0
	t.judge(out, said.String()+string(out.Stderr))
	return t
}

// stillRunning keeps the tests that began and did not end: those that a time limit cut off are not reported as failed.
func stillRunning(running []string, e event) []string {
	switch e.Action {
	case "run":
		return append(running, e.Test)
	case "pass", "fail", "skip":
		return slices.DeleteFunc(running, func(name string) bool { return name == e.Test })
	}
	return running
}

func (t *tested) judge(out Output, said string) {
	switch {
	case t.broken == "" && out.Exit != 0 && len(t.failed) == 0 && !t.crashed && !t.timedOut:
		t.broken = fmt.Sprintf("go test ended with %d and no test failed", out.Exit)
	case t.broken == "" && !t.ran && !t.crashed:
		t.broken = "no test ran"
	}
	if said = strings.TrimSpace(said); t.broken != "" && said != "" {
		t.broken += ": " + said[:min(len(said), brokenTextMax)]
	}
}

// red says that the tests ran and noticed.
func (t *tested) red() bool { return t.broken == "" && (len(t.failed) > 0 || t.timedOut || t.crashed) }

// innermost leaves out a test that failed only because one inside it did.
func innermost(failed []string) []string {
	return slices.DeleteFunc(slices.Clone(failed), func(name string) bool {
		return slices.ContainsFunc(failed, func(o string) bool { return strings.HasPrefix(o, name+"/") })
	})
}
