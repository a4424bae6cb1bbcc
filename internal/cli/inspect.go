package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/internal/story"
	"holdfast/internal/web"
)

type inspectCmd struct {
	files
	reach
	ID   string `arg:"" help:"An event, run, operation, attempt, question, link or delivery id, or a target's reference."`
	JSON bool   `help:"Print the story as JSON."`
}

// Run implements the command.
func (c *inspectCmd) Run(ctx context.Context, s *streams) error {
	conn, err := connect(ctx, c.reach, s)
	if err != nil {
		return err
	}
	a, err := conn.workOn(ctx, c.files, s)
	if err != nil {
		return err
	}
	st, err := story.Find(ctx, a.Ledger, c.ID, func(n int) { fmt.Fprintf(s.err, "\rread %d records", n) })
	if errors.Is(err, story.ErrUnknown) {
		return fmt.Errorf("%w. Ids look like ev_…, run_…, op_…; the outbox, the logs and the answer to a webhook show them", err)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(st)
	}
	return st.Write(s.out, story.Words{Reason: web.Sentence, Evidence: web.EvidenceText})
}
