package approval_test

import (
	"fmt"
	"testing"

	"holdfast/internal/approval"
	"holdfast/internal/approval/approvaltest"
	"holdfast/internal/ledger"
)

// The whole of a code decides, not a part of it: hundreds of guesses at many links, and none fits by its beginning.
func TestR11_NoGuessFitsInPart(t *testing.T) {
	t.Parallel()
	b, _ := asked(t)
	for range 30 {
		if _, err := b.Desk.Remind(t.Context(), b.Run.ID); err != nil {
			t.Fatal(err)
		}
	}
	guesses := 0
	for _, i := range b.Invitations() {
		for n := range ledger.LinkTriesMax {
			guesses++
			if why, err := b.Desk.Prove(t.Context(), b.Link(i), fmt.Sprintf("WRONG%03d", n)); err != nil || why != approval.ReasonWrongCode {
				t.Fatalf("guess %d: %q, %v", guesses, why, err)
			}
		}
	}
	if guesses < 200 {
		t.Errorf("only %d guesses", guesses)
	}
	if b.Op("op_email").Approval != nil || b.Of(approvaltest.Reviewer).Code == "" {
		t.Error("a guess decided")
	}
}
