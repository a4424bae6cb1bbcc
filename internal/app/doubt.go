package app

import (
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// Doubt marks one operation of a restored ledger.
func Doubt(b *Base) ledger.Doubt {
	return func(op operation.Operation, by operation.Person, at operation.Time) (operation.Operation, bool) {
		f := operation.Restored{At: at, By: by, Attempt: operation.AttemptID(b.ID("at_"))}
		next, refused := operation.Apply(&op, f, op.Policy)
		if refused != nil {
			return op, false
		}
		return *next, true
	}
}
