package ledgertest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

func outcomeCases() map[string]func(*testing.T, *bench) {
	return map[string]func(*testing.T, *bench){
		"R12_OutcomeIsNotPushedOut": outcomeNotPushedOut,
		"R12_InboxTakesTheOutcome":  inboxTakes,
		"R12_InboxIsNotOverwritten": inboxNotOverwritten,
		"R12_InboxOnce":             inboxOnce,
		"R12_OutcomeOnce":           outcomeOnce,
		"CaseB005_ReceiptFits":      receiptFits,
	}
}

// executed is what the owner of an attempt saw when the target answered with a reference.
func (b *bench) executed() []byte {
	return Seen{At: b.at(), Outcome: operation.OutcomeExecuted, Reference: "7714"}.bytes()
}

// rival notes a lookup before each of our first n writes of an operation.
func (b *bench) rival(id operation.ID, n int) *wire {
	return &wire{script: func(c string, k int, body []byte) fault {
		if c != "UpdateItem" || k > n || !strings.Contains(string(body), "write_id_") {
			return fault{}
		}
		return fault{before: func() {
			now, err := b.Operation(context.Background(), id)
			if err != nil {
				b.t.Error(err)
			}
			b.won(b.Update(context.Background(), now, b.looked(now)))
		}}
	}}
}

func outcomeNotPushedOut(t *testing.T, b *bench) {
	op := b.claimed("op_beside", "at_1")
	got := b.won(b.with(b.rival(op.ID, 3)).RecordOutcome(t.Context(), op, "at_1", b.executed()))
	if got.Status != operation.StatusConfirmed || got.Look.Count != 3 {
		t.Errorf("got %s with %d lookups; want confirmed with all 3", got.Status, got.Look.Count)
	}
}

// The rivals never let our revision stand: the outcome goes into the inbox, every reader sees it, and the next
// writer folds it.
func inboxTakes(t *testing.T, b *bench) {
	op := b.claimed("op_busy", "at_1")
	res, err := b.with(b.rival(op.ID, 100)).RecordOutcome(t.Context(), op, "at_1", b.executed())
	if err != nil || res.Verdict != ledger.Inboxed {
		t.Fatalf("got %v, %v; want inboxed", res.Verdict, err)
	}
	read, err := b.Operation(t.Context(), op.ID)
	if err != nil || read.Status != operation.StatusConfirmed || read.Reference != "7714" {
		t.Fatalf("a reader sees %s %q, %v; want the outcome", read.Status, read.Reference, err)
	}
	if diff := cmp.Diff(res.Current, read); diff != "" {
		t.Errorf("the owner sees something else:\n%s", diff)
	}
	folded := b.won(b.Update(t.Context(), read, b.looked(read)))
	if folded.Attempts[0].Outcome != operation.OutcomeExecuted || len(folded.Evidence) != len(read.Evidence)+1 {
		t.Errorf("after the next write: %+v", folded.Attempts[0])
	}
	again, err := b.RecordOutcome(t.Context(), op, "at_1", b.executed())
	if err != nil || again.Verdict != ledger.Already {
		t.Errorf("recorded again: %v, %v; want already", again.Verdict, err)
	}
}

// A writer that read the operation before the inbox entry must not write over it.
func inboxNotOverwritten(t *testing.T, b *bench) {
	op := b.claimed("op_entry", "at_1")
	var old operation.Operation
	w := b.rival(op.ID, 100)
	beside := w.script
	w.script = func(c string, n int, body []byte) fault {
		if c != "UpdateItem" || strings.Contains(string(body), "write_id_") {
			return beside(c, n, body)
		}
		return fault{before: func() { // the inbox entry is about to be written
			var err error
			if old, err = b.Operation(context.Background(), op.ID); err != nil {
				t.Error(err)
			}
		}}
	}
	if res, err := b.with(w).RecordOutcome(t.Context(), op, "at_1", b.executed()); err != nil || res.Verdict != ledger.Inboxed {
		t.Fatalf("got %v, %v; want inboxed", res.Verdict, err)
	}
	if old.Status != operation.StatusInFlight {
		t.Fatalf("the stale writer read %s; the test wants it to have missed the entry", old.Status)
	}
	res, err := b.Update(t.Context(), old, b.looked(old))
	if err != nil || res.Verdict != ledger.Lost || res.Current.Status != operation.StatusConfirmed {
		t.Errorf("a stale writer got %v with %s, %v; want lost to the outcome", res.Verdict, res.Current.Status, err)
	}
}

// The same attempt's owner reports twice at once, and both find the operation busy: the first entry stands.
func inboxOnce(t *testing.T, b *bench) {
	op := b.claimed("op_twice", "at_1")
	w := b.rival(op.ID, 100)
	beside := w.script
	w.script = func(c string, n int, body []byte) fault {
		if c != "UpdateItem" || strings.Contains(string(body), "write_id_") {
			return beside(c, n, body)
		}
		return fault{before: func() {
			now, err := b.Operation(context.Background(), op.ID)
			if err != nil {
				t.Error(err)
			}
			res, err := b.with(b.rival(op.ID, 100)).RecordOutcome(context.Background(), now, "at_1", b.executed())
			if err != nil || res.Verdict != ledger.Inboxed {
				t.Errorf("the first: %v, %v; want inboxed", res.Verdict, err)
			}
		}}
	}
	res, err := b.with(w).RecordOutcome(t.Context(), op, "at_1", Seen{At: b.at(), Detail: "nothing seen"}.bytes())
	if err != nil || res.Verdict != ledger.Already || res.Current.Reference != "7714" {
		t.Errorf("the second: %v %q, %v; want the first to stand", res.Verdict, res.Current.Reference, err)
	}
}

// An outcome is recorded once, also when its answer was lost and its owner reports again with something else.
func outcomeOnce(t *testing.T, b *bench) {
	op := b.claimed("op_once", "at_1")
	b.won(b.with(first("UpdateItem", nil)).RecordOutcome(t.Context(), op, "at_1", b.executed()))
	res, err := b.RecordOutcome(t.Context(), op, "at_1", Seen{At: b.at()}.bytes())
	if err != nil || res.Verdict != ledger.Already || res.Current.Reference != "7714" {
		t.Errorf("got %v %q, %v; want the first outcome", res.Verdict, res.Current.Reference, err)
	}
	if _, err := b.RecordOutcome(t.Context(), op, "at_other", b.executed()); !errors.Is(err, ledger.ErrRefused) {
		t.Errorf("an attempt nobody claimed: %v; want refused", err)
	}
}

// The operation has no room for what the target answered: the receipt (status, reference) is kept all the same.
func receiptFits(t *testing.T, b *bench) {
	op := b.claimed("op_full", "at_1")
	full := op
	full.Evidence = append(full.Evidence[:len(full.Evidence):len(full.Evidence)], operation.Evidence{
		Kind: operation.EvidenceLookupFailed, At: b.at(), Detail: strings.Repeat("x", ledger.DocBytesMax-2500)})
	full = b.won(b.Update(t.Context(), op, full))
	fact := Seen{At: b.at(), Outcome: operation.OutcomeExecuted, Reference: "7714", Detail: strings.Repeat("y", 3000)}.bytes()
	res, err := b.RecordOutcome(t.Context(), full, "at_1", fact)
	if err != nil || res.Verdict != ledger.Inboxed || res.Current.Reference != "7714" {
		t.Fatalf("got %v %q, %v; want the receipt in the inbox", res.Verdict, res.Current.Reference, err)
	}
	if _, err := b.RecordOutcome(t.Context(), full, "at_1", make([]byte, 500<<10)); !errors.Is(err, ledger.ErrTooLarge) {
		t.Errorf("a fact of 500 KB: %v; want too large", err)
	}
	if read, err := b.Operation(t.Context(), op.ID); err != nil || read.Status != operation.StatusConfirmed {
		t.Errorf("afterwards: %s, %v; want confirmed", read.Status, err)
	}
}
