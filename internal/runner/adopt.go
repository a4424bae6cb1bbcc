package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// adopt gives a run that was ended before Plan came to its end the operations that its plan had made by then: they are
// nobody's otherwise (R7). It changes nothing on a run that goes on, which Plan finishes, nor on one that has its stages.
func (r *Runner) adopt(ctx context.Context, v *view) error {
	raced := fmt.Errorf("%s is written by many at once; the sweep looks after it", v.run.ID)
	return r.changeRun(ctx, v, raced, func(run *operation.Run) (_ bool, err error) {
		if len(run.Stages) > 0 || !run.Ended() {
			return false, nil
		}
		run.Stages, err = r.madeSoFar(ctx, v)
		return len(run.Stages) > 0, err
	})
}

// madeSoFar are the stages of the run's pinned plan whose operations were made for it, with their operations read.
func (r *Runner) madeSoFar(ctx context.Context, v *view) ([]operation.StageRef, error) {
	raw, err := r.Store.Plan(ctx, v.run.ID)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &v.plan); err != nil {
		return nil, fmt.Errorf("read the plan of %s: %w", v.run.ID, err)
	}
	var refs []operation.StageRef
	for _, s := range v.plan.Stages {
		err := r.reload(ctx, v, s.Operation)
		switch {
		case errors.Is(err, ledger.ErrNotFound):
			continue
		case err != nil:
			return nil, err
		case v.ops[s.Operation].Content.Digest != v.plan.Content[s.Name]:
			continue // somebody else's content under this key
		}
		refs = append(refs, operation.StageRef{Name: s.Name, Operation: s.Operation, After: s.After, AfterSettled: s.AfterSettled, OnFailed: s.OnFailed})
	}
	return refs, nil
}
