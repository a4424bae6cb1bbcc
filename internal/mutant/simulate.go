package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
)

// simulated is the part of the simulation's report that says whether it noticed.
type simulated struct {
	Seeds      int `json:"seeds"` // that were played
	Violations []struct {
		Rule string `json:"rule"`
		What string `json:"what"`
		Seed uint64 `json:"seed"`
	} `json:"violations"` // the lowest seed first
}

// simulate builds the product with the mutant, if there is one, and lets the simulation look for a broken rule.
func (r *Runner) simulate(ctx context.Context, k Killer, flags, temp string) (seen, error) {
	binary := filepath.Join(temp, "holdfast")
	out, err := r.Command(ctx, Call{r.Root, flags, []string{"go", "build", "-o", binary, "./cmd/holdfast"}})
	if err != nil {
		return seen{}, err
	}
	if out.Exit != 0 {
		return seen{broken: "it does not compile: " + string(out.Stderr)}, nil
	}
	limited, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	out, err = r.Command(limited, Call{Folder: r.Root, Argv: k.simulation(binary)})
	switch {
	case errors.Is(limited.Err(), context.DeadlineExceeded) && ctx.Err() == nil:
		return seen{red: true, timeout: true, by: []string{"simulation"}}, nil
	case err != nil:
		return seen{}, err
	}
	return readSimulation(out), nil
}

// simulation is the command line of the simulation.
func (k Killer) simulation(binary string) []string {
	argv := []string{binary, "simulate", "--seeds", strconv.Itoa(k.Seeds), "--no-shrink", "--json"}
	if k.First != 0 {
		argv = append(argv, "--seed", strconv.FormatUint(k.First, 10))
	}
	return argv
}

// Exit codes of the simulation.
const (
	exitClean  = 0
	exitBroken = 1 // a rule broke, or one was never reached: the report says which
)

// readSimulation: only a broken rule, or an end in a panic, is a find.
func readSimulation(out Output) seen {
	var report simulated
	switch bad := json.Unmarshal(out.Stdout, &report); {
	case panicked(out):
		return seen{red: true, by: []string{"simulation, by a panic"}, detail: firstLine(out.Stderr)}
	case bad != nil || out.Exit != exitClean && out.Exit != exitBroken:
		return seen{broken: fmt.Sprintf("the simulation ended with %d and without a report: %v: %s", out.Exit, bad, out.Stderr)}
	case len(report.Violations) == 0:
		return seen{}
	case out.Exit == exitClean:
		return seen{broken: fmt.Sprintf("the simulation ended with %d and reports %d violations", out.Exit, len(report.Violations))}
	}
	first := report.Violations[0]
	by := fmt.Sprintf("simulation, %s at seed %d (%d violations in %d seeds)", first.Rule, first.Seed, len(report.Violations), report.Seeds)
	return seen{red: true, by: []string{by}, detail: first.What}
}

// panicked says that the program ended in a panic, or in one of the runtime's fatal errors.
func panicked(out Output) bool {
	const exitPanic = 2
	return out.Exit == exitPanic && (bytes.HasPrefix(out.Stderr, []byte("panic: ")) || bytes.HasPrefix(out.Stderr, []byte("fatal error: ")))
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return string(line)
}
