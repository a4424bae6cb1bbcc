package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"holdfast/internal/acceptance"
)

type acceptanceCmd struct {
	files
	Flow   string `placeholder:"NAME" help:"The flow to try; campaign-follow-up, or the only one, when not named."`
	Report string `placeholder:"DIR" help:"Write acceptance.html and acceptance.md here."`
	URL    string `name:"url" placeholder:"URL" help:"A deployed stack; not possible yet."`
	JSON   bool   `help:"Print JSON."`
}

// Run implements the command.
func (c *acceptanceCmd) Run(ctx context.Context, s *streams) error {
	if err := c.possible(); err != nil {
		return err
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	told := acceptance.Options{Flow: c.Flow, Flows: o.Flows, Targets: o.Targets, Sims: o.Sims, Sources: o.Sources}
	if !c.JSON {
		told.Progress = func(a acceptance.Case) { fmt.Fprintln(s.out, a.Line()) }
	}
	r, err := acceptance.Run(ctx, told)
	if called := (*acceptance.CallError)(nil); errors.As(err, &called) {
		return usage{err}
	}
	if err != nil {
		return err
	}
	if err := c.write(r, s); err != nil {
		return err
	}
	if !r.Passed() {
		return failed{}
	}
	return nil
}

// possible refuses what acceptance cannot judge, before anything is started.
func (c *acceptanceCmd) possible() error {
	switch {
	case c.URL != "":
		return usage{errors.New("acceptance cannot judge a deployed stack yet: it must move the clock, lose answers and count effects, which only a laptop's simulated targets allow; run it without --url")}
	case len(c.Target) > 0:
		return usage{errors.New("acceptance loses answers and counts effects, which a real server does not allow: leave out --target; for a target of your own write DIR/sim/NAME.yaml, where DIR is the directory of --targets; it says how the target behaves (docs/simulations.md)")}
	}
	return nil
}

func (c *acceptanceCmd) write(r acceptance.Report, s *streams) error {
	if c.JSON {
		if err := json.NewEncoder(s.out).Encode(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(s.out, "\n%s\n", r.Summary())
	}
	if c.Report == "" {
		return nil
	}
	page, err := r.HTML()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Report, 0o755); err != nil {
		return fmt.Errorf("make the report's folder: %w", err)
	}
	for name, text := range map[string][]byte{"acceptance.html": page, "acceptance.md": []byte(r.Markdown())} {
		if err := os.WriteFile(filepath.Join(c.Report, name), text, 0o644); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	if !c.JSON {
		fmt.Fprintf(s.out, "Report: %s\n", filepath.Join(c.Report, "acceptance.html"))
	}
	return nil
}
