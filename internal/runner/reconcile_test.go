package runner_test

import (
	"testing"
	"time"

	"holdfast/internal/execution"
	"holdfast/internal/operation"
	"holdfast/internal/target"
)

// doubtful is a run whose first request left and was not answered.
func (b *bench) doubtful() operation.Run {
	b.t.Helper()
	run := b.approved()
	b.engine.onSend = func(int, target.Request, target.Fence) target.Sent { return lost() }
	b.wantNext(b.execute(run.ID), execution.NextLook)
	b.engine.onSend = nil
	return run
}

// refused is a run whose first request was proven not executed; the target refuses on.
func (b *bench) refused() operation.Run {
	b.t.Helper()
	run := b.approved()
	b.engine.onSend = func(int, target.Request, target.Fence) target.Sent { return notExecuted() }
	b.wantNext(b.execute(run.ID), execution.NextWaitToSend)
	return run
}

func TestR04_LookupFinds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.doubtful()
	b.engine.onLook = func(int) target.Looked {
		return target.Looked{Result: target.LookFound, Reference: "found-1", Complete: true}
	}
	b.wantNext(b.reconcile(run.ID, execution.NextLook), execution.NextAgain)
	if op := b.stage(run.ID, "first"); op.Status != operation.StatusConfirmed || op.Reference != "found-1" {
		t.Errorf("%s, reference %s", op.Status, op.Reference)
	}
	b.sent(1)
	b.wantNext(b.execute(run.ID), execution.NextDone)
	b.sent(2)
}

// Lookups without a usable answer: asked as often as the profile says, then a person; nothing is sent on them.
func TestR04_LookupsThatSayNothing(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]target.Looked{
		"no answer":            {},
		"found without a name": {Result: target.LookFound, Complete: true},
		"not complete":         {Result: target.LookAbsent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			run := b.doubtful()
			b.engine.onLook = func(int) target.Looked { return look }
			out := b.reconcile(run.ID, execution.NextLook)
			for n := 0; out.Next == execution.NextWaitToLook && n < 20; n++ {
				b.Parts.Clock.Move(20 * time.Second)
				out = b.reconcile(run.ID, execution.NextWaitToLook)
			}
			b.wantNext(out, execution.NextHold)
			if b.engine.looks != 8 { // the profile's max
				t.Errorf("%d lookups, want 8", b.engine.looks)
			}
			b.is(b.stage(run.ID, "first"), operation.StatusHeld, operation.ReasonLookupsSpent)
			b.runIs(run.ID, operation.RunHeld, operation.ReasonLookupsSpent)
			b.sent(1)
		})
	}
}

// Absent is not never: the target collapses nothing, so a person decides.
func TestR04_AbsentIsNotNever(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.doubtful()
	b.engine.onLook = func(int) target.Looked { return target.Looked{Result: target.LookAbsent, Complete: true} }
	b.Parts.Clock.Move(5 * time.Minute)
	b.wantNext(b.reconcile(run.ID, execution.NextLook), execution.NextHold)
	b.is(b.stage(run.ID, "first"), operation.StatusHeld, operation.ReasonAbsent)
	b.sent(1)
}

// After a state failed, what is due now is due later, twice as late each time and never later than an hour; a wait that
// ended is no failure.
func TestBackoffAfterCatchGrows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	s := time.Second
	for i, want := range []time.Duration{10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 320 * s, 640 * s, 1280 * s, 2560 * s, 3600 * s, 3600 * s} {
		before := b.Now()
		out := b.reconcile(run.ID, execution.NextExecute) // what Execute was given when it failed
		b.wantNext(out, execution.NextWaitToLook)
		until, err := operation.ParseTime(out.Until)
		if err != nil {
			t.Fatal(err)
		}
		if least, most := until.Sub(b.Now()), until.Sub(before); want < least || want > most {
			t.Errorf("wait %d is between %s and %s; want %s", i+1, least, most, want)
		}
		if due := b.run(run.ID).Step.Due; due < until {
			t.Errorf("the run is due at %s, before its execution goes on at %s", due, until)
		}
		b.Parts.Clock.Move(want + s)
		b.wantNext(b.reconcile(run.ID, execution.NextWaitToLook), execution.NextAgain)
	}
	b.sent(0)
}

// A target that cannot be asked any more, since its content is gone: held, not asked without end.
func TestLookupWithoutContent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.doubtful()
	b.swap(b.stage(run.ID, "first"), nil)
	b.wantNext(b.reconcile(run.ID, execution.NextLook), execution.NextHold)
	b.is(b.stage(run.ID, "first"), operation.StatusHeld, operation.ReasonDigestMismatch)
	if b.engine.looks != 0 {
		t.Errorf("%d lookups", b.engine.looks)
	}
}

// A lease that ended while nobody looked is written down, and the attempt stays in doubt.
func TestR04_ReconcileEndsLeases(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	op := b.stage(run.ID, "first")
	b.give(op, operation.Claim{Attempt: "at_dead", Run: run.ID, At: b.Now(), LeaseUntil: b.Now().Add(75 * time.Second), Filled: operation.Filled{Version: 1, Digest: b.filledDigest(op)}})
	b.wantNext(b.reconcile(run.ID, execution.NextExecute), execution.NextWaitToLook)
	b.Parts.Clock.Move(3 * time.Minute)
	b.engine.onLook = func(int) target.Looked { return target.Looked{} }
	b.wantNext(b.reconcile(run.ID, execution.NextWaitToLook), execution.NextWaitToLook)
	b.is(b.op(op.ID), operation.StatusUnknown, "")
	b.sent(0)
}
