package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/internal/app"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

type acceptCmd struct {
	reach
	As   string `required:"" placeholder:"PERSON" help:"Who accepts the restored ledger; recorded."`
	Yes  bool   `help:"Accept. Without it only what stands is shown."`
	JSON bool   `help:"Print JSON."`
}

// Run implements the command.
func (c *acceptCmd) Run(ctx context.Context, s *streams) error {
	conn, err := connect(ctx, c.reach, s)
	if err != nil {
		return err
	}
	b, err := app.Unchecked(ctx, conn.config, conn.parts)
	if err != nil {
		return err
	}
	_, err = b.Ledger.Check(ctx, b.Identity())
	switch {
	case err == nil:
		fmt.Fprintln(s.out, "This ledger is this stack's own. There is nothing to accept.")
		return nil
	case !errors.Is(err, ledger.ErrRestored):
		return err
	case !c.Yes:
		fmt.Fprintf(s.out, "%v\nAccepting makes every open operation unknown: nobody knows what happened after the copy was made. Do it with --yes.\n", err)
		return failed{}
	}
	n, err := b.Ledger.Accept(ctx, b.Identity(), operation.Person(c.As), app.Doubt(b))
	if err != nil {
		return fmt.Errorf("%w; call this again, it goes on where it stopped", err)
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(map[string]int{"marked": n})
	}
	fmt.Fprintf(s.out, "Accepted. %d open operation(s) are now unknown and will be asked about.\n", n)
	return nil
}
