package runner_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/app/apptest"
	"holdfast/internal/execution"
	"holdfast/internal/operation"
	"holdfast/internal/runner"
	"holdfast/internal/target"
)

// Run again does what it showed: it reuses, retries under a new approval, finds out, or holds.
func TestR08_RunAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(*bench, operation.RunID)
		does   runner.Doing
		next   string
		sent   int // in all, after the run went on
		status operation.Status
	}{
		"confirmed": {func(b *bench, id operation.RunID) { b.execute(id) }, runner.DoReuse, execution.NextDone, 2, operation.StatusConfirmed},
		"failed": {func(b *bench, id operation.RunID) {
			b.engine.onSend = func(int, target.Request, target.Fence) target.Sent { s := notExecuted(); s.Retry = false; return s }
			b.execute(id)
			b.engine.onSend = nil
		}, runner.DoHold, execution.NextAsk, 1, operation.StatusReady},
		"unknown": {func(b *bench, id operation.RunID) { b.lose(id) }, runner.DoReconcile, execution.NextLook, 1, operation.StatusUnknown},
		"held":    {func(b *bench, id operation.RunID) { b.holdFirst(id) }, runner.DoHold, execution.NextHold, 1, operation.StatusHeld},
		"abandoned": {func(b *bench, id operation.RunID) {
			b.holdFirst(id)
			b.decide(b.stage(id, "first").ID, operation.AnswerClose)
		}, runner.DoNothing, execution.NextHold, 1, operation.StatusAbandoned},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			run := b.approved()
			c.before(b, run.ID)
			seen := b.everything()
			_, preview, err := b.PreviewAgain(t.Context(), run.ID)
			apptest.Must(t, err)
			if preview[0].Does != c.does || preview[0].Owner == "" {
				t.Errorf("it says it will %s (%s), want %s", preview[0].Does, preview[0].Reason, c.does)
			}
			if diff := cmp.Diff(seen, b.everything()); diff != "" {
				t.Errorf("showing changed something:\n%s", diff)
			}
			if q := b.run(run.ID).Question; q != nil {
				if _, err := b.Again(t.Context(), run.ID, owner); !errors.Is(err, runner.ErrNotAgain) {
					t.Errorf("%v beside an open question", err)
				}
				b.answer(run.ID, operation.AnswerContinue)
			}
			got, err := b.Again(t.Context(), run.ID, owner)
			apptest.Must(t, err)
			if got.Generation != 2 || !slices.ContainsFunc(got.Evidence, func(e operation.Evidence) bool { return e.By == owner }) {
				t.Errorf("generation %d, evidence %+v; want 2, and who pressed it", got.Generation, got.Evidence)
			}
			b.Reaches(t, run.ID, 2, "TaskSubmitted", 1)
			b.wantNext(b.execute(run.ID), c.next)
			b.sent(c.sent)
			b.is(b.stage(run.ID, "first"), c.status, "")
		})
	}
}

func (b *bench) lose(id operation.RunID) {
	b.t.Helper()
	b.engine.onSend = func(int, target.Request, target.Fence) target.Sent { return lost() }
	b.execute(id)
	b.engine.onSend = nil
}

func (b *bench) holdFirst(id operation.RunID) {
	b.t.Helper()
	b.lose(id)
	b.engine.onLook = func(int) target.Looked { return target.Looked{Result: target.LookAbsent, Complete: true} }
	b.Parts.Clock.Move(30 * time.Minute)
	b.reconcile(id, execution.NextLook)
}

// A stage whose turn has not come is shown to wait for the one before it, whoever reads the preview.
func TestPreviewSaysWhatAStageWaitsFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	b.holdFirst(run.ID)
	_, preview, err := b.PreviewAgain(t.Context(), run.ID)
	apptest.Must(t, err)
	first, second := preview[0], preview[1]
	if first.After != "" || !first.Open || first.Does != runner.DoHold {
		t.Errorf("first: %+v", first)
	}
	if second.Does != runner.DoWait || second.Reason != operation.ReasonStageWaits || second.After != "first" || second.Open {
		t.Errorf("second: %+v", second)
	}
	people, err := b.People(t.Context(), run.ID)
	apptest.Must(t, err)
	if diff := cmp.Diff([]operation.Person{owner, reviewer}, people); diff != "" {
		t.Error(diff)
	}
}

func TestAgainOnADeclinedRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.planned(goodBody)
	apptest.Must(t, b.Ask(t.Context(), runner.AskInput{Run: run.ID, Token: "token"}))
	b.decide(b.stage(run.ID, "first").ID, operation.AnswerDecline)
	b.wantNext(b.execute(run.ID), execution.NextHold) // its rule says hold
	b.answer(run.ID, operation.AnswerContinue)
	_, err := b.Again(t.Context(), run.ID, owner)
	apptest.Must(t, err)
	b.wantNext(b.execute(run.ID), execution.NextAsk)
	b.sent(0)
	b.approve(run.ID)
	b.wantNext(b.execute(run.ID), execution.NextDone)
	b.sent(2)
}

func TestAgainOnWhatWasNotMeant(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.planned(`{"id":"7","email":"e","wanted":false,"text":"x"}`)
	if _, err := b.Again(t.Context(), run.ID, owner); !errors.Is(err, runner.ErrNotAgain) {
		t.Errorf("%v", err)
	}
	b.runIs(run.ID, operation.RunNotApplicable, "")
}

// Stop before anything was sent withdraws everything, and nothing is ever sent.
func TestStopWithdraws(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	withdrawn, err := b.Stop(t.Context(), run.ID, owner, "wrong campaign")
	if err != nil || len(withdrawn) != 2 {
		t.Errorf("withdrawn %v, %v; want both", withdrawn, err)
	}
	b.wantNext(b.execute(run.ID), execution.NextDone)
	b.runIs(run.ID, operation.RunStopped, operation.ReasonWithdrawn)
	b.is(b.stage(run.ID, "first"), operation.StatusDeclined, operation.ReasonWithdrawn)
	b.sent(0)
	again, err := b.Stop(t.Context(), run.ID, owner, "wrong campaign")
	if err != nil || len(again) != 0 {
		t.Errorf("a second stop: %v, %v", again, err)
	}
}

// Stop while a request is in flight: when that proves not executed, it is not tried again.
func TestStopInFlightThenNotExecuted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	b.engine.onSend = func(int, target.Request, target.Fence) target.Sent {
		withdrawn, err := b.Stop(t.Context(), run.ID, owner, "wrong campaign")
		if err != nil || len(withdrawn) != 1 {
			t.Errorf("withdrawn %v, %v; want the second stage alone", withdrawn, err)
		}
		return notExecuted()
	}
	b.wantNext(b.execute(run.ID), execution.NextDone)
	b.Parts.Clock.Move(time.Hour)
	b.wantNext(b.execute(run.ID), execution.NextDone)
	b.sent(1)
	b.is(b.stage(run.ID, "first"), operation.StatusDeclined, operation.ReasonWithdrawn)
	b.runIs(run.ID, operation.RunStopped, operation.ReasonWithdrawn)
}

// Stop while a request is in flight and its answer is lost: what happened is still found out, and the run stays stopped.
func TestR04_StopInFlightThenUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	b.engine.onSend = func(int, target.Request, target.Fence) target.Sent {
		_, err := b.Stop(t.Context(), run.ID, owner, "wrong campaign")
		apptest.Must(t, err)
		return lost()
	}
	b.wantNext(b.execute(run.ID), execution.NextLook)
	op := b.stage(run.ID, "first")
	b.is(op, operation.StatusUnknown, "")
	if op.Step.Owner == "" || op.Step.Due == 0 {
		t.Errorf("it waits on nobody: %+v", op.Step)
	}
	b.engine.onLook = func(int) target.Looked {
		return target.Looked{Result: target.LookFound, Reference: "found-1", Complete: true}
	}
	b.wantNext(b.reconcile(run.ID, execution.NextLook), execution.NextDone)
	b.is(b.op(op.ID), operation.StatusConfirmed, "")
	b.runIs(run.ID, operation.RunStopped, operation.ReasonWithdrawn)
	b.sent(1)
}

// What nobody can find out after a stop is put to a person, once.
func TestR04_StopThenNobodyCanTell(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.doubtful()
	_, err := b.Stop(t.Context(), run.ID, owner, "wrong campaign")
	apptest.Must(t, err)
	b.engine.onLook = func(int) target.Looked { return target.Looked{Result: target.LookAbsent, Complete: true} }
	b.Parts.Clock.Move(30 * time.Minute)
	b.wantNext(b.reconcile(run.ID, execution.NextLook), execution.NextAgain)
	b.wantNext(b.execute(run.ID), execution.NextDone)
	op := b.stage(run.ID, "first")
	b.is(op, operation.StatusHeld, operation.ReasonAbsent)
	b.decide(op.ID, operation.AnswerNothingHappened)
	for range 2 {
		if out := b.execute(run.ID); out.Next == execution.NextLook {
			b.reconcile(run.ID, execution.NextLook)
		}
	}
	b.sent(1)
	if got := b.op(op.ID); got.Status == operation.StatusReady || got.Status == operation.StatusInFlight {
		t.Errorf("%s: it would be sent after the stop", got.Status)
	}
}

// An operation that another run goes on with is not withdrawn by stopping one of them.
func TestStopLeavesWhatAnotherRunNeeds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, second := b.approved(), b.planned(goodBody)
	withdrawn, err := b.Stop(t.Context(), second.ID, owner, "twice")
	if err != nil || len(withdrawn) != 0 {
		t.Errorf("withdrawn %v, %v", withdrawn, err)
	}
	b.wantNext(b.execute(second.ID), execution.NextDone)
	b.sent(0)
	b.wantNext(b.execute(first.ID), execution.NextDone)
	b.sent(2)
}

// A double click on "deliberate second" makes one; another page's makes another.
func TestSecondIsOneByItsNonce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	b.execute(run.ID)
	var made []operation.RunID
	for _, nonce := range []string{"n1", "n1", "n2"} {
		second, err := b.Second(t.Context(), run.ID, "first", nonce, owner)
		apptest.Must(t, err)
		made = append(made, second.ID)
	}
	if made[0] != made[1] || made[0] == made[2] || made[0] == run.ID {
		t.Errorf("runs %v of %s; want one for each nonce", made, run.ID)
	}
	op := b.stage(made[0], "first")
	if op.ID == b.stage(run.ID, "first").ID || op.Approval != nil || op.Second != "n1" {
		t.Errorf("second %s, approval %v", op.ID, op.Approval)
	}
	b.wantNext(b.execute(made[0]), execution.NextAsk) // its own approval
	b.sent(2)
	b.approve(made[0])
	b.wantNext(b.execute(made[0]), execution.NextDone)
	b.sent(3)
	for _, bad := range [][2]string{{"third", "n3"}, {"first", ""}} {
		if _, err := b.Second(t.Context(), run.ID, bad[0], bad[1], owner); !errors.Is(err, runner.ErrNotAgain) {
			t.Errorf("second of %q with nonce %q: %v", bad[0], bad[1], err)
		}
	}
}

// A crash before the second operation is made with its run leaves neither: the same click makes both, and no third one.
func TestR09_SecondCrashesBeforeItsRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	b.execute(run.ID)
	b.Faults.Set(func(op string, req []byte) apptest.Fault {
		if op == "TransactWriteItems" && strings.Contains(string(req), `"sk":{"S":"run"}`) {
			return apptest.Fault{Code: "InternalServerError"}
		}
		return apptest.Fault{}
	})
	if _, err := b.Second(t.Context(), run.ID, "first", "n1", owner); err == nil {
		t.Fatal("no error")
	}
	b.Faults.Set(nil)
	if n := len(b.everything()); n != 4 { // an event, a run, two operations
		t.Errorf("%d records after the crash, want 4", n)
	}
	second, err := b.Second(t.Context(), run.ID, "first", "n1", owner)
	apptest.Must(t, err)
	b.is(b.stage(second.ID, "first"), operation.StatusProposed, "")
	if n := len(b.everything()); n != 6 { // an event, two runs, three operations
		t.Errorf("%d records, want 6", n)
	}
}

// A second of a later stage relies on the earlier ones, and is woken when they settle.
func TestSecondReliesOnEarlierStages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	b.execute(run.ID)
	second, err := b.Second(t.Context(), run.ID, "second", "n1", owner)
	apptest.Must(t, err)
	if runs := b.stage(run.ID, "first").Runs; !slices.Contains(runs, second.ID) {
		t.Errorf("the first stage wakes %v, not %s", runs, second.ID)
	}
	b.approve(second.ID)
	b.wantNext(b.execute(second.ID), execution.NextDone)
	b.sent(3)
}

// A run that ended because its first stage failed leaves nothing that waits on nobody.
func TestR07_SkippedStagesAreWithdrawn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	run := b.approved()
	seen := b.run(run.ID)
	next := seen
	next.Stages = slices.Clone(seen.Stages)
	next.Stages[0].OnFailed = operation.OnFailedStop
	_, err := b.Ledger.UpdateRun(t.Context(), seen, next)
	apptest.Must(t, err)
	b.engine.onSend = func(int, target.Request, target.Fence) target.Sent { s := notExecuted(); s.Retry = false; return s }
	b.wantNext(b.execute(run.ID), execution.NextDone)
	b.runIs(run.ID, operation.RunStopped, "")
	op := b.stage(run.ID, "second")
	b.is(op, operation.StatusDeclined, operation.ReasonWithdrawn)
	if by := op.Evidence[len(op.Evidence)-1].By; by != "" {
		t.Errorf("%s is said to have withdrawn it", by)
	}
}
