package story

import (
	"context"
	"errors"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// waits finds what the told operations would send if it were their turn. One whose turn has come in any run waits for
// nothing.
func (t *teller) waits(ctx context.Context) error {
	for i := range t.Operations {
		op := &t.Operations[i]
		if s := op.Step; s.Action != operation.ActionSend || op.Status.Settled() {
			continue
		}
		stage, err := t.before(ctx, op.ID)
		if err != nil {
			return err
		}
		if stage == "" {
			continue
		}
		if t.Waits == nil {
			t.Waits = map[operation.ID]string{}
		}
		t.Waits[op.ID] = stage
	}
	return nil
}

// before is the stage that comes before the operation in all of its runs that were told; "" when its turn has come in one.
func (t *teller) before(ctx context.Context, id operation.ID) (string, error) {
	stage := ""
	for i := range t.Runs {
		run := &t.Runs[i]
		for j, s := range run.Stages {
			if s.Operation != id || run.Ended() {
				continue
			}
			ops, err := t.operationsOf(ctx, run)
			if err != nil {
				return "", err
			}
			if operation.StageGate(run, j, ops) == operation.GateOpen {
				return "", nil
			}
			stage = s.After
		}
	}
	return stage, nil
}

// operationsOf reads a run's operations without telling them.
func (t *teller) operationsOf(ctx context.Context, run *operation.Run) (map[operation.ID]*operation.Operation, error) {
	out := map[operation.ID]*operation.Operation{}
	for _, s := range run.Stages {
		op, err := t.store.Operation(ctx, s.Operation)
		if errors.Is(err, ledger.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[op.ID] = &op
	}
	return out, nil
}
