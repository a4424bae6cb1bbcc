package operation_test

import (
	"testing"
	"time"

	"holdfast/internal/operation"
)

// A target's Retry-After holds until it is over, also when a later answer names an earlier one.
func TestR03_TheLatestRetryAfterOfAllCounts(t *testing.T) {
	t.Parallel()
	now := operation.TimeOf(time.Date(2026, 11, 29, 18, 0, 0, 0, time.UTC))
	refused := func(id operation.AttemptID, after time.Duration) operation.Attempt {
		return operation.Attempt{
			ID: id, Claimed: now, LeaseUntil: now.Add(time.Minute), Recorded: now, Outcome: operation.OutcomeNotExecuted, Version: 1,
			RetryAfter: now.Add(after),
		}
	}
	op := operation.Operation{
		ID: "op_1", Owner: "owner@example.com", Status: operation.StatusReady, Content: operation.Content{Version: 1, Digest: "d"},
		Approval: &operation.Approval{By: "owner@example.com", Version: 1, Digest: "d", Standing: true},
		Attempts: []operation.Attempt{refused("at_1", time.Hour), refused("at_2", time.Second)},
	}
	policy := operation.Policy{AttemptsMax: 5, BackoffMin: time.Second, BackoffMax: time.Minute, Factor: 2, Timeout: time.Second, Lease: time.Minute}
	m := operation.Next(&op, policy, now.Add(10*time.Minute))
	if m.Action != operation.ActionWait || m.Due != now.Add(time.Hour) {
		t.Errorf("%s, due %s; want to wait until %s", m.Action, m.Due, now.Add(time.Hour))
	}
}
