package web

import (
	"slices"
	"strings"

	"holdfast/internal/flow"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/target"
)

// Stands says exactly how the first operation of a stage stands, for whoever considers a deliberate second one, and what
// making it would mean.
func Stands(p runner.Preview) string {
	const both = " Unless it is stopped, both will be sent."
	switch p.Status {
	case operation.StatusProposed, operation.StatusReady:
		return "The first one is still to be sent" + after(p) + "." + both
	case operation.StatusInFlight:
		return "The first one is being sent now." + both
	case operation.StatusUnknown:
		return "The first one is unknown: it may have happened. It is still found out, and the second one is sent all the same."
	case operation.StatusHeld:
		if !p.Open {
			return "The first one is held: it was never sent, or is proven not executed. If it is released, both will be sent."
		}
		return "The first one is held: nobody knows whether it happened. The second one is sent all the same."
	case operation.StatusConfirmed:
		return "The first one is confirmed with reference " + string(p.Reference) + ". A second one is a second effect."
	case operation.StatusDeclined:
		return "The first one was declined and never sent."
	case operation.StatusFailed:
		return "The first one failed: it is proven not executed."
	}
	return "The first one was closed without proof: nobody knows whether it happened."
}

func after(p runner.Preview) string {
	if p.After == "" {
		return ""
	}
	return " after " + p.After
}

// Why says why "run again" will do with an operation what it says.
func Why(p runner.Preview) string {
	if p.Reason == operation.ReasonStageWaits && p.After != "" {
		return waitsFor(p.After)
	}
	return sentence(p.Reason)
}

func waitsFor(stage string) string { return "waits for stage " + stage + "." }

func doesText(p runner.Preview) string {
	if p.Reason == operation.ReasonStageWaits {
		return "Wait: nothing is sent before its turn"
	}
	return doingTexts[p.Does]
}

// FirstOf is how the operation of a run's stage stands, as Stands tells it.
func FirstOf(run *operation.Run, i int, ops map[operation.ID]*operation.Operation) runner.Preview {
	s := run.Stages[i]
	op := ops[s.Operation]
	p := runner.Preview{Stage: s.Name, Operation: op.ID, Status: op.Status, Reference: op.Reference, Open: op.AnyOpen()}
	if runner.StageWaits(run, i, ops) {
		p.After = s.After
	}
	return p
}

// RunReason is a run's reason as this release names it; an earlier one wrote a conflict of content otherwise.
func RunReason(r operation.Reason) operation.Reason {
	if r == operation.ReasonOtherContent {
		return operation.ReasonSameKey
	}
	return r
}

// AboutRun is the sentence for why a run is held or asked about.
func AboutRun(r operation.Reason) string { return sentence(RunReason(r)) }

// NeedsHow says that an answer is taken only with the person's words.
func NeedsHow(a operation.Answer) bool { return needsHow(a) }

// Lacks says which fields a run's event lacks, and what can be done about a run that is not planned for its data; "" for
// every other run.
func Lacks(run *operation.Run) string {
	if run.Ended() || len(run.Stages) > 0 || !slices.Contains([]operation.Reason{flow.ReasonMissing, flow.ReasonIdentity, flow.ReasonExpression, flow.ReasonContent}, run.Reason) {
		return ""
	}
	out := ""
	if len(run.Missing) > 0 {
		out = "Missing or unusable: " + strings.Join(run.Missing, ", ") + ". "
	}
	return out + "Have the event sent again complete (another delivery of it that has the data is planned by itself), start again after the flow was changed, or stop."
}

// stateText is the run's status in words: one whose people have not answered yet is not at work.
func stateText(run *operation.Run, ops map[operation.ID]*operation.Operation) string {
	if run.Reason == operation.ReasonRunMissing {
		return "Not in the ledger"
	}
	if run.Status != operation.RunStarted {
		return runTexts[run.Status]
	}
	for _, op := range ops {
		if op.Question != nil && op.Question.Kind != operation.QuestionUnsettled {
			return "Waits for a decision"
		}
	}
	return runTexts[run.Status]
}

// askedOf are all who are asked about a run and its operations now.
func askedOf(run *operation.Run, ops map[operation.ID]*operation.Operation) []operation.Person {
	var out []operation.Person
	if run.Question != nil {
		out = slices.Clone(run.Question.Reviewers)
	}
	for _, op := range ops {
		if op.Question != nil {
			out = append(out, op.Question.Reviewers...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ContentText is stored content as a person reads it on a terminal: its address, then each value of its body. What a
// reader would not see is written by name.
func ContentText(raw []byte) ([]string, error) {
	r, err := target.Decode(raw)
	if err != nil {
		return nil, err
	}
	v := contentOf(r)
	out := []string{r.Method + " " + r.URL}
	for _, f := range v.Lines {
		line := join(f.Path, f.Name) + ": "
		for _, p := range f.Pieces {
			if p.Odd || p.Hole {
				line += "<" + p.Text + ">"
				continue
			}
			line += strings.NewReplacer("\n", "⏎", "\t", " ").Replace(p.Text)
		}
		out = append(out, line)
	}
	if len(v.Lines) == 0 {
		out = append(out, v.Exact)
	}
	return out, nil
}
