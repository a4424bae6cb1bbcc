package operation_test

import (
	"testing"
	"time"

	"holdfast/internal/operation"
)

// The target's own event says that the effect is there; then the only attempt that can have made it reports proof that
// it did nothing. Both cannot be true, and somebody has to look.
func TestR12_ALateNoToAKnownEffect(t *testing.T) {
	t.Parallel()
	s := begin(t, careful(), standing())
	s.claim("at_1", false)
	s.wait(time.Second)
	s.must(operation.Fed{At: s.now, Reference: "7714"})
	s.is(operation.StatusConfirmed)
	s.wait(time.Second)
	s.rejected("at_1")
	s.is(operation.StatusConfirmed)
	if c := s.op.Contradiction; c == nil || c.Reason != operation.ReasonEffectUnproven || c.First != "7714" {
		t.Errorf("the contradiction is %+v, want an effect without an attempt", c)
	}
	s.wants(operation.ActionAsk, operation.ReasonEffectUnproven)
}
