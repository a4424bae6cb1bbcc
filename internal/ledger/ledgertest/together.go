package ledgertest

import (
	"errors"
	"testing"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// A run and the operation that is made for it stand together or not at all, whatever became of an answer.
func runWithOperation(t *testing.T, b *bench) {
	run, op := b.run("run_second"), b.proposed("op_second")
	lossy := b.with(scripted(fault{lose: true}))
	res, err := lossy.CreateRunWith(t.Context(), run, op, []byte(content))
	if err != nil || res.Verdict != ledger.Created {
		t.Fatalf("its answer lost: %v, %v; want created", res.Verdict, err)
	}
	if _, err := b.Operation(t.Context(), "op_second"); err != nil {
		t.Errorf("the run is there and its operation is not: %v", err)
	}
	if res, err = b.CreateRunWith(t.Context(), run, op, []byte(content)); err != nil || res.Verdict != ledger.Exists {
		t.Errorf("once more: %v, %v; want exists", res.Verdict, err)
	}
	b.created("op_taken")
	if res, err = b.CreateRunWith(t.Context(), b.run("run_other"), b.proposed("op_taken"), []byte(content)); err == nil {
		t.Errorf("over an operation that is another's: %v; want an error", res.Verdict)
	}
	if _, err := b.Run(t.Context(), operation.RunID("run_other")); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("the run of a refused pair: %v; want none", err)
	}
}
