package e2e

import (
	"testing"

	"holdfast/internal/operation"
)

func TestCleanRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.probe.arm(-1, before, noFate)
	w.deliver("shopify-flow", "m1", followUp("r1", "c1"))
	s := w.settle()
	for i, n := range w.probe.disarm() {
		t.Logf("%2d %s", i, n)
	}
	for _, op := range s.ops {
		if op.Status != operation.StatusConfirmed {
			t.Errorf("%s", s)
		}
	}
	t.Log(w.sim.Effects()["hubspot"].Effects, w.sim.Effects()["resend"].Effects, w.local.States.Transitions())
}
