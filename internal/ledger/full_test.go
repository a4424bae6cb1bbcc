package ledger_test

import (
	"slices"
	"testing"
	"time"

	"holdfast/internal/clock"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// A story that is full can still be asked about and be closed by a person: what the core allows, the ledger takes.
func TestR07_AFullStoryCanBeAskedAboutAndClosed(t *testing.T) {
	t.Parallel()
	c, ctx := clock.New(), t.Context()
	l := checked(t, "full-story", c)
	now, content, policy := operation.TimeOf(c.Now()), []byte("POST /tasks"), operation.Policy{Timeout: time.Second, Lease: time.Minute}
	seen := operation.Question{ID: "q_0", Decision: &operation.Decision{Answer: operation.AnswerNothingHappened, By: "owner@example.com", At: now}}
	op := operation.Operation{
		ID: "op_full", Flow: "f", Stage: "s", Owner: "owner@example.com", Created: now, Runs: []operation.RunID{"run_1"}, Status: operation.StatusUnknown, Policy: policy,
		Content:  operation.Content{Version: 1, Digest: ledger.DigestOf(content)},
		Attempts: []operation.Attempt{{ID: "at_1", Claimed: now, LeaseUntil: now.Add(time.Minute), Recorded: now, Version: 1}},
		Evidence: slices.Repeat([]operation.Evidence{{Kind: operation.EvidenceNoAnswer, At: now}}, operation.EvidenceBound),
		Answered: slices.Repeat([]operation.Question{seen}, operation.AnsweredBound),
		Step:     operation.Step{Action: operation.ActionAsk, Due: now, Owner: "owner@example.com"},
	}
	made, err := l.CreateOperation(ctx, op, content)
	if err != nil {
		t.Fatal(err)
	}
	current := made.Current
	for _, f := range []operation.Fact{
		operation.Asked{At: now, Question: operation.Question{ID: "q_1", Kind: operation.QuestionResolve, Reviewers: []operation.Person{"owner@example.com"}}},
		operation.Decided{At: now, Question: "q_1", Round: 1, By: "owner@example.com", Answer: operation.AnswerClose, How: "nobody knows", Rev: 2, Digest: op.Content.Digest},
	} {
		next, refused := operation.Apply(&current, f, policy)
		if refused != nil {
			t.Fatalf("%T: %v", f, refused)
		}
		res, err := l.Update(ctx, current, *next)
		if err != nil || res.Verdict != ledger.Written {
			t.Fatalf("%T: %v, %v", f, res.Verdict, err)
		}
		current = res.Current
	}
	if current.Status != operation.StatusAbandoned {
		t.Errorf("%s; want abandoned", current.Status)
	}
}
