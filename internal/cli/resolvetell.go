package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"holdfast/internal/app/work"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/web"
)

// conflict is a stage whose operation exists with other content: what exists, and what the run's event asks for.
type conflict struct {
	Stage     string              `json:"stage"`
	Operation operation.ID        `json:"operation"`
	Status    string              `json:"status"`
	Reference operation.Reference `json:"reference,omitempty"`
	Stands    string              `json:"stands"`
	Exists    []string            `json:"exists"`
	Asks      []string            `json:"asks"`
}

func (c *resolveCmd) tell(s *streams, out resolved) {
	fmt.Fprintf(s.out, "%s is %s\n", out.ID, out.Status)
	if out.Decided != "" {
		fmt.Fprintf(s.out, "Decided: %s, by %s.\n", out.Decided, c.As)
		return
	}
	for _, op := range out.Waiting {
		fmt.Fprintf(s.out, "  waits for a decision: holdfast resolve %s\n", op)
	}
	if len(out.Choices) == 0 {
		if len(out.Waiting) == 0 {
			fmt.Fprintln(s.out, "Nothing waits for a decision here.")
		}
		return
	}
	fmt.Fprintf(s.out, "Question: %s\n", web.Sentence(out.Question))
	if out.Lacks != "" {
		fmt.Fprintln(s.out, out.Lacks)
	}
	if len(out.Content) > 0 {
		fmt.Fprintf(s.out, "Content %s:\n", out.Digest)
	}
	for _, line := range out.Content {
		fmt.Fprintf(s.out, "    %s\n", line)
	}
	for _, one := range out.Conflicts {
		tellConflict(s, one)
	}
	fmt.Fprintf(s.out, "Asked: %s\n", names(out.Asked))
	tellChoices(s, out)
}

func tellConflict(s *streams, c conflict) {
	fmt.Fprintf(s.out, "Stage %s\n  what exists: %s, %s\n", c.Stage, c.Operation, strings.ReplaceAll(c.Status, "_", " "))
	if c.Reference != "" {
		fmt.Fprintf(s.out, "    reference %s\n", c.Reference)
	}
	for _, line := range c.Exists {
		fmt.Fprintf(s.out, "    %s\n", line)
	}
	fmt.Fprintln(s.out, "  what this event asks for:")
	for _, line := range c.Asks {
		fmt.Fprintf(s.out, "    %s\n", line)
	}
	fmt.Fprintf(s.out, "  with a deliberate second: %s\n", c.Stands)
}

// tellChoices prints what can be copied; words in capitals are the person's to replace.
func tellChoices(s *streams, out resolved) {
	fmt.Fprintln(s.out, "Answers, with yourself after --as and your own words for those in capitals:")
	for _, ch := range out.Choices {
		if ch.Legal {
			fmt.Fprintf(s.out, "  %s\n", commandOf(out, ch.Answer))
			continue
		}
		fmt.Fprintf(s.out, "  (%s: %s%s)\n", ch.Answer, ch.Why, from(ch.From))
	}
}

func from(t operation.Time) string {
	if t == 0 {
		return ""
	}
	return " From " + t.String() + "."
}

func commandOf(out resolved, a operation.Answer) string {
	as := "PERSON"
	if len(out.Asked) > 0 {
		as = string(out.Asked[0])
	}
	cmd := fmt.Sprintf("holdfast resolve %s --answer %s --as %s", out.ID, a, as)
	if a == operation.AnswerExists {
		cmd += " --reference REFERENCE"
	}
	if a == operation.AnswerApprove {
		cmd += " --digest " + out.Digest
	}
	if web.NeedsHow(a) {
		cmd += ` --how "HOW YOU KNOW, OR WHY"`
	}
	return cmd
}

func choicesOf(in []operation.Choice) []choice {
	var out []choice
	for _, ch := range in {
		one := choice{Answer: ch.Answer, Legal: ch.Legal}
		if !ch.Legal {
			one.Why = web.Sentence(ch.Why)
		}
		out = append(out, one)
	}
	return out
}

// operationChoices are an operation's, with the time from when what is not possible yet may be.
func operationChoices(op *operation.Operation, p operation.Policy, now operation.Time) []choice {
	all := operation.Choices(op, p, now)
	out := choicesOf(all)
	for i := range all {
		if t := possibleFrom(op, p, now, all[i].Why); t > now {
			out[i].From = t
		}
	}
	return out
}

func possibleFrom(op *operation.Operation, p operation.Policy, now operation.Time, why operation.Reason) operation.Time {
	switch why {
	case operation.ReasonNotYet:
		return operation.QuietUntil(op, p)
	case operation.ReasonKeyStillOpen:
		return operation.WindowUntil(op, p)
	case operation.ReasonNotOver:
		if m := operation.Next(op, p, now); m.Reason == operation.ReasonAttemptRunning {
			return m.Due
		}
	}
	return 0
}

// conflictsOf reads what exists and what the run asks for, for each stage where the two differ.
func conflictsOf(ctx context.Context, a *work.App, run operation.Run) ([]conflict, error) {
	ops := map[operation.ID]*operation.Operation{}
	for _, s := range run.Stages {
		op, err := a.Ledger.Operation(ctx, s.Operation)
		if errors.Is(err, ledger.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		ops[op.ID] = &op
	}
	var out []conflict
	for i, s := range run.Stages {
		op := ops[s.Operation]
		if !s.Conflict || op == nil {
			continue
		}
		exists, existsErr := a.Ledger.Content(ctx, op.ID, op.Content)
		asks, asksErr := runner.AskedContent(ctx, a.Ledger, run.ID, s)
		out = append(out, conflict{Stage: s.Name, Operation: op.ID, Status: op.Status.String(), Reference: op.Reference,
			Stands: web.Stands(web.FirstOf(&run, i, ops)), Exists: contentLines(exists, existsErr), Asks: contentLines(asks, asksErr)})
	}
	return out, nil
}

func contentLines(raw []byte, err error) []string {
	if err == nil {
		var lines []string
		if lines, err = web.ContentText(raw); err == nil {
			return lines
		}
	}
	return []string{"(the content is no longer kept, or cannot be read)"}
}
