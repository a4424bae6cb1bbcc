package e2e

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/internal/local"
	"holdfast/internal/local/simtarget"
	"holdfast/internal/operation"
)

// only is the single operation of a one-stage flow.
func (w *world) only() operation.Operation {
	w.t.Helper()
	op, ok := w.table().stage("only")
	if !ok {
		w.t.Fatal("there is no operation")
	}
	return op
}

// fault sets a switch at the target of a profile.
func (w *world) fault(profile string, k simtarget.Kind, count int, delay time.Duration) {
	w.t.Helper()
	_, err := w.sim.SetFault(simtarget.Fault{Target: local.SimFor(profile, w.sim.Names()), Kind: k, Count: count, Delay: simtarget.Duration(delay)})
	must(w.t, err)
}

// stopAt lets the first goroutine that passes a boundary wait there until it is let go.
func (w *world) stopAt(name string, m moment) (reached <-chan struct{}, letGo func()) {
	there, on := make(chan struct{}), make(chan struct{})
	letGo = sync.OnceFunc(func() { close(on) })
	w.t.Cleanup(letGo)
	var first atomic.Bool
	w.probe.onHit = func(n string, at moment) {
		if n == name && at == m && first.CompareAndSwap(false, true) {
			close(there)
			<-on
		}
	}
	return there, letGo
}

// TestR02_OneRequestForEachConnection: what is on the wire is one request for each attempt and each lookup.
func TestR02_OneRequestForEachConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fault("resend-email", simtarget.KindRedirect, 1, 0)
	w.fault("hubspot-task", simtarget.KindKeepaliveBreak, 1, 0)
	w.deliver("shopify-flow", "m1", followUp("r1", "c1"))
	s := w.settle()
	attempts := 0
	for _, op := range s.ops {
		attempts += len(op.Attempts)
	}
	requests := 0
	for name, r := range w.sim.Effects() {
		for _, c := range r.Connections {
			if c.Requests != 1 {
				t.Errorf("%s: connection %d carried %d requests, want 1", name, c.ID, c.Requests)
			}
		}
		requests += r.Requests
	}
	if requests != attempts {
		t.Errorf("%d requests for %d attempts", requests, attempts)
	}
	w.wantEffects(1, 1)
}

// TestCaseB020_ThawedInsideTheCall: a worker that was frozen after its request had left comes back when others have
// settled the operation: what it saw is evidence and overwrites nothing (R12).
func TestCaseB020_ThawedInsideTheCall(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"resend-email", "hubspot-task", "generic-none", "generic-lookup"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, oneStage(profile))
			frozen, thaw := w.stopAt("wire read", after)
			w.deliver("standard", "e1", oneEvent("1"))
			<-frozen
			w.clock.Move(70 * time.Second) // the state has timed out; the lease has not
			w.until("Reconcile has looked", func() bool { return w.local.Busy() == 1 })
			s := w.settle()
			w.settled(s)
			held := w.only()
			thaw()
			w.until("the worker has recorded", func() bool { return w.local.Busy() == 0 })
			s = w.settle()
			op := w.only()
			t.Logf("%s, then %s; %d attempts", held.Status, op.Status, len(op.Attempts))
			if op.Status != operation.StatusConfirmed || w.count() != 1 || op.Contradiction != nil {
				t.Errorf("%s, %d effects, contradiction %v; want confirmed, 1, none\n%s", op.Status, w.count(), op.Contradiction, s)
			}
			if held.Reference != "" && held.Reference != op.Reference {
				t.Errorf("the reference changed from %s to %s", held.Reference, op.Reference)
			}
			for _, a := range op.Attempts {
				if a.Open() {
					t.Errorf("attempt %s is open", a.ID)
				}
			}
		})
	}
}

// TestR12_LateResultSettlesWhatWasHeld: a person was asked already when the late answer came.
func TestR12_LateResultSettlesWhatWasHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneStage("generic-none"))
	frozen, thaw := w.stopAt("wire read", after)
	w.deliver("standard", "e1", oneEvent("1"))
	<-frozen
	w.clock.Move(70 * time.Second)
	w.until("the state has timed out", func() bool { return w.local.Busy() == 1 })
	w.settle()
	if op := w.only(); op.Status != operation.StatusHeld {
		t.Fatalf("%s, want held", op.Status)
	}
	thaw()
	w.until("the worker has recorded", func() bool { return w.local.Busy() == 0 })
	s := w.settle()
	op := w.only()
	if op.Status != operation.StatusConfirmed || op.Question != nil || w.count() != 1 {
		t.Errorf("%s, question %v, %d effects; want confirmed, none, 1\n%s", op.Status, op.Question, w.count(), s)
	}
	for _, r := range s.runs {
		if r.Status != operation.RunDone {
			t.Errorf("the run is %s, want done", r.Status)
		}
	}
}

// TestCaseB053_KeyForgotten: an answer was lost and nobody worked for 25 hours. The key is not trusted any more.
func TestCaseB053_KeyForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneStage("resend-email"))
	w.fault("resend-email", simtarget.KindLostAfterCommit, 1, 0)
	w.deliver("standard", "e1", oneEvent("1"))
	w.quiesce()
	w.restart() // the execution is gone; the next one starts a day later
	w.fault("resend-email", simtarget.KindKeyForgotten, 1, 0)
	w.clock.Move(25 * time.Hour)
	s := w.settle()
	op := w.only()
	if op.Status != operation.StatusHeld || op.Question.Reason != operation.ReasonWindowClosed || w.count() != 1 {
		t.Errorf("%s, %d effects; want held because the key's window is closed, 1\n%s", op.Status, w.count(), s)
	}
	if len(op.Attempts) != 1 {
		t.Errorf("%d attempts, want the first only", len(op.Attempts))
	}
}

// TestCaseB055_SlowVisibility: "not found" within the lag is no answer.
func TestCaseB055_SlowVisibility(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneStage("generic-lookup"))
	w.fault("generic-lookup", simtarget.KindLostAfterCommit, 1, 0)
	w.fault("generic-lookup", simtarget.KindSlowVisibility, 20, 25*time.Second)
	w.deliver("standard", "e1", oneEvent("1"))
	s := w.settle()
	if op := w.only(); op.Status != operation.StatusConfirmed || len(op.Attempts) != 1 || w.count() != 1 {
		t.Errorf("%s, %d attempts, %d effects; want confirmed, 1, 1\n%s", op.Status, len(op.Attempts), w.count(), s)
	}
}

// TestCaseB065_EndlessLoss: every answer is lost, and the process starts again between attempts.
func TestCaseB065_EndlessLoss(t *testing.T) {
	t.Parallel()
	for profile, most := range map[string]int{"generic-none": 1, "generic-lookup": 1, "generic-key": 7, "resend-email": 7} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, oneStage(profile))
			w.fault(profile, simtarget.KindLostAfterCommit, 200, 0)
			w.deliver("standard", "e1", oneEvent("1"))
			for range 12 {
				w.quiesce()
				w.restart()
				w.clock.Move(20 * time.Minute)
				w.sweep()
			}
			s := w.settle()
			op := w.only()
			if len(op.Attempts) > most || w.count() != 1 {
				t.Errorf("%d attempts, %d effects; want at most %d, 1\n%s", len(op.Attempts), w.count(), most, s)
			}
			must(t, s.nobodyWaits())
			if op.Status != operation.StatusHeld && op.Status != operation.StatusConfirmed {
				t.Errorf("%s, want held or confirmed\n%s", op.Status, s)
			}
		})
	}
}

// TestCaseB068_RunAgainFiveTimes: on a finished run it reuses; on an unclear one it asks first and sends nothing.
func TestCaseB068_RunAgainFiveTimes(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"generic-none", "generic-key"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, oneStage(profile))
			w.fault(profile, simtarget.KindLostAfterCommit, 1, 0)
			w.deliver("standard", "e1", oneEvent("1"))
			w.settle()
			for range 5 {
				_, _ = w.local.App.Runner.Again(t.Context(), w.onlyRun().ID, "ops-lead@example.com") // refused while a question is open
				w.settle()
			}
			if w.count() != 1 {
				t.Errorf("%d effects, want 1\n%s", w.count(), w.table())
			}
		})
	}
}

// TestCaseB022_ARepeatNeverTakesALiveClaim: another process with no memory of the first tries while the lease runs.
func TestCaseB022_ARepeatNeverTakesALiveClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneStage("generic-key"))
	w.probe.onHit = w.killOnce("wire read", before)
	w.deliver("standard", "e1", oneEvent("1"))
	w.quiesce()
	for range 3 {
		w.restart()
		w.clock.Move(20 * time.Second)
		w.deliver("standard", "e1", oneEvent("1"))
		w.sweep()
		w.quiesce()
		if n := len(w.only().Attempts); n != 1 {
			t.Fatalf("%d attempts while the first lease runs", n)
		}
	}
	s := w.settle()
	if op := w.only(); op.Status != operation.StatusConfirmed || len(op.Attempts) != 2 || w.count() != 1 {
		t.Errorf("%s, %d attempts, %d effects; want confirmed by a replay, 2, 1\n%s", op.Status, len(op.Attempts), w.count(), s)
	}
}

// TestR03_AttestedOperationIsSentOnce: a person's word lets a held operation be sent, and only after one last lookup.
func TestR03_AttestedOperationIsSentOnce(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"hubspot-task", "generic-lookup", "generic-none", "shopify-discount-code"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, oneStage(profile))
			w.fault(profile, simtarget.KindResetAfterRequest, 1, 0)
			w.deliver("standard", "e1", oneEvent("1"))
			w.settle()
			if op := w.only(); op.Status != operation.StatusHeld {
				t.Fatalf("%s, want held", op.Status)
			}
			w.clock.Move(quietMost)
			w.answer(nothingHappened)
			s := w.settle()
			if op := w.only(); op.Status != operation.StatusConfirmed || w.count() != 1 {
				t.Errorf("%s, %d effects; want confirmed, 1\n%s", op.Status, w.count(), s)
			}
		})
	}
}

// TestR04_NothingHappenedIsRefusedWhileItCouldStillAppear.
func TestR04_NothingHappenedIsRefusedWhileItCouldStillAppear(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneStage("generic-none"))
	w.fault("generic-none", simtarget.KindResetAfterRequest, 1, 0)
	w.deliver("standard", "e1", oneEvent("1"))
	w.quiesce()
	for _, inv := range w.invitations() {
		if form, open := w.form(inv); open {
			nothingHappened(form)
			if a := w.post(inv, form); a.status == 200 {
				t.Errorf("taken at once: %s", notice(a.body))
			}
		}
	}
	w.settle()
	if w.count() != 0 {
		t.Errorf("%d effects, want 0", w.count())
	}
}
