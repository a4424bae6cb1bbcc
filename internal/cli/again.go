package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/app/work"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/web"
)

type againCmd struct {
	files
	reach
	ID     string `arg:"" help:"A run or operation id."`
	Yes    bool   `help:"Do what the preview says; without it nothing is changed."`
	As     string `placeholder:"PERSON" help:"Who decides; recorded. Needed with --yes."`
	Second string `placeholder:"STAGE" help:"Instead: a deliberate second operation of this stage, with its own identity and approval."`
	Nonce  string `placeholder:"TEXT" help:"Names this deliberate second one: the same text again makes no third."`
	JSON   bool   `help:"Print JSON."`
}

type againResult struct {
	Run     operation.RunID  `json:"run"`
	Preview []runner.Preview `json:"preview"`
	Done    bool             `json:"done"`
	// Generation is that of the run's new execution, once done.
	Generation int `json:"generation,omitempty"`
}

// Run implements the command.
func (c *againCmd) Run(ctx context.Context, s *streams) error {
	if c.Yes && c.As == "" {
		return usage{errors.New("--yes needs --as PERSON: who decides is recorded")}
	}
	if c.Second != "" && c.Nonce == "" {
		return usage{errors.New("--second needs --nonce TEXT: the same text again makes no third operation")}
	}
	a, err := openWork(ctx, c.files, c.reach, s)
	if err != nil {
		return err
	}
	id, err := runOf(ctx, a, c.ID)
	if err != nil {
		return err
	}
	_, preview, err := a.Runner.PreviewAgain(ctx, id)
	if err != nil {
		return unknown(c.ID, err)
	}
	if c.Second != "" && !slices.ContainsFunc(preview, func(p runner.Preview) bool { return p.Stage == c.Second }) {
		return usage{fmt.Errorf("--second %s: the run has no such stage; it has %s", c.Second, stages(preview))}
	}
	out := againResult{Run: id, Preview: preview, Done: c.Yes}
	if c.Yes {
		if err := mayAct(ctx, a, id, c.As); err != nil {
			return err
		}
		run, err := c.do(ctx, a, id)
		if err != nil {
			return err
		}
		out.Run, out.Generation = run.ID, run.Generation
	}
	return c.tell(s, out)
}

func (c *againCmd) do(ctx context.Context, a *work.App, id operation.RunID) (operation.Run, error) {
	if c.Second != "" {
		return a.Runner.Second(ctx, id, c.Second, c.Nonce, operation.Person(c.As))
	}
	return a.Runner.Again(ctx, id, operation.Person(c.As))
}

// runOf is the run of an id: a run's own, or the latest one of an operation.
func runOf(ctx context.Context, a *work.App, id string) (operation.RunID, error) {
	switch {
	case strings.HasPrefix(id, "run_"):
		return operation.RunID(id), nil
	case strings.HasPrefix(id, "op_"):
		op, err := a.Ledger.Operation(ctx, operation.ID(id))
		if err != nil {
			return "", unknown(id, err)
		}
		if len(op.Runs) > 0 {
			return op.Runs[len(op.Runs)-1], nil
		}
		return "", fmt.Errorf("no run refers to %s", id)
	}
	return "", usage{fmt.Errorf("%s is no run or operation id; they begin with run_ or op_", id)}
}

func (c *againCmd) tell(s *streams, out againResult) error {
	if c.JSON {
		return json.NewEncoder(s.out).Encode(out)
	}
	fmt.Fprintf(s.out, "run %s\n", out.Run)
	if c.Second != "" {
		c.tellSecond(s, out)
		return nil
	}
	if out.Done {
		fmt.Fprintf(s.out, "Done: %s pressed run again, and the run goes on as its generation %d. For each stage that is:\n", c.As, out.Generation)
	}
	for _, p := range out.Preview {
		fmt.Fprintf(s.out, "  %-20s %-10s %s (%s; owner %s)\n", p.Stage, p.Does, web.Why(p), p.Operation, p.Owner)
	}
	if out.Done {
		fmt.Fprintf(s.out, "See how it goes: holdfast inspect %s\n", out.Run)
		return nil
	}
	fmt.Fprintln(s.out, "Nothing was changed. Do this with --yes --as PERSON.")
	return nil
}

func (c *againCmd) tellSecond(s *streams, out againResult) {
	if out.Done {
		fmt.Fprintf(s.out, "A deliberate second %s was made in this run; its approval is being asked for.\n", c.Second)
	} else {
		fmt.Fprintf(s.out, "This would make a second %s with its own identity, and ask for its own approval. Do it with --yes --as PERSON.\n", c.Second)
	}
	for _, p := range out.Preview {
		if p.Stage == c.Second {
			fmt.Fprintln(s.out, web.Stands(p))
		}
	}
}

func stages(preview []runner.Preview) string {
	names := make([]string, len(preview))
	for i, p := range preview {
		names[i] = p.Stage
	}
	return strings.Join(names, ", ")
}

type stopCmd struct {
	files
	reach
	ID   string `arg:"" help:"A run or operation id."`
	As   string `required:"" placeholder:"PERSON" help:"Who stops it; recorded."`
	How  string `required:"" placeholder:"WHY" help:"Why; recorded."`
	JSON bool   `help:"Print JSON."`
}

// Run implements the command.
func (c *stopCmd) Run(ctx context.Context, s *streams) error {
	a, err := openWork(ctx, c.files, c.reach, s)
	if err != nil {
		return err
	}
	id, err := runOf(ctx, a, c.ID)
	if err != nil {
		return err
	}
	run, err := a.Ledger.Run(ctx, id)
	if err != nil {
		return unknown(c.ID, err)
	}
	if err := mayAct(ctx, a, id, c.As); err != nil {
		return err
	}
	if run.Ended() {
		return c.ended(s, run)
	}
	withdrawn, err := a.Runner.Stop(ctx, id, operation.Person(c.As), c.How)
	if err != nil {
		return unknown(c.ID, err)
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(map[string]any{"run": id, "withdrawn": append([]operation.ID{}, withdrawn...)})
	}
	fmt.Fprintf(s.out, "run %s: %d operation(s) withdrawn. What may have been sent is still being found out.\n", id, len(withdrawn))
	for _, op := range withdrawn {
		fmt.Fprintf(s.out, "  %s\n", op)
	}
	return nil
}

// ended says that there is nothing to stop.
func (c *stopCmd) ended(s *streams, run operation.Run) error {
	if c.JSON {
		return json.NewEncoder(s.out).Encode(map[string]any{"run": run.ID, "withdrawn": []operation.ID{}, "ended": run.Status})
	}
	fmt.Fprintf(s.out, "run %s has ended already (%s). Nothing was changed.\n", run.ID, strings.ReplaceAll(run.Status.String(), "_", " "))
	return nil
}
