package runner

import (
	"context"

	"holdfast/internal/operation"
)

// AskInput is what the state machine gives to Ask: the run and the token that a decision answers.
type AskInput struct {
	Run   operation.RunID `json:"run"`
	Token string          `json:"token"`
}

// Ask puts the run's approvals to people. The token is kept before the questions are asked, so that no decision can
// come before it; when nothing is to be asked, or a decision stands already, it answers its own token.
func (r *Runner) Ask(ctx context.Context, in AskInput) error {
	v, err := r.load(ctx, in.Run)
	if err != nil {
		return err
	}
	if ask := r.toAsk(v); len(ask) > 0 || waiting(v) {
		if err := r.Store.PutToken(ctx, in.Run, v.run.Generation, in.Token); err != nil {
			return err
		}
		if v, err = r.putQuestions(ctx, v, ask); err != nil {
			return err
		}
		if waiting(v) {
			return nil
		}
	}
	_, err = r.Executions.Wake(ctx, in.Token, in.Run)
	return err
}

// putQuestions asks, then reads again: a decision may have come while the token was being kept.
func (r *Runner) putQuestions(ctx context.Context, v *view, ask []operation.Operation) (*view, error) {
	if len(ask) > 0 {
		asked, err := r.Asker.AskOperations(ctx, v.run, v.plan.PinnedPlan, ask)
		if err != nil {
			return v, err
		}
		for i := range asked {
			v.ops[asked[i].ID] = &asked[i]
		}
		return v, nil
	}
	return r.load(ctx, v.run.ID)
}

// toAsk are the operations whose approval is missing and not yet asked for.
func (r *Runner) toAsk(v *view) []operation.Operation {
	var out []operation.Operation
	for i, s := range v.run.Stages {
		op := v.ops[s.Operation]
		if s.Conflict || operation.StageGate(&v.run, i, v.ops) == operation.GateSkipped || op.Question != nil {
			continue
		}
		if m := operation.Next(op, r.PolicyOf(op), r.now()); m.Action == operation.ActionAsk && m.Kind == operation.QuestionApprove {
			out = append(out, *op)
		}
	}
	return out
}

// waiting says that an approval question of the run is open. One about what exists with other content is another event's:
// this run asks its own question at once.
func waiting(v *view) bool {
	for _, s := range v.run.Stages {
		if q := v.ops[s.Operation].Question; !s.Conflict && q != nil && q.Kind == operation.QuestionApprove {
			return true
		}
	}
	return false
}
