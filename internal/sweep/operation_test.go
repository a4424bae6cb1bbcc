package sweep_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/internal/app/apptest"
	"holdfast/internal/ledger"
	"holdfast/internal/operation"
)

// A lease that ended without an outcome: written down as doubt, and the run goes on to find out. Nothing is sent.
func TestR04_LeaseOver(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	run := y.run(func(r *operation.Run) { r.Hold("outcome_unknown", r.Created) })
	op := y.operation([]operation.RunID{run.ID}, y.asks(), y.approves())
	op = y.give(op, y.claims(run.ID))
	y.stages(run.ID, op.ID)
	y.later(time.Minute)
	if got := y.operationNow(op.ID); got.Status != operation.StatusInFlight {
		t.Errorf("%s while its lease runs", got.Status)
	}
	r := y.later(5 * time.Minute)
	got := y.operationNow(op.ID)
	if got.Status != operation.StatusUnknown || r.Passed != 1 || got.Attempts[0].Outcome != operation.OutcomeUnknown {
		t.Errorf("%s, attempt %v, %+v; want unknown, and nothing more said", got.Status, got.Attempts[0].Outcome, r)
	}
	if len(got.Attempts) != 1 {
		t.Errorf("%d attempts", len(got.Attempts))
	}
	y.Reaches(t, run.ID, 2, "TaskSubmitted", 1)
}

// Nobody answered in time: a decision on the same record, once, and the run is told.
func TestQuestionThatLapsed(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	run := y.run(func(r *operation.Run) { r.Hold("approval_missing", r.Created) })
	op := y.operation([]operation.RunID{run.ID}, y.asks())
	y.stages(run.ID, op.ID)
	y.later(41 * time.Hour)
	got := y.operationNow(op.ID)
	if got.Status != operation.StatusDeclined || got.Reason != operation.ReasonApprovalExpired || got.Question != nil {
		t.Errorf("%s for %s; want declined, expired", got.Status, got.Reason)
	}
	if r := y.runNow(run.ID); r.Generation < 2 {
		t.Error("the run was not told")
	}
}

// Those who were asked are reminded, and after a day the owner and those above too.
func TestR07_RemindersAndEscalation(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	run := y.run(nil)
	op := y.operation([]operation.RunID{run.ID}, y.asks())
	y.stages(run.ID, op.ID)
	y.later(operation.RemindEvery + time.Minute)
	want := []string{string(reviewer)}
	if diff := cmp.Diff(want, y.mails.To(reminder)); diff != "" {
		t.Errorf("after four hours (-want +got):\n%s", diff)
	}
	y.later(24 * time.Hour)
	want = append(want, string(reviewer), string(owner), string(above))
	if diff := cmp.Diff(want, y.mails.To(reminder)); diff != "" {
		t.Errorf("after a day (-want +got):\n%s", diff)
	}
	if got := y.operationNow(op.ID); got.Status != operation.StatusProposed || got.Question == nil {
		t.Errorf("a reminder changed it: %s", got.Status)
	}
}

// The index says "due" of something that moved on: the record itself decides, and nothing happens.
func TestCaseB019_StaleIndex(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	run := y.run(nil)
	op := y.confirmed("ref-1", run.ID)
	y.stages(run.ID, op.ID)
	ended := y.runNow(run.ID)
	next := ended
	next.Finish(operation.RunDone, "confirmed", y.now())
	_, err := y.Ledger.UpdateRun(t.Context(), ended, next)
	apptest.Must(t, err)
	for pk, sk := range map[string]string{"op#" + string(op.ID): "op", "run#" + string(run.ID): "run"} {
		y.MarkDue(t, pk, sk, y.now())
	}
	before := []any{y.operationNow(op.ID), y.runNow(run.ID)}
	for range 2 {
		r := y.later(time.Minute)
		if r.Due != 2 || r.Started+r.Passed+r.Reminded+r.Failed != 0 {
			t.Errorf("%+v; want two hints and nothing done", r)
		}
	}
	if diff := cmp.Diff(before, []any{y.operationNow(op.ID), y.runNow(run.ID)}); diff != "" {
		t.Errorf("something changed (-before +after):\n%s", diff)
	}
}

// Two sweeps at once do what one does.
func TestCaseB019_TwoSweepers(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	run := y.run(func(r *operation.Run) { r.Hold("outcome_unknown", r.Created) })
	op := y.operation([]operation.RunID{run.ID}, y.asks(), y.approves())
	op = y.give(op, y.claims(run.ID))
	y.stages(run.ID, op.ID)
	y.Parts.Clock.Move(5 * time.Minute)
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := y.Handle(t.Context())
			errs <- err
		}()
	}
	apptest.Must(t, <-errs)
	apptest.Must(t, <-errs)
	count := 0
	for _, e := range y.operationNow(op.ID).Evidence {
		if e.Kind == operation.EvidenceLeaseOver {
			count += max(e.Count, 1)
		}
	}
	if got := y.runNow(run.ID); count != 1 || got.Generation != 2 {
		t.Errorf("the lease ended %d times, generation %d; want 1 and 2", count, got.Generation)
	}
}

// A contradiction on a run that ended long ago is still put to a person: the run gets an execution for it, and stays
// ended.
func TestR12_ContradictionAfterTheEnd(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	var runs []operation.RunID
	for range 2 {
		run := y.run(nil)
		op := y.confirmed("ref-1", run.ID)
		y.stages(run.ID, op.ID)
		y.start(run)
		seen := y.runNow(run.ID)
		next := seen
		next.Finish(operation.RunDone, "confirmed", y.now())
		_, err := y.Ledger.UpdateRun(t.Context(), seen, next)
		apptest.Must(t, err)
		y.Parts.Clock.Move(2 * time.Hour)
		y.Ends(t, run.ID, 1)
		runs = append(runs, run.ID)
	}
	if r, err := y.Audit(t.Context()); err != nil || r.Shared != 1 {
		t.Fatalf("audit %+v, %v", r, err)
	}
	y.later(operation.RemindEvery + time.Hour)
	for _, id := range runs {
		y.Reaches(t, id, 2, "TaskSubmitted", 1)
		if got := y.runNow(id); got.Status != operation.RunDone || got.Step.Action != operation.ActionDone {
			t.Errorf("%s, next %s; want done as before", got.Status, got.Step.Action)
		}
	}
}

// One reference on two operations is marked on both, once (R12); nothing else about them changes.
func TestR12_AuditSharedReference(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	a, b := y.confirmed("ref-1", "run_a"), y.confirmed("ref-1", "run_b")
	other := y.confirmed("ref-2", "run_c")
	for range 2 {
		r, err := y.Audit(t.Context())
		if err != nil || r.Shared != 1 || r.Operations != 3 || r.Failed != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	for id, want := range map[operation.ID]operation.ID{a.ID: b.ID, b.ID: a.ID} {
		got := y.operationNow(id)
		if got.Contradiction == nil || got.Contradiction.Other != want || got.Reference != "ref-1" || got.Step.Action != operation.ActionAsk {
			t.Errorf("%s: %+v, next %s; want it marked with %s and a person asked", id, got.Contradiction, got.Step.Action, want)
		}
		marks := 0
		for _, e := range got.Evidence {
			if e.Kind == operation.EvidenceContradiction {
				marks += max(e.Count, 1)
			}
		}
		if marks != 1 {
			t.Errorf("%s is marked %d times", id, marks)
		}
	}
	if got := y.operationNow(other.ID); got.Contradiction != nil {
		t.Errorf("%s is marked too", other.ID)
	}
}

// What the index lost is found by the audit, and swept after that.
func TestR07_AuditFindsWhatTheIndexLost(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	ev, run := y.event(nil), y.run(nil)
	op := y.operation([]operation.RunID{run.ID}, y.asks())
	y.confirmed("ref-1", "run_x") // settled: not in the index, and not missed
	for pk, sk := range map[string]string{"ev#" + string(ev.ID): "ev", "run#" + string(run.ID): "run", "op#" + string(op.ID): "op"} {
		y.Deindex(t, pk, sk)
	}
	if r := y.later(5 * time.Hour); r.Due != 0 {
		t.Fatalf("%+v: the index still knows them", r)
	}
	r, err := y.Audit(t.Context())
	if err != nil || r.Unindexed != 3 || r.Operations != 2 || r.Events != 1 || r.Runs != 1 {
		t.Errorf("%+v, %v; want three written again", r, err)
	}
	if r := y.later(operation.RemindEvery + time.Hour); r.Due < 3 {
		t.Errorf("%+v; want all three due", r)
	}
}

// Content whose expiry was not set when its operation settled (a crash right after) gets it from the audit; an open
// operation's content never does.
func TestR04_AuditSetsAMissedExpiry(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.Faults.Set(func(op string, body []byte) apptest.Fault {
		if op == "Query" { // Expire lists the contents first
			return apptest.Fault{Code: "InternalServerError"}
		}
		return apptest.Fault{}
	})
	settled := y.confirmed("ref-1", "run_a")
	y.Faults.Set(nil)
	open := y.operation([]operation.RunID{"run_b"}, y.asks())
	_, err := y.Audit(t.Context())
	apptest.Must(t, err)
	y.Parts.Clock.Move(ledger.ContentKeptDefault + time.Hour)
	if _, err := y.Ledger.Content(t.Context(), settled.ID, settled.Content); err == nil {
		t.Error("a settled operation's content is kept for ever")
	}
	if _, err := y.Ledger.Content(t.Context(), open.ID, open.Content); err != nil {
		t.Errorf("an open operation's content: %v", err)
	}
}

// An unreadable record is counted and named, a failing one too, and the audit goes on.
func TestR13_AuditGoesOn(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	var ids []operation.ID
	for range 4 {
		op := y.operation([]operation.RunID{"run_a"}, y.asks())
		y.Deindex(t, "op#"+string(op.ID), "op")
		ids = append(ids, op.ID)
	}
	y.Spoil(t, "op#"+string(ids[0]), "op")
	updates := 0
	y.Faults.Set(func(op string, _ []byte) apptest.Fault {
		if op == "UpdateItem" {
			if updates++; updates == 1 {
				return apptest.Fault{Code: "ThrottlingException"}
			}
		}
		return apptest.Fault{}
	})
	r, err := y.Audit(t.Context())
	if got := fmt.Sprint(r.Unreadable, r.Failed, r.Unindexed); err != nil || got != "1 1 3" {
		t.Errorf("%+v, %v; want one unreadable, one failed of three", r, err)
	}
}

func TestAuditStopsInTime(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.run(nil)
	r, err := y.Audit(endsBy{t.Context(), y.Parts.Clock.Now().Add(time.Second)})
	if err != nil || !r.More || r.Runs != 0 {
		t.Errorf("%+v, %v; want more left", r, err)
	}
}

// The operation of a deliberate second whose run a crash left out is withdrawn: nobody would ever be asked about it.
func TestR07_AnOperationWithoutItsRunIsWithdrawn(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	run := y.run(nil)
	orphan := y.operation([]operation.RunID{"run_never_made"})
	sent := y.give(y.operation([]operation.RunID{"run_lost"}, y.asks(), y.approves()), y.claims("run_lost"))
	shared := y.operation([]operation.RunID{"run_never_made", run.ID})
	y.stages(run.ID, shared.ID)
	y.later(5 * time.Hour)
	y.later(5 * time.Hour)
	if op := y.operationNow(orphan.ID); op.Status != operation.StatusDeclined || op.Reason != operation.ReasonWithdrawn {
		t.Errorf("%s for %q; want declined, withdrawn", op.Status, op.Reason)
	}
	if op := y.operationNow(sent.ID); op.Status != operation.StatusHeld || op.Question == nil || op.Question.Reviewers[0] != owner {
		t.Errorf("what may have been sent is %s, its question %v; want its owner asked", op.Status, op.Question)
	}
	if op := y.operationNow(shared.ID); op.Status != operation.StatusProposed {
		t.Errorf("what another run waits for is %s; want proposed", op.Status)
	}
}
