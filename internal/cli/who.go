package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/app/work"
	"holdfast/internal/operation"
)

// mayAct refuses whoever is neither the run's owner nor was asked about it; when nobody is known, anybody may.
func mayAct(ctx context.Context, a *work.App, id operation.RunID, as string) error {
	people, err := a.Runner.People(ctx, id)
	if err != nil || len(people) == 0 || slices.Contains(people, operation.Person(as)) {
		return err
	}
	return fmt.Errorf("refused: %s may not decide about %s; %s may. Nothing was changed", as, id, names(people))
}

func names(people []operation.Person) string {
	out := make([]string, len(people))
	for i, p := range people {
		out[i] = string(p)
	}
	return strings.Join(out, ", ")
}
