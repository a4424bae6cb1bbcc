package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/internal/ledger"
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
	seen := false
	st, err := story.Find(ctx, a.Ledger, c.ID, func(n int) {
		seen = true
		fmt.Fprintf(s.err, "\rread %d records", n)
	})
	if seen {
		fmt.Fprintln(s.err)
	}
	if errors.Is(err, story.ErrUnknown) {
		return unknown(c.ID, ledger.ErrNotFound)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(st)
	}
	return st.Write(s.out, story.Words{Reason: web.Sentence, Evidence: web.EvidenceText, Lacks: web.Lacks})
}
