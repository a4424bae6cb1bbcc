package ledgertest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

func transactCases() map[string]func(*testing.T, *bench) {
	return map[string]func(*testing.T, *bench){
		"R01_DecideTogether":           decideTogether,
		"R07_RunWithItsOperation":      runWithOperation,
		"CaseB014_MismatchIsUnclear":   mismatchIsUnclear,
		"CaseB014_SameTokenRepeated":   sameTokenRepeated,
		"CaseB016_InProgress":          inProgress,
		"CaseB016_NeverAnswered":       neverAnswered,
		"CaseB017_ConflictAndLost":     conflictAndLost,
		"CaseB017_ConflictAndThrottle": conflictAndThrottle,
		"CaseB017_ConflictAndInvalid":  conflictAndInvalid,
		"CaseB017_ManyEvents":          manyEvents,
	}
}

// pair is two operations that one reading approves.
func (b *bench) pair() []ledger.Change {
	var changes []ledger.Change
	for _, id := range []operation.ID{"op_task", "op_mail"} {
		seen := b.created(id)
		changes = append(changes, ledger.Change{Seen: seen, Next: b.approved(seen)})
	}
	return changes
}

func (b *bench) approved(op operation.Operation) operation.Operation {
	now := b.at()
	op.Approval = &operation.Approval{By: "reviewer@example.com", At: now, Version: 1, Digest: op.Content.Digest, ValidUntil: now + 1000}
	return cite(op, operation.EvidenceApproved, now, "")
}

// approvals counts which of the pair are approved in the ledger.
func (b *bench) approvals() []bool {
	b.t.Helper()
	var got []bool
	for _, id := range []operation.ID{"op_task", "op_mail"} {
		op, err := b.Operation(context.Background(), id)
		if err != nil {
			b.t.Fatal(err)
		}
		got = append(got, op.Approval != nil)
	}
	return got
}

func (b *bench) wantApprovals(want ...bool) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.approvals()); diff != "" {
		b.t.Errorf("approvals of task and mail (-want +got):\n%s", diff)
	}
}

func decideTogether(t *testing.T, b *bench) {
	changes := b.pair()
	out, err := b.TransactDecisions(t.Context(), changes)
	if err != nil || out.Verdict != ledger.Written || out.Current[1].Rev != 2 {
		t.Fatalf("got %+v, %v; want written", out.Verdict, err)
	}
	b.wantApprovals(true, true)
	out, err = b.TransactDecisions(t.Context(), changes)
	if err != nil || out.Verdict != ledger.Lost || out.Current[0].Approval == nil {
		t.Errorf("a second answer from the same reading: %v, %v; want lost to the standing decision", out.Verdict, err)
	}
}

// scripted answers the nth transaction with a fault and lets the others through.
func scripted(faults ...fault) *wire {
	return &wire{script: func(c string, n int, _ []byte) fault {
		if c == "TransactWriteItems" && n <= len(faults) {
			return faults[n-1]
		}
		return fault{}
	}}
}

func cancelled(codes ...string) fault {
	var reasons []string
	for _, c := range codes {
		reasons = append(reasons, `{"Code":"`+c+`","Message":"scripted"}`)
	}
	return fault{code: "TransactionCanceledException", body: `,"CancellationReasons":[` + strings.Join(reasons, ",") + `]`}
}

func mismatchIsUnclear(t *testing.T, b *bench) {
	changes := b.pair()
	mismatch := fault{code: "IdempotentParameterMismatchException"}
	if _, err := b.with(scripted(mismatch)).TransactDecisions(t.Context(), changes); !errors.Is(err, ledger.ErrUnclear) {
		t.Fatalf("nothing written: %v; want unclear", err)
	}
	b.wantApprovals(false, false)
	out, err := b.with(scripted(fault{lose: true}, mismatch)).TransactDecisions(t.Context(), changes)
	if err != nil || out.Verdict != ledger.Written {
		t.Fatalf("written, its answer lost, the repeat refused: %v, %v; want written", out.Verdict, err)
	}
	b.wantApprovals(true, true)
}

// The same transaction repeated at once under its token, many times.
func sameTokenRepeated(t *testing.T, b *bench) {
	const repeats = 50
	changes := b.pair()
	for range repeats {
		out, err := b.with(scripted(fault{lose: true})).TransactDecisions(t.Context(), changes)
		if err != nil || out.Verdict != ledger.Written {
			t.Fatalf("got %v, %v; want written", out.Verdict, err)
		}
		for i := range changes {
			changes[i] = ledger.Change{Seen: out.Current[i], Next: b.looked(out.Current[i])}
		}
	}
	if op, err := b.Operation(t.Context(), "op_mail"); err != nil || op.Rev != repeats+1 {
		t.Errorf("revision %d, %v; want each decision once: %d", op.Rev, err, repeats+1)
	}
}

// The first try is still running when it is asked again, and again by us after a cancelled one: the same token, until
// it is answered.
func inProgress(t *testing.T, b *bench) {
	changes := b.pair()
	var tokens []string
	running := fault{code: "TransactionInProgressException"}
	w := &wire{script: func(c string, n int, body []byte) fault {
		if c != "TransactWriteItems" {
			return fault{}
		}
		tokens = append(tokens, tokenIn(body))
		return []fault{{lose: true}, running, cancelled("TransactionConflict", "None"), {}}[min(n, 4)-1]
	}}
	out, err := b.with(w).TransactDecisions(t.Context(), changes)
	if err != nil || out.Verdict != ledger.Written {
		t.Fatalf("got %v, %v; want written", out.Verdict, err)
	}
	if len(tokens) != 4 || tokens[0] == "" {
		t.Fatalf("tokens %q", tokens)
	}
	for _, token := range tokens {
		if token != tokens[0] {
			t.Errorf("token %q after %q: never a new one", token, tokens[0])
		}
	}
	b.wantApprovals(true, true)
}

func tokenIn(body []byte) string {
	_, rest, _ := strings.Cut(string(body), `"ClientRequestToken":"`)
	token, _, _ := strings.Cut(rest, `"`)
	return token
}

// It is in progress for longer than we ask: read back what stands.
func neverAnswered(t *testing.T, b *bench) {
	changes := b.pair()
	busy := &wire{script: func(c string, _ int, _ []byte) fault {
		if c == "TransactWriteItems" {
			return fault{code: "TransactionInProgressException"}
		}
		return fault{}
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := b.with(busy).TransactDecisions(ctx, changes); !errors.Is(err, ledger.ErrUnclear) {
		t.Fatalf("got %v; want unclear", err)
	}
	deaf := &wire{script: func(c string, _ int, _ []byte) fault { return fault{lose: c == "TransactWriteItems"} }}
	out, err := b.with(deaf).TransactDecisions(t.Context(), changes)
	if err != nil || out.Verdict != ledger.Written {
		t.Fatalf("got %v, %v; want written, as read back", out.Verdict, err)
	}
}

func conflictAndLost(t *testing.T, b *bench) {
	changes := b.pair()
	other := changes[1].Seen
	b.won(b.Update(t.Context(), other, b.looked(other)))
	w := scripted(cancelled("TransactionConflict", "ConditionalCheckFailed"))
	out, err := b.with(w).TransactDecisions(t.Context(), changes)
	if err != nil || out.Verdict != ledger.Lost || w.count("TransactWriteItems") != 2 {
		t.Fatalf("got %v after %d requests, %v; want lost, after one more try in place", out.Verdict, w.count("TransactWriteItems"), err)
	}
	b.wantApprovals(false, false)
}

func conflictAndThrottle(t *testing.T, b *bench) {
	w := scripted(cancelled("TransactionConflict", "ProvisionedThroughputExceeded"))
	_, err := b.with(w).TransactDecisions(t.Context(), b.pair())
	if !errors.Is(err, ledger.ErrThrottled) || errors.Is(err, ledger.ErrUnclear) || w.count("TransactWriteItems") != 1 {
		t.Errorf("got %v after %d requests; want throttled, and no try at once", err, w.count("TransactWriteItems"))
	}
}

func conflictAndInvalid(t *testing.T, b *bench) {
	w := scripted(cancelled("TransactionConflict", "ValidationError"))
	_, err := b.with(w).TransactDecisions(t.Context(), b.pair())
	if !errors.Is(err, ledger.ErrRefused) || errors.Is(err, ledger.ErrUnclear) || w.count("TransactWriteItems") != 1 {
		t.Errorf("got %v after %d requests; want refused for good", err, w.count("TransactWriteItems"))
	}
}

// 50 writers each add one fact to one operation; each gets in once.
func manyEvents(t *testing.T, b *bench) {
	const writers = 50
	op := b.created("op_hot")
	together(writers, func(int) {
		for now := op; ; {
			res, err := b.Update(context.Background(), now, b.looked(now))
			if err != nil {
				t.Error(err)
				return
			}
			if res.Verdict == ledger.Written {
				return
			}
			now = res.Current
		}
	})
	if got, err := b.Operation(t.Context(), op.ID); err != nil || got.Look.Count != writers {
		t.Errorf("counted %d, %v; want %d", got.Look.Count, err, writers)
	}
}
