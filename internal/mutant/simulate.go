package mutant

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
)

// simulated is the part of the simulation's report that says whether it noticed.
type simulated struct {
	Violations []json.RawMessage `json:"violations"`
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
	out, err = r.Command(ctx, Call{Folder: r.Root, Argv: []string{binary, "simulate", "--seeds", strconv.Itoa(k.Seeds), "--json"}})
	if err != nil {
		return seen{}, err
	}
	var report simulated
	switch bad := json.Unmarshal(out.Stdout, &report); {
	case bad != nil:
		return seen{broken: fmt.Sprintf("the simulation ended with %d and without a report: %v: %s", out.Exit, bad, out.Stderr)}, nil
	case out.Exit == 0 && len(report.Violations) == 0:
		return seen{}, nil
	case out.Exit == 1 && len(report.Violations) > 0:
		return seen{red: true, by: []string{fmt.Sprintf("simulation, %d violations in %d seeds", len(report.Violations), k.Seeds)}}, nil
	}
	return seen{broken: fmt.Sprintf("the simulation ended with %d and reports %d violations", out.Exit, len(report.Violations))}, nil
}
