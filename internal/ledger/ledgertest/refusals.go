package ledgertest

import (
	"errors"
	"strings"
	"testing"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

func refusalCases() map[string]func(*testing.T, *bench) {
	return map[string]func(*testing.T, *bench){
		"R06_ChangeCitesEvidence": changeCitesEvidence,
		"R13_RefusedAndUnchanged": refusedUnchanged,
		"R13_Throttled":           throttled,
		"R13_TooLarge":            tooLarge,
	}
}

func changeCitesEvidence(t *testing.T, b *bench) {
	op := b.created("op_1")
	declined := op
	declined.Status = operation.StatusDeclined
	if _, err := b.Update(t.Context(), op, declined); !errors.Is(err, ledger.ErrRefused) || !strings.Contains(err.Error(), "R6") {
		t.Errorf("a change of state without evidence: %v; want refused", err)
	}
	b.won(b.Update(t.Context(), op, cite(declined, operation.EvidenceDeclined, b.at(), "")))
	bare := b.proposed("op_2")
	bare.Evidence = nil
	if _, err := b.CreateOperation(t.Context(), bare, []byte(content)); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("a new operation without evidence: %v; want refused", err)
	}
}

func refusedUnchanged(t *testing.T, b *bench) {
	op := b.created("op_1")
	for name, change := range map[string]func(*operation.Operation){
		"no owner":            func(op *operation.Operation) { op.Owner = "" },
		"nobody waits for it": func(op *operation.Operation) { op.Step.Owner = "" },
		"another operation":   func(op *operation.Operation) { op.ID = "op_2" },
		"too many attempts": func(op *operation.Operation) {
			op.Attempts = make([]operation.Attempt, operation.AttemptsMost+1)
		},
		"a status that is none": func(op *operation.Operation) { op.Status = 99 },
	} {
		next := b.looked(op)
		change(&next)
		if _, err := b.Update(t.Context(), op, next); err == nil {
			t.Errorf("%s: written; want an error", name)
		}
	}
	for name, change := range map[string]func(*operation.Operation){
		"no new attempt":  func(op *operation.Operation) { op.Attempts = nil },
		"no lease":        func(op *operation.Operation) { op.Attempts[0].LeaseUntil = 0 },
		"recorded before": func(op *operation.Operation) { op.Attempts[0].Recorded = b.at() },
		"no id":           func(op *operation.Operation) { op.Attempts[0].ID = "" },
	} {
		next := b.claiming(op, "at_1")
		change(&next)
		if _, err := b.Claim(t.Context(), op, next); !errors.Is(err, ledger.ErrRefused) {
			t.Errorf("claim with %s: %v; want refused", name, err)
		}
	}
	if got, err := b.Operation(t.Context(), op.ID); err != nil || got.Rev != op.Rev {
		t.Errorf("revision %d, %v; want it unchanged at %d", got.Rev, err, op.Rev)
	}
}

func throttled(t *testing.T, b *bench) {
	op := b.created("op_1")
	w := &wire{script: func(c string, _ int, _ []byte) fault {
		if c == "UpdateItem" {
			return fault{code: "ProvisionedThroughputExceededException"}
		}
		return fault{}
	}}
	if _, err := b.with(w).Update(t.Context(), op, b.looked(op)); !errors.Is(err, ledger.ErrThrottled) {
		t.Errorf("got %v; want throttled", err)
	}
	conflict := &wire{script: func(c string, n int, _ []byte) fault {
		if c == "UpdateItem" && n <= 2 {
			return fault{code: "TransactionConflictException"}
		}
		return fault{}
	}}
	b.won(b.with(conflict).Update(t.Context(), op, b.looked(op)))
}

func tooLarge(t *testing.T, b *bench) {
	op := b.created("op_1")
	next := b.looked(op)
	next.Evidence[len(next.Evidence)-1].Detail = strings.Repeat("x", 400<<10)
	if _, err := b.Update(t.Context(), op, next); !errors.Is(err, ledger.ErrTooLarge) {
		t.Errorf("a story of 400 KB: %v; want too large", err)
	}
}
