package ledger_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"holdfast/internal/clock"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
	"holdfast/internal/operation"
)

// What reached the inbox is proof that nobody has acted on: its operation is due at once, however far its next step is.
func TestR07_AnOutcomeInTheInboxIsDue(t *testing.T) {
	t.Parallel()
	c, ctx := clock.New(), t.Context()
	l := checked(t, "inbox-due", c)
	now, content := operation.TimeOf(c.Now()), []byte("POST /tasks")
	op := operation.Operation{
		ID: "op_full", Flow: "f", Stage: "s", Owner: "owner@example.com", Created: now, Runs: []operation.RunID{"run_1"}, Status: operation.StatusInFlight,
		Content:  operation.Content{Version: 1, Digest: ledger.DigestOf(content)},
		Attempts: []operation.Attempt{{ID: "at_1", Claimed: now, LeaseUntil: now.Add(time.Minute), Version: 1}},
		Evidence: slices.Repeat([]operation.Evidence{{Kind: operation.EvidenceLookupFailed, At: now}}, operation.EvidenceMost), // no room for one more
		Step:     operation.Step{Action: operation.ActionWait, Due: now.Add(24 * time.Hour), Owner: "owner@example.com"},
	}
	made, err := l.CreateOperation(ctx, op, content)
	if err != nil {
		t.Fatal(err)
	}
	fact, err := json.Marshal(ledgertest.Seen{At: now, Outcome: operation.OutcomeExecuted, Reference: "7714"})
	if err != nil {
		t.Fatal(err)
	}
	res, err := l.RecordOutcome(ctx, made.Current, "at_1", fact)
	if err != nil || res.Verdict != ledger.Inboxed {
		t.Fatalf("got %v, %v; want inboxed", res.Verdict, err)
	}
	var due []operation.ID
	for shard := range ledger.Shards {
		hints, err := l.Due(ctx, shard, operation.TimeOf(c.Now()), 10, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hints {
			due = append(due, h.Operation)
		}
	}
	if !slices.Equal(due, []operation.ID{"op_full"}) {
		t.Errorf("due are %v, want op_full", due)
	}
}
