package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/operation"
)

const costsPage = "../../docs/costs.md"

// purposes say what each call of a run is for, in the order of a run.
func purposes() [][2]string {
	return [][2]string{
		{"PutItem ev/payload", "the notification's bytes, before the event that names them"},
		{"PutItem ev/ev", "the event: after it the sender may hear 2xx"},
		{"PutItem run/run", "the run"},
		{"PutItem run/plan", "the compiled plan: the plan's first write"},
		{"PutItem op/content", "the frozen content of each operation"},
		{"PutItem op/op", "each operation"},
		{"UpdateItem ev/ev", "the event is planned"},
		{"PutItem run/token", "the token that the decision answers"},
		{"PutItem link/link", "the reviewer's link"},
		{"UpdateItem link/link", "the try of the code, counted before it is compared, and given back when it was right"},
		{"TransactWriteItems op/op+op/op", "the decision, on both operations or none"},
		{"PutItem op/filled", "the bytes that will be sent, before the claim that names them"},
		{"UpdateItem op/op", "for each operation: the question, the claim, the outcome"},
		{"UpdateItem op/content", "the expiry of the content, set when its operation settles"},
		{"UpdateItem op/filled", "the expiry of the sent bytes"},
		{"UpdateItem run/run", "the run's stages, and its end"},
		{"GetItem ev/ev", "plan reads the event"},
		{"GetItem run/run", "each function reads the run it is called for"},
		{"GetItem run/plan", "the compiled plan, read instead of the flow file"},
		{"GetItem op/op", "each function reads the operations it decides about"},
		{"GetItem op/content", "the page shows it; it is hashed before each send"},
		{"GetItem run/token", "the token to answer"},
		{"GetItem link/link", "the page, and the decision"},
		{"Query ev/*", "the payload's parts"},
		{"Query op/*", "what to expire when an operation settles"},
		{"StartExecution", "the run's execution"},
		{"SendTaskSuccess", "the decision wakes it"},
	}
}

// costs are the calls of one approved run of two operations, without the reviewer's page being opened more than once.
func costs(t *testing.T) (calls map[string]int, units map[string]float64, transitions int64) {
	var mu sync.Mutex
	units = map[string]float64{}
	w := newWorld(t)
	w.stop()
	w.options.OnCall = func(call string, u float64) {
		mu.Lock()
		defer mu.Unlock()
		units[call] += u
	}
	w.start()
	clear(units)
	w.probe.arm(-1, before, noFate)
	var heard struct{ ID operation.RunID }
	must(t, json.Unmarshal([]byte(w.deliver("shopify-flow", "m1", followUp("r1", "c1")).body), &heard))
	w.await(arn(heard.ID, 1), w.parked)
	form, _ := w.form(w.reviewer())
	approve(form)
	w.post(w.reviewer(), form)
	w.await(arn(heard.ID, 1), w.parked)
	w.probe.disarm()
	mu.Lock()
	defer mu.Unlock()
	return w.probe.calls, units, w.local.States.Transitions()
}

// TestCostsOfOneRun counts what one approved run of two operations costs, says what each call is for, and holds
// docs/costs.md to it.
func TestCostsOfOneRun(t *testing.T) {
	t.Parallel()
	calls, units, transitions := costs(t)
	var b strings.Builder
	fmt.Fprintf(&b, "| call | times | what for |\n|---|---:|---|\n")
	known := map[string]bool{}
	for _, p := range purposes() {
		for _, service := range []string{"ledger ", "states "} {
			if n := calls[service+p[0]]; n > 0 {
				known[service+p[0]] = true
				fmt.Fprintf(&b, "| `%s` | %d | %s |\n", p[0], n, p[1])
			}
		}
	}
	for name, n := range calls {
		if !known[name] {
			t.Errorf("%s is called %d times, and nobody says what for", name, n)
		}
	}
	writes := units["PutItem"] + units["UpdateItem"] + units["TransactWriteItems"]
	reads := units["GetItem"] + units["Query"]
	fmt.Fprintf(&b, "\nIn all %d transitions of Step Functions, %g write units and %g read units of DynamoDB.\n", transitions, writes, reads)
	t.Log("\n" + b.String())
	if transitions != 5 {
		t.Errorf("%d transitions, want 5", transitions)
	}
	compareSection(t, costsPage, b.String())
}

// compareSection holds a page's generated part against what was measured.
func compareSection(t *testing.T, path, want string) {
	t.Helper()
	const begin, end = "<!-- measured -->\n", "<!-- end -->\n"
	raw, err := os.ReadFile(path)
	must(t, err)
	head, rest, ok := strings.Cut(string(raw), begin)
	got, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no generated part", path)
	}
	if *update {
		must(t, os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644))
		return
	}
	if diff := cmp.Diff(strings.Split(got, "\n"), strings.Split(want, "\n")); diff != "" {
		t.Errorf("%s is not what a run costs (-page +measured); if it is right, run with -update:\n%s", path, diff)
	}
}
