package ledgertest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

func dueCases() map[string]func(*testing.T, *bench) {
	return map[string]func(*testing.T, *bench){
		"R07_DueInOrder":          dueInOrder,
		"R07_SettledLeaves":       settledLeaves,
		"R07_WithoutATime":        withoutATime,
		"CaseB019_StaleHint":      staleHint,
		"CaseB019_LostByTheIndex": lostByTheIndex,
		"R13_AuditGoesOn":         auditGoesOn,
	}
}

// due collects all hints up to an instant, in small pages.
func (b *bench) due(until operation.Time) map[operation.ID]operation.Time {
	b.t.Helper()
	got := map[operation.ID]operation.Time{}
	for shard := range ledger.Shards {
		var after *ledger.Hint
		for {
			hints, err := b.Due(b.t.Context(), shard, until, 3, after)
			if err != nil {
				b.t.Fatal(err)
			}
			if len(hints) == 0 {
				break
			}
			for i, h := range hints {
				if i > 0 && h.Due < hints[i-1].Due {
					b.t.Errorf("shard %d: %v after %v", shard, h.Due, hints[i-1].Due)
				}
				if _, twice := got[h.Operation]; twice {
					b.t.Errorf("%s twice", h.Operation)
				}
				got[h.Operation] = h.Due
			}
			after = &hints[len(hints)-1]
		}
	}
	return got
}

func dueInOrder(t *testing.T, b *bench) {
	now := b.at()
	want := map[operation.ID]operation.Time{}
	for i := range 40 {
		op := b.proposed(operation.ID(fmt.Sprintf("op_%d", i)))
		op.Step.Due = now.Add(time.Duration(i-20) * time.Second)
		if _, err := b.CreateOperation(t.Context(), op, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if op.Step.Due <= now {
			want[op.ID] = op.Step.Due
		}
	}
	if diff := cmp.Diff(want, b.due(now)); diff != "" {
		t.Errorf("due (-want +got):\n%s", diff)
	}
}

func settledLeaves(t *testing.T, b *bench) {
	op := b.claimed("op_1", "at_1")
	if got := b.due(operation.TimeMax); len(got) != 1 {
		t.Fatalf("open: %v; want it on the list", got)
	}
	b.won(b.RecordOutcome(t.Context(), op, "at_1", b.executed()))
	if got := b.due(operation.TimeMax); len(got) != 0 {
		t.Errorf("settled: %v; want an empty list", got)
	}
}

func withoutATime(t *testing.T, b *bench) {
	op := b.proposed("op_1")
	op.Step = operation.Step{Action: operation.ActionAsk, Owner: op.Owner}
	if _, err := b.CreateOperation(t.Context(), op, []byte(content)); err != nil {
		t.Fatal(err)
	}
	if got := b.due(b.at()); len(got) != 0 {
		t.Errorf("due now: %v; want nothing", got)
	}
	if got := b.due(operation.TimeMax); len(got) != 1 {
		t.Errorf("worklist: %v; want the question on it", got)
	}
}

// The index still says due after the operation is done: two sweepers read the base item and do nothing.
func staleHint(t *testing.T, b *bench) {
	op := b.claimed("op_1", "at_1")
	if hints := b.due(operation.TimeMax); len(hints) != 1 {
		t.Fatalf("got %v", hints)
	}
	b.won(b.RecordOutcome(t.Context(), op, "at_1", b.executed()))
	for range 2 { // each with the hint from before
		now, err := b.Operation(t.Context(), op.ID)
		if err != nil || now.Status != operation.StatusConfirmed {
			t.Fatalf("a sweeper read %s, %v; want what stands", now.Status, err)
		}
		res, err := b.Claim(t.Context(), op, b.claiming(b.released(op), "at_2"))
		if err == nil && res.Verdict != ledger.Lost {
			t.Errorf("a sweeper that trusted the hint: %v; want lost or refused", res.Verdict)
		}
	}
}

// released is op as if its attempts had all been recorded.
func (b *bench) released(op operation.Operation) operation.Operation {
	op.Attempts = append([]operation.Attempt{}, op.Attempts...)
	for i := range op.Attempts {
		op.Attempts[i].Recorded = b.at()
	}
	return op
}

func lostByTheIndex(t *testing.T, b *bench) {
	b.created("op_1")
	b.created("op_2")
	it := b.raw("op#op_1", "op")
	delete(it, "due")
	delete(it, "due_shard")
	b.tamper(it)
	b.record("ev_1", "d1", "{}")
	found := map[string]bool{}
	err := b.Audit(t.Context(), 3, func(f ledger.Found) error {
		if f.Err != nil {
			return f.Err
		}
		found[f.Key] = f.Indexed
		return nil
	})
	if diff := cmp.Diff(map[string]bool{"op#op_1/op": false, "op#op_2/op": true, "ev#ev_1/ev": true}, found); err != nil || diff != "" {
		t.Errorf("found: %v\n%s", err, diff)
	}
	op, err := b.Operation(t.Context(), "op_1")
	if err != nil {
		t.Fatal(err)
	}
	b.won(b.Update(t.Context(), op, op))
	if got := b.due(operation.TimeMax); len(got) != 3 {
		t.Errorf("after the repair: %v; want all three", got)
	}
}

// A record that does not read is reported and the audit goes on; nothing is decided on it.
func auditGoesOn(t *testing.T, b *bench) {
	b.created("op_1")
	b.created("op_2")
	for name, change := range map[string]func(map[string]types.AttributeValue){
		"unknown field": func(it map[string]types.AttributeValue) {
			it["doc"] = &types.AttributeValueMemberS{Value: `{"id":"op_1","new_field":1}`}
		},
		"unknown status": func(it map[string]types.AttributeValue) {
			it["status"] = &types.AttributeValueMemberS{Value: "finished"}
		},
		"later version": func(it map[string]types.AttributeValue) { it["v"] = num(2) },
		"no revision":   func(it map[string]types.AttributeValue) { delete(it, "rev") },
		"another's document": func(it map[string]types.AttributeValue) {
			it["doc"] = b.raw("op#op_2", "op")["doc"]
		},
		"text after it": func(it map[string]types.AttributeValue) {
			it["doc"] = &types.AttributeValueMemberS{Value: it["doc"].(*types.AttributeValueMemberS).Value + "{}"}
		},
	} {
		was, it := b.raw("op#op_1", "op"), b.raw("op#op_1", "op")
		change(it)
		b.tamper(it)
		if _, err := b.Operation(t.Context(), "op_1"); !errors.Is(err, ledger.ErrCorrupt) {
			t.Errorf("%s: %v; want corrupt", name, err)
		}
		var bad, good int
		err := b.Audit(t.Context(), 1, func(f ledger.Found) error {
			if errors.Is(f.Err, ledger.ErrCorrupt) {
				bad++
			} else {
				good++
			}
			return nil
		})
		if diff := cmp.Diff([]any{1, 1, nil}, []any{bad, good, err}, cmpopts.EquateErrors()); diff != "" {
			t.Errorf("%s: bad, good, error (-want +got):\n%s", name, diff)
		}
		b.tamper(was)
	}
}
