package e2e

import (
	"fmt"
	"testing"
	"time"

	"holdfast/internal/operation"
)

// life is an approved run of two operations from the notification to its end, with all that is needed to bring it
// there when something goes wrong: the sender sends again, time passes, the sweep runs, a person answers.
func life(w *world) table {
	w.deliver("shopify-flow", "m1", followUp("r1", "c1"))
	return w.settle()
}

// TestR09_EveryBoundaryOfALife walks all writes to the ledger, calls to Step Functions and wire events of a life, and
// lets each go wrong: before and after it is done; by a restart of the whole process, by the end of one invocation,
// and by a lost answer. Afterwards both effects are confirmed and each exists once.
func TestR09_EveryBoundaryOfALife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.probe.arm(-1, before, noFate)
	life(w)
	boundaries := w.probe.disarm()
	if len(boundaries) < 30 {
		t.Fatalf("only %d boundaries were counted: %v", len(boundaries), boundaries)
	}
	for _, how := range []fate{restart, killed, lostWord} {
		for _, m := range []moment{before, after} {
			for k, name := range boundaries {
				t.Run(fmt.Sprintf("%s/%s/%02d %s", how, m, k, name), func(t *testing.T) {
					t.Parallel()
					walk(t, k, m, how)
				})
			}
		}
	}
}

func walk(t *testing.T, k int, m moment, how fate) {
	w := newWorld(t)
	w.probe.arm(k, m, how)
	s := life(w)
	w.probe.disarm()
	w.settled(s)
	if w.tellTheTruth(s) {
		s = w.settle()
	}
	if !w.probe.hasFired() {
		t.Fatalf("boundary %d was never reached", k)
	}
	must(t, s.nobodyWaits())
	w.settled(s)
	if len(s.ops) != 2 || len(s.runs) != 1 || len(s.events) != 1 {
		t.Errorf("got %d operations, %d runs, %d events; want 2, 1, 1", len(s.ops), len(s.runs), len(s.events))
	}
	for _, op := range s.ops {
		if op.Status != operation.StatusConfirmed {
			t.Errorf("%s is %s (%s), want confirmed\n%s", op.Stage, op.Status, op.Reason, s)
		}
	}
	for _, r := range s.runs {
		if r.Status != operation.RunDone {
			t.Errorf("the run is %s, want done\n%s", r.Status, s)
		}
	}
}

// tellTheTruth lets a person look into the target and answer what is held; false when nothing is.
func (w *world) tellTheTruth(s table) bool {
	w.t.Helper()
	for id, op := range s.ops {
		if op.Question == nil || op.Question.Kind != operation.QuestionResolve {
			continue
		}
		found := ""
		for _, r := range w.sim.Effects() {
			for _, e := range r.List {
				if e.Operation == string(id) {
					found = e.Reference
				}
			}
		}
		w.clock.Move(quietMost)
		if found == "" {
			return w.answer(nothingHappened)
		}
		return w.answer(exists(found))
	}
	return false
}

// quietMost is longer than any profile's time in which an effect may still appear.
const quietMost = 20 * time.Minute

// settled holds what the ledger says of each operation against what its target really did.
func (w *world) settled(s table) {
	w.t.Helper()
	done := map[string]int{}
	for _, r := range w.sim.Effects() {
		for op, n := range r.ByOperation {
			done[op] += n
		}
	}
	for id, op := range s.ops {
		n := done[string(id)]
		delete(done, string(id))
		switch {
		case n > 1:
			w.t.Errorf("%s had %d effects\n%s", op.Stage, n, s)
		case op.Status == operation.StatusConfirmed && n != 1:
			w.t.Errorf("%s is confirmed and had %d effects\n%s", op.Stage, n, s)
		case n > 0 && (op.Status == operation.StatusFailed || op.Status == operation.StatusDeclined || op.Status == operation.StatusReady):
			w.t.Errorf("%s is %s and had %d effects\n%s", op.Stage, op.Status, n, s)
		case op.Status == operation.StatusUnknown || op.Status == operation.StatusInFlight:
			w.t.Errorf("%s was left %s\n%s", op.Stage, op.Status, s)
		}
	}
	if len(done) > 0 {
		w.t.Errorf("effects of operations that the ledger does not know: %v", done)
	}
}
