package simtarget_test

import (
	"sync"
	"testing"
)

func TestHundredRequestsWithOneKeyAreOneEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var work sync.WaitGroup
	ids := make([]any, 100)
	for i := range ids {
		work.Go(func() {
			g, err := w.try("resend", "POST", "/emails", mail, "Idempotency-Key", "op_one")
			if err == nil && g.status == 200 {
				ids[i] = g.field("id")
			}
		})
	}
	work.Wait()
	w.wantEffects("resend", 1)
	for _, id := range ids {
		if id != ids[0] || id == nil {
			t.Fatalf("ids differ: %v and %v", ids[0], id)
		}
	}
	report := w.sim.Effects()["resend"]
	if report.Requests != 100 || report.Replays != 99 || report.ByOperation["op_one"] != 1 {
		t.Errorf("requests %d, replays %d, by operation %v", report.Requests, report.Replays, report.ByOperation)
	}
}
