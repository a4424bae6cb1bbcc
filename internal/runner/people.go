package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"holdfast/internal/operation"
)

// People are those who may stop a run or run it again: its owner, the reviewers of its plan, and whoever was asked
// about it. It is empty when nobody is known.
func (r *Runner) People(ctx context.Context, id operation.RunID) ([]operation.Person, error) {
	v, err := r.load(ctx, id)
	if err != nil {
		return nil, err
	}
	all := append([]operation.Person{v.run.Owner, v.plan.Owner}, v.plan.Reviewers...)
	all = append(all, askedOf(v.run.Question, v.run.Answered)...)
	for _, s := range v.run.Stages {
		all = append(all, askedOf(v.ops[s.Operation].Question, v.ops[s.Operation].Answered)...)
	}
	var out []operation.Person
	for _, p := range all {
		if p != "" && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out, nil
}

// askedOf are the people of the open question, else of the last one: a question handed on is no longer put to those before.
func askedOf(open *operation.Question, answered []operation.Question) []operation.Person {
	switch {
	case open != nil:
		return open.Reviewers
	case len(answered) > 0:
		return answered[len(answered)-1].Reviewers
	}
	return nil
}

// Plans reads what planning kept.
type Plans interface {
	Plan(context.Context, operation.RunID) ([]byte, error)
	Content(context.Context, operation.ID, operation.Content) ([]byte, error)
}

// AskedContent is the content that a run's event asks for in a stage whose operation exists with other content. It is
// kept for a time only: ledger.ErrExpired or ledger.ErrNotFound afterwards.
func AskedContent(ctx context.Context, store Plans, run operation.RunID, s operation.StageRef) ([]byte, error) {
	raw, err := store.Plan(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("load the plan of %s: %w", run, err)
	}
	var plan pinned
	if err := json.Unmarshal(raw, &plan); err != nil {
		return nil, fmt.Errorf("read the plan of %s: %w", run, err)
	}
	return store.Content(ctx, s.Operation, operation.Content{Version: 1, Digest: plan.Content[s.Name]})
}
