package approval

import (
	"context"

	"holdfast/internal/operation"
)

// Remind makes new links and codes for every open question of a run and sends them to the people asked, for whoever has
// lost a link or used up its tries. The questions stay as they are, and older links too. It answers who was written to.
func (d *Desk) Remind(ctx context.Context, id operation.RunID) ([]operation.Person, error) {
	run, err := d.Store.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	var told []operation.Person
	if run.Question != nil {
		if err := d.invite(ctx, run, *run.Question, nil, conflicts(&run)); err != nil {
			return told, err
		}
		told = append(told, run.Question.Reviewers...)
	}
	open, err := d.open(ctx, run)
	if err != nil {
		return told, err
	}
	for len(open) > 0 {
		q := *open[0].Question
		same, rest := split(open, q.ID)
		var ids []operation.ID
		for i := range same {
			ids = append(ids, same[i].ID)
		}
		if err := d.invite(ctx, run, q, ids, stagesOf(same, ids)); err != nil {
			return told, err
		}
		told, open = append(told, q.Reviewers...), rest
	}
	return told, nil
}

// open are the run's operations with an open question.
func (d *Desk) open(ctx context.Context, run operation.Run) ([]operation.Operation, error) {
	var out []operation.Operation
	for _, s := range run.Stages {
		op, err := d.Store.Operation(ctx, s.Operation)
		if err != nil {
			return nil, err
		}
		if op.Question != nil {
			out = append(out, op)
		}
	}
	return out, nil
}

// split takes out the operations that one question is about.
func split(ops []operation.Operation, id operation.QuestionID) (same, rest []operation.Operation) {
	for _, op := range ops {
		if op.Question.ID == id {
			same = append(same, op)
		} else {
			rest = append(rest, op)
		}
	}
	return same, rest
}
