package operation_test

import (
	"testing"
	"time"

	"holdfast/internal/operation"
)

// A replay that was claimed inside the window may be held up until its first byte.
func TestR03_TheFenceChecksTheWindowAtTheFirstByte(t *testing.T) {
	t.Parallel()
	p := careful()
	p.Lookup, p.Order = false, operation.OrderReplay
	s := begin(t, p, standing())
	s.claim("at_1", false)
	s.lost("at_1")
	s.wait(23*time.Hour - 15*time.Second)
	s.claim("at_2", true)
	if why := operation.Fence(s.op, "at_2", p, s.now); why != "" {
		t.Fatalf("right after the claim the fence refuses: %s", why)
	}
	if why := operation.Fence(s.op, "at_2", p, s.now.Add(10*time.Second)); why != operation.ReasonWindowClosed {
		t.Errorf("10 s later the fence says %q, want %s", why, operation.ReasonWindowClosed)
	}
}

// An error that the target stores under the key comes back for every further request under it, also for a retry of
// what is proven not executed.
func TestR03_AStoredErrorIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := begin(t, careful(), standing())
	s.claim("at_1", false)
	s.must(operation.Reported{Attempt: "at_1", At: s.now, Outcome: operation.OutcomeNotExecuted, Kind: operation.EvidenceAnswer, NoRepeat: true})
	s.wait(time.Hour)
	s.wants(operation.ActionAsk, operation.ReasonStoredError)
	s.refuses(s.claimFact("at_2", false), operation.ReasonLost)
}

// The end of a question about a replay says nothing about what the first request did.
func TestR04_AnExpiredQuestionLeavesTheDoubt(t *testing.T) {
	t.Parallel()
	p := careful()
	p.Lookup, p.Order = false, operation.OrderReplay
	a := standing()
	a.Standing, a.ValidUntil = false, t0.Add(time.Hour)
	s := begin(t, p, a)
	s.claim("at_1", false)
	s.lost("at_1")
	s.wait(2 * time.Hour)
	s.wants(operation.ActionAsk, operation.ReasonApprovalLapsed)
	s.ask()
	q := s.op.Question.ID
	s.wait(20 * time.Hour)
	s.must(operation.Lapsed{At: s.now, Question: q})
	s.is(operation.StatusUnknown)
	if !s.op.AnyOpen() {
		t.Error("the end of a question proved something about an attempt")
	}
}
