package ledger_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/clock"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
	"holdfast/internal/operation"
)

// benchLedger is a ledger on a new table that counts the capacity units of its calls.
func benchLedger(b *testing.B) (*ledger.Ledger, *atomic.Int64) {
	b.Helper()
	c, units, n := client(b), new(atomic.Int64), new(atomic.Int64)
	table := fmt.Sprintf("bench-%d", os.Getpid())
	ledgertest.MakeTable(b, c, table)
	l := ledger.New(ledger.Options{Client: c, Table: table, Clock: clock.New(), Fold: ledgertest.Fold,
		WriteID: func() string { return fmt.Sprintf("w-%d", n.Add(1)) },
		OnCall:  func(_ string, used float64) { units.Add(int64(used * 10)) }})
	if _, err := l.Check(b.Context(), ledger.Identity{Stack: "bench", Fingerprint: "fp"}); err != nil {
		b.Fatal(err)
	}
	return l, units
}

func benchOperation(id operation.ID, content []byte, now operation.Time) operation.Operation {
	const owner = "ops-lead@example.com"
	return operation.Operation{ID: id, Flow: "campaign-follow-up", Stage: "crm_task", Target: "hubspot-task", Owner: owner, Created: now,
		Runs: []operation.RunID{"run_1"}, Content: operation.Content{Version: 1, Digest: ledger.DigestOf(content)},
		Evidence: []operation.Evidence{{Kind: operation.EvidencePlanned, At: now}},
		Step:     operation.Step{Action: operation.ActionSend, Due: now, Owner: owner}}
}

// claimed is a new operation with one attempt that holds its claim.
func claimed(b *testing.B, l *ledger.Ledger, id operation.ID, content []byte) operation.Operation {
	b.Helper()
	now := operation.TimeOf(l.Clock.Now())
	made, err := l.CreateOperation(b.Context(), benchOperation(id, content, now), content)
	if err != nil {
		b.Fatal(err)
	}
	res, err := l.Claim(b.Context(), made.Current, claiming(made.Current, now))
	if err != nil || res.Verdict != ledger.Written {
		b.Fatal(res.Verdict, err)
	}
	return res.Current
}

func claiming(op operation.Operation, now operation.Time) operation.Operation {
	op.Attempts = []operation.Attempt{{ID: "at_1", Claimed: now, LeaseUntil: now.Add(time.Hour), Version: 1}}
	op.Status = operation.StatusInFlight
	op.Evidence = append(op.Evidence[:len(op.Evidence):len(op.Evidence)], operation.Evidence{Kind: operation.EvidenceClaimed, At: now, Attempt: "at_1"})
	return op
}

func BenchmarkClaim(b *testing.B) {
	l, units := benchLedger(b)
	content := []byte("POST /tasks")
	now := operation.TimeOf(l.Clock.Now())
	ops := make([]operation.Operation, b.N)
	for i := range ops {
		made, err := l.CreateOperation(b.Context(), benchOperation(operation.ID(fmt.Sprintf("op_%d", i)), content, now), content)
		if err != nil {
			b.Fatal(err)
		}
		ops[i] = made.Current
	}
	units.Store(0)
	b.ResetTimer()
	for i := range ops {
		if res, err := l.Claim(b.Context(), ops[i], claiming(ops[i], now)); err != nil || res.Verdict != ledger.Written {
			b.Fatal(res.Verdict, err)
		}
	}
	b.ReportMetric(float64(units.Load())/10/float64(b.N), "units/op")
}

func BenchmarkRecordOutcome(b *testing.B) {
	l, units := benchLedger(b)
	ops := make([]operation.Operation, b.N)
	for i := range ops {
		ops[i] = claimed(b, l, operation.ID(fmt.Sprintf("op_%d", i)), []byte("POST /tasks"))
	}
	fact := []byte(`{"at":"2026-11-29T18:00:00.000Z","outcome":"unknown"}`)
	units.Store(0)
	b.ResetTimer()
	for i := range ops {
		if res, err := l.RecordOutcome(b.Context(), ops[i], "at_1", fact); err != nil || res.Verdict != ledger.Written {
			b.Fatal(res.Verdict, err)
		}
	}
	b.ReportMetric(float64(units.Load())/10/float64(b.N), "units/op")
}

func BenchmarkRecordEvent(b *testing.B) {
	l, units := benchLedger(b)
	body := []byte(`{"order":7}`)
	digest, now := ledger.DigestOf(body), operation.TimeOf(l.Clock.Now())
	units.Store(0)
	b.ResetTimer()
	for i := range b.N {
		ev := operation.Event{ID: operation.EventID(fmt.Sprintf("ev_%d", i)), Source: "shopify", Owner: "ops-lead@example.com", BodyDigest: digest,
			Payload: digest, Received: now, Deliveries: []operation.Delivery{{ID: "d", At: now, BodyDigest: digest}},
			Step: operation.Step{Action: operation.ActionWait, Due: now, Owner: "ops-lead@example.com"}}
		if res, err := l.RecordEvent(b.Context(), ev, body); err != nil || res.Verdict != ledger.Recorded {
			b.Fatal(res.Verdict, err)
		}
	}
	b.ReportMetric(float64(units.Load())/10/float64(b.N), "units/op")
}
