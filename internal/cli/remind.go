package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

type remindCmd struct {
	files
	reach
	ID   string `arg:"" help:"A run or operation id."`
	JSON bool   `help:"Print JSON."`
}

// Run implements the command.
func (c *remindCmd) Run(ctx context.Context, s *streams) error {
	a, err := openWork(ctx, c.files, c.reach, s)
	if err != nil {
		return err
	}
	id, err := runOf(ctx, a, c.ID)
	if err != nil {
		return unknown(c.ID, err)
	}
	told, err := a.Desk.Remind(ctx, id)
	if err != nil {
		return unknown(c.ID, err)
	}
	slices.Sort(told)
	told = slices.Compact(told)
	if c.JSON {
		return json.NewEncoder(s.out).Encode(map[string]any{"run": id, "sent_to": told})
	}
	if len(told) == 0 {
		return fmt.Errorf("%s: nothing waits for a decision there, and no mail was sent", id)
	}
	fmt.Fprintf(s.out, "A new link, and apart from it a new code, went to %s.\n", names(told))
	return nil
}
