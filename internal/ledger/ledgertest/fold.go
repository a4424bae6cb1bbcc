package ledgertest

import (
	"encoding/json"
	"fmt"
	"slices"

	"holdfast/internal/operation"
)

// Seen is the suite's own encoding of an outcome.
type Seen struct {
	At        operation.Time      `json:"at"`
	Outcome   operation.Outcome   `json:"outcome"`
	Reference operation.Reference `json:"reference,omitempty"`
	Detail    string              `json:"detail,omitempty"`
}

func (s Seen) bytes() []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // the suite's own literals
	}
	return b
}

// Fold is a small stand-in for the core: it records the attempt's outcome and what follows for the status.
func Fold(op operation.Operation, attempt operation.AttemptID, fact []byte) (operation.Operation, error) {
	var s Seen
	if err := json.Unmarshal(fact, &s); err != nil {
		return op, err
	}
	op.Attempts = slices.Clone(op.Attempts)
	i := slices.IndexFunc(op.Attempts, func(a operation.Attempt) bool { return a.ID == attempt })
	if i < 0 {
		return op, fmt.Errorf("no attempt %s", attempt)
	}
	op.Attempts[i].Recorded, op.Attempts[i].Outcome, op.Attempts[i].Reference = s.At, s.Outcome, s.Reference
	op = cite(op, operation.EvidenceAnswer, s.At, attempt)
	op.Evidence[len(op.Evidence)-1].Detail = s.Detail
	switch {
	case s.Outcome == operation.OutcomeExecuted:
		op.Status, op.Reference, op.Confirmed = operation.StatusConfirmed, s.Reference, s.At
		op.Step = operation.Step{Action: operation.ActionDone}
	case op.Status == operation.StatusConfirmed:
	case s.Outcome == operation.OutcomeNotExecuted:
		op.Status = operation.StatusReady
	default:
		op.Status = operation.StatusUnknown
	}
	return op, nil
}
